import { rfc3339 } from "./clock.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes lines about what the daemon does: never a secret, a token, a query string or a body. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** True where lines of this level are written, so that costly fields can be left unmade. */
  enabled(level: LogLevel): boolean;
}

/** Control and bidi characters from outside must not steer a terminal or forge a line. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function escaped(text: string): string {
  return text.replaceAll(UNSAFE, (c) => {
    const code = (c.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
    return code.length > 4 ? `\\u{${code}}` : `\\u${code}`;
  });
}

/** A log of one JSON object a line, or of readable lines; `write` gets each with its line end. */
export function makeLog(options: { level: LogLevel; format: "text" | "json"; write: (line: string) => void }): Log {
  const from = LOG_LEVELS.indexOf(options.level);
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (LOG_LEVELS.indexOf(level) < from) return;
      const time = rfc3339(Date.now());
      options.write(
        options.format === "json"
          ? `${JSON.stringify({ time, level, message, ...fields })}\n`
          : `${time} ${level.toUpperCase().padEnd(5)} ${escaped(message)}${textFields(fields)}\n`,
      );
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    enabled: (level) => LOG_LEVELS.indexOf(level) >= from,
  };
}

function textFields(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        ` ${key}=${/^[\w./:@+-]+$/.test(String(value)) ? value : escaped(JSON.stringify(String(value)))}`,
    )
    .join("");
}
