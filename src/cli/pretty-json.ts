/** Deeper levels are not indented further: the indentation of a hostile payload would outgrow it. */
const DEEPEST_INDENT = 24;

/** JSON text with its tokens unchanged, each member and element on a line of its own. The text must be valid JSON. */
export function prettyJson(json: string): string {
  let pretty = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(Math.min(depth, DEEPEST_INDENT))}`;
  for (let at = 0; at < json.length; at++) {
    const char = json[at] ?? "";
    if (" \t\r\n".includes(char)) continue;
    if (char === '"') {
      const from = at++;
      while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
      pretty += json.slice(from, at + 1);
    } else if (char === "{" || char === "[") {
      const close = /[^ \t\r\n]/g;
      close.lastIndex = at + 1;
      const next = close.exec(json);
      if (next && (next[0] === "}" || next[0] === "]")) {
        pretty += char + next[0];
        at = next.index;
      } else {
        depth++;
        pretty += char + line();
      }
    } else if (char === "}" || char === "]") {
      depth--;
      pretty += line() + char;
    } else if (char === ",") pretty += char + line();
    else pretty += char === ":" ? ": " : char;
  }
  return pretty;
}
