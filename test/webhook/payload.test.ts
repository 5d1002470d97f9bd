import { describe, expect, test } from "bun:test";
import { MAX_INLINE_BODY, payloadOf, queryPayload } from "../../src/webhook/payload.ts";
import { bytes, parsed } from "./support.ts";

const raw = (...values: number[]) => new Uint8Array(values);

describe("JSON", () => {
  test.each([
    "application/json",
    "Application/JSON; Charset=UTF-8",
    "text/json",
    "application/hal+json",
    "application/vnd.api+json;version=1",
  ])("%s claims it", (type) => {
    expect(payloadOf(bytes('{"a":1}'), type)).toEqual({ json: '{"a":1}', form: "json", value: { a: 1 } });
  });

  test("every token keeps its text", () => {
    const text =
      '\n{"b":1.0,"a":-0,"n":1e400,"big":12345678901234567890,"u":"\\u00e9\\ud800\\u0000\\/","b":[1 , 2]}\r\n';
    expect(payloadOf(bytes(text), "application/json").json).toBe(text);
  });

  test("a byte order mark goes, and a failed decoding before it leaves no trace", () => {
    expect(payloadOf(raw(0xff), "application/json").form).toBe("binary");
    for (let i = 0; i < 2; i++)
      expect(payloadOf(raw(0xef, 0xbb, 0xbf, 0x5b, 0x5d), "application/json").json).toBe("[]");
  });

  test("a body without a type, or with one that names none, is JSON if it parses", () => {
    for (const type of [undefined, "", "///;;=,", "application/json, application/json"]) {
      expect(payloadOf(bytes("[1]"), type).json).toBe("[1]");
      expect(payloadOf(bytes("[1"), type).json).toBe('{"text":"[1"}');
      expect(payloadOf(raw(0x5b, 0xff), type).json).toBe('{"base64":"W/8="}');
    }
  });

  test("what claims to be JSON and isn't is text where it is UTF-8, else base64", () => {
    expect(payloadOf(bytes(" \t\r\n "), "application/json").json).toBe('{"text":" \\t\\r\\n "}');
    expect(payloadOf(bytes("{'a':1}"), "application/json")).toEqual({ json: `{"text":"{'a':1}"}`, form: "text" });
    const latin1 = raw(0x22, 0xe9, 0x22);
    expect(payloadOf(latin1, "application/json; charset=iso-8859-1").json).toBe('{"base64":"Iuki"}');
    const utf16 = new Uint8Array(Buffer.from('\ufeff{"a":1}', "utf16le"));
    expect(payloadOf(utf16, "application/json").form).toBe("binary");
  });

  test("a kind whose bodies are JSON needs no type, and a text type is no JSON otherwise", () => {
    expect(payloadOf(bytes('{"a":1}'), "text/plain", { isJson: true }).form).toBe("json");
    expect(payloadOf(bytes('{"a":1}'), "text/plain; charset=UTF-8").json).toBe('{"text":"{\\"a\\":1}"}');
  });

  test("nesting that a recursive walker would die of is kept", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(payloadOf(bytes(deep), "application/json").json).toBe(deep);
  });

  test("no value reaches a prototype", () => {
    const payload = payloadOf(bytes('{"__proto__":{"polluted":true}}'), "application/json");
    expect(payload.json).toBe('{"__proto__":{"polluted":true}}');
    expect("polluted" in {}).toBe(false);
  });
});

describe("text", () => {
  test.each(["text/plain", "text/html; charset=utf-8", "application/xml", "application/soap+xml", "image/svg+xml"])(
    "%s is text, line ends and all",
    (type) => {
      expect(payloadOf(bytes("<a>é</a>\r\n\n"), type)).toEqual({ json: '{"text":"<a>é</a>\\r\\n\\n"}', form: "text" });
    },
  );

  test.each<[string, Uint8Array, string]>([
    ["text/plain; charset=iso-8859-1", raw(0x63, 0xe9), "cé"],
    ['text/plain; charset="Shift_JIS"', raw(0x93, 0xfa, 0x96, 0x7b), "日本"],
    ["text/plain; charset=utf-16", raw(0xfe, 0xff, 0x00, 0x61), "a"],
    ["text/plain", raw(0xff, 0xfe, 0x61, 0x00), "a"],
    ["text/plain; charset=us-ascii", bytes("é"), "é"],
    ["text/plain; charset=no-such", bytes("é"), "é"],
    ["text/plain; charset=utf-16le", bytes("é!"), "é!"],
    [
      "application/xml",
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>', "latin1"),
      '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>',
    ],
  ])("%s is read in its declared charset", (type, body, text) => {
    expect(parsed(payloadOf(body, type).json)).toEqual({ text });
  });

  test.each(["text/plain; charset=utf-8", "text/plain; charset=us-ascii", "text/plain", "text/plain; charset=no-such"])(
    "%s whose bytes are no such text is base64",
    (type) => {
      expect(payloadOf(raw(0xe9, 0x61), type).json).toBe('{"base64":"6WE="}');
    },
  );

  test.each(["application/json", "text/plain", "image/png", "application/x-www-form-urlencoded", undefined])(
    "an empty body of type %s is the empty text",
    (type) => {
      expect(payloadOf(raw(), type)).toEqual({ json: '{"text":""}', form: "text" });
    },
  );
});

