import { describe, expect, test } from "bun:test";
import { LOG_LEVELS, type LogLevel, makeLog } from "../../src/kernel/log.ts";

function collected(level: LogLevel, format: "text" | "json") {
  const lines: string[] = [];
  return { lines, log: makeLog({ level, format, write: (line) => lines.push(line) }) };
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;

/** Line ends, terminal escapes, bidi overrides, and a tag character beyond the first plane. */
const HOSTILE = "a\nb\r\u001b[31m\u202ex\u2028\u0085\u{e0041}z";

describe("a log", () => {
  test("writes its level and what is graver, and says so beforehand", () => {
    for (const [at, level] of LOG_LEVELS.entries()) {
      const { lines, log } = collected(level, "json");
      for (const each of LOG_LEVELS) log[each](each);
      expect(lines.map((line) => JSON.parse(line).message)).toEqual(LOG_LEVELS.slice(at));
      expect(LOG_LEVELS.filter((each) => log.enabled(each))).toEqual(LOG_LEVELS.slice(at));
    }
  });

  test("as JSON is one object a line, whatever the text", () => {
    const { lines, log } = collected("info", "json");
    log.warn(HOSTILE, { path: HOSTILE, n: 1.5, yes: true, none: null, missing: undefined });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith("\n")).toBe(true);
    expect(lines[0]?.trimEnd()).not.toContain("\n");
    const { time, ...rest } = JSON.parse(lines[0] ?? "");
    expect(time).toMatch(TIME);
    expect(rest).toEqual({ level: "warn", message: HOSTILE, path: HOSTILE, n: 1.5, yes: true, none: null });
  });

  test("as text is readable: time, level, message, then what is beside it", () => {
    const { lines, log } = collected("info", "text");
    log.info("listening", { url: "http://127.0.0.1:8484", request_id: "r-1", note: "two words", missing: undefined });
    expect(lines[0]?.replace(TIME, "TIME")).toBe(
      'TIME INFO  listening url=http://127.0.0.1:8484 request_id=r-1 note="two words"\n',
    );
  });

  test("as text lets nothing from outside steer the terminal, hide, or begin a line of its own", () => {
    const { lines, log } = collected("info", "text");
    log.error(HOSTILE, { name: HOSTILE, quoted: 'say "x" y=1' });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(lines[0]).toContain("a\\u000ab\\u000d\\u001b[31m\\u202ex\\u2028\\u0085\\u{e0041}z");
    expect(lines[0]).toContain('quoted="say \\"x\\" y=1"');
  });
});
