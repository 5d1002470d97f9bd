/** One message of a stream of server-sent events. */
export type StreamMessage = { id: string | undefined; event: string; data: string };

/** The messages of a stream as they come (WHATWG HTML, section 9.2.6); comments are passed over. One with an id alone has no data. */
export async function* streamMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage> {
  let message: StreamMessage = { id: undefined, event: "message", data: "" };
  let hasData = false;
  let hasId = false;
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (hasData) yield { ...message, data: message.data.slice(0, -1) };
      else if (hasId) yield { ...message, event: "" };
      message = { id: message.id, event: "message", data: "" };
      hasData = false;
      hasId = false;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") {
      message.id = value;
      hasId = true;
    }
    if (name === "event") message.event = value;
    else if (name === "data") {
      message.data += `${value}\n`;
      hasData = true;
    }
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) yield line.replace(/\r$/, "");
  }
}