test("all else is base64", () => {
  expect(payloadOf(bytes("hello"), "image/png")).toEqual({ json: '{"base64":"aGVsbG8="}', form: "binary" });
  expect(payloadOf(bytes("--x--"), "multipart/mixed; boundary=x").form).toBe("binary");
});

describe("an urlencoded form", () => {
  const form = (body: string | Uint8Array) =>
    payloadOf(typeof body === "string" ? bytes(body) : body, "application/x-www-form-urlencoded; charset=UTF-8");

  test("is an object of strings, in which a repeated name gives an array", () => {
    expect(form("b=two&a=1&a=3&empty=&none&%E4%BD%A0=%E5%A5%BD&plus=a+b%2Bc").json).toBe(
      '{"b":"two","a":["1","3"],"empty":"","none":"","你":"好","plus":"a b+c"}',
    );
    expect(form("a=1&a=2&2=x&1=y").json).toBe('{"a":["1","2"],"2":"x","1":"y"}');
  });

  test("never fails: bad escapes stay, bytes that are no UTF-8 become U+FFFD, a question mark is a character", () => {
    expect(form("?a=%zz&b=%E4%BD&c=%&d=%00").json).toBe('{"?a":"%zz","b":"\ufffd","c":"%","d":"\\u0000"}');
    // A raw byte and an escaped one make one character: the rule is about bytes.
    expect(form(raw(0x61, 0x3d, 0xc3, 0x25, 0x41, 0x39)).json).toBe('{"a":"é"}');
  });

  test("names that every object knows are names like any other", () => {
    const payload = form("__proto__=1&constructor=2&__proto__=3");
    expect(payload.json).toBe('{"__proto__":["1","3"],"constructor":"2"}');
    expect(Object.keys(payload.value as object)).toEqual(["__proto__", "constructor"]);
  });

  test("with 10,000 fields is read, with one more it is kept as bytes", () => {
    expect(form("a=b&".repeat(10_000)).form).toBe("form");
    expect(form("a=b&".repeat(10_001)).form).toBe("binary");
  });

  test("of a GET is its query", () => {
    expect(queryPayload("status=0&msg=a%20b")).toMatchObject({ json: '{"status":"0","msg":"a b"}', form: "form" });
    expect(queryPayload("").json).toBe("{}");
  });
});

test("a body that is stored apart is not parsed where no rule looks into it", () => {
  const broken = new Uint8Array(MAX_INLINE_BODY + 1).fill(0xff);
  for (const [type, form] of [
    ["application/json", "json"],
    ["text/plain", "text"],
    ["multipart/form-data; boundary=x", "form"],
    ["image/png", "binary"],
    [undefined, "binary"],
  ] as const) {
    expect(payloadOf(broken, type, { wantsValue: false })).toEqual({ json: null, form });
  }
  expect(payloadOf(bytes("{}"), "application/json", { wantsValue: false }).json).toBe("{}");
});

test("a body over 262,144 bytes has no inline JSON, but its value for the rules", () => {
  const fits = `"${"x".repeat(MAX_INLINE_BODY - 2)}"`;
  expect(payloadOf(bytes(fits), "application/json").json).toBe(fits);
  const over = payloadOf(bytes(`{"type":"a","x":"${"x".repeat(MAX_INLINE_BODY)}"}`), "application/json");
  expect(over.json).toBeNull();
  expect(over.value).toMatchObject({ type: "a" });
  expect(payloadOf(new Uint8Array(MAX_INLINE_BODY + 1), "image/png")).toEqual({ json: null, form: "binary" });
});
