import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { payloadOf } from "../../src/webhook/payload.ts";
import { bytes, parsed } from "./support.ts";

const TYPE = "multipart/form-data; boundary=AaB03x";
const LATIN1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));

const part = (headers: string, content: string) => `--AaB03x\r\n${headers}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);
const END = "--AaB03x--\r\n";
const formOf = (body: string) => parsed(payloadOf(bytes(body), TYPE).json);

describe("a multipart form", () => {
  test("keeps the text of a field as the string that was sent, whatever it looks like or claims to be", () => {
    const typed = part('Content-Disposition: form-data; name="b"\r\nContent-Type: application/json', "[1]");
    expect(formOf(field("a", '{"theme":"dark"}') + typed + field("a", "two\r\nlines") + END)).toEqual({
      a: ['{"theme":"dark"}', "two\r\nlines"],
      b: "[1]",
    });
  });

  test("gives a file with its name as sent, its type and its bytes", () => {
    const file = part(
      'content-disposition: form-data; name="bin"; filename="../../etc/passwd"\r\ncontent-type: application/octet-stream',
      "\x00\xff\r\n\r\n--AaB0\r\n",
    );
    expect(parsed(payloadOf(LATIN1(file + END), TYPE).json)).toEqual({
      bin: {
        filename: "../../etc/passwd",
        content_type: "application/octet-stream",
        base64: Buffer.from("\x00\xff\r\n\r\n--AaB0\r\n", "latin1").toString("base64"),
      },
    });
  });

  test("gives a file without a type the type text/plain, and one without a name an empty one", () => {
    expect(formOf(part('Content-Disposition: form-data; name="f"; filename=""', "x") + END)).toEqual({
      f: { filename: "", content_type: "text/plain", base64: "eA==" },
    });
  });

  test("reads names the way browsers and libraries write them", () => {
    const names = [
      ['"a%22b"', 'a"b'],
      ['"a\\"b"', 'a"b'],
      ['"C:\\path"', "C:\\path"],
      ['"ünï"', "ünï"],
      ["bare", "bare"],
      ['"a;b"', "a;b"],
    ];
    for (const [written = "", name = ""] of names) {
      expect(formOf(part(`Content-Disposition: form-data; name=${written}`, "x") + END)).toEqual({ [name]: "x" });
    }
    const extended = part("Content-Disposition: form-data; name=f; filename*=UTF-8''%C3%BC.txt", "x");
    expect(formOf(extended + END)).toMatchObject({ f: { filename: "ü.txt" } });
  });

  test("reads a field in its part's charset, and keeps bytes that are no text", () => {
    const latin1 = part(
      'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=iso-8859-1',
      "\xe9",
    );
    const binary = part('Content-Disposition: form-data; name="b"', "\xff\xfe\xfd");
    expect(parsed(payloadOf(LATIN1(latin1 + binary + END), TYPE).json)).toEqual({
      a: "é",
      b: { filename: "", content_type: "text/plain", base64: "//79" },
    });
  });

  test("may have a preamble, an epilogue, padded delimiters, empty fields, a name like a prototype's", () => {
    const body = `preamble\r\n${field("__proto__", "1").replace("AaB03x", "AaB03x \t")}${field("e", "")}${END}epilogue`;
    expect(payloadOf(bytes(body), TYPE).json).toBe('{"__proto__":"1","e":""}');
  });

  test("is not ended by a line that only begins like its boundary", () => {
    expect(formOf(field("a", "x\r\n--AaB03xyz\r\ny") + END)).toEqual({ a: "x\r\n--AaB03xyz\r\ny" });
  });

  test.each([
    ["no boundary", "multipart/form-data", field("a", "1") + END],
    ["another boundary", "multipart/form-data; boundary=other", field("a", "1") + END],
    ["a boundary that is too long", `multipart/form-data; boundary=${"x".repeat(71)}`, `--${"x".repeat(71)}--`],
    ["no end", TYPE, field("a", "1")],
    ["bare line feeds", TYPE, (field("a", "1") + END).replaceAll("\r\n", "\n")],
    ["a part without a name", TYPE, part("Content-Disposition: form-data", "x") + END],
    ["a part without a disposition", TYPE, part("Content-Type: text/plain", "x") + END],
    ["headers without an end", TYPE, `--AaB03x\r\nContent-Disposition: form-data; name="a"\r\n--AaB03x--`],
    [
      "headers without measure",
      TYPE,
      part(`Content-Disposition: form-data; name="a"\r\nX: ${"x".repeat(20_000)}`, "x") + END,
    ],
    ["too many parts", TYPE, field("a", "1").repeat(10_001) + END],
  ])("with %s is kept as bytes", (_, type, body) => {
    expect(payloadOf(bytes(body), type).form).toBe("binary");
  });

  test("whatever fields are written, they are read back", () => {
    const name = fc.string({ unit: "binary", maxLength: 8 }).filter((text) => !/["\r\n\\%]/.test(text));
    const content = fc.string({ unit: "binary", maxLength: 30 }).filter((text) => !text.includes("AaB03x"));
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, content), { selector: ([key]) => key, maxLength: 6 }), (fields) => {
        const body = fields.map(([key, text]) => field(key, text)).join("") + END;
        const expected = fields.map(([key, text]) => [key, text.replace(/^\ufeff/, "")]);
        const value = formOf(body) as Record<string, unknown>;
        expect(Object.keys(value).length).toBe(fields.length);
        for (const [key = "", text] of expected) expect(Object.getOwnPropertyDescriptor(value, key)?.value).toBe(text);
      }),
    );
  });

  test("arbitrary bytes between delimiters never throw", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          "--AaB03x",
          "--AaB03x--",
          "\r\n",
          "\r\n\r\n",
          'Content-Disposition: form-data; name="a"',
          ";",
          '"',
        ),
        fc.string({ maxLength: 5 }),
      ),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const payload = payloadOf(bytes(parts.join("")), TYPE);
        expect(["form", "binary", "text"]).toContain(payload.form);
        parsed(payload.json);
      }),
    );
  });
});
