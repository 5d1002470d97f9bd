/**
 * One thing that is wrong with the configuration. `file` is the file as it was named, or the environment variable;
 * `line` and `column` count from 1, and a `line` of 0 means that there is none; `key` is dotted, empty where no key is meant.
 * `message` says what is wrong and what would be right. It never repeats a value: any value may be a secret in the wrong place.
 */
export type ConfigError = { file: string; line: number; column?: number; key: string; message: string };

/** `postern.toml:12: http.lisen: unknown key. Did you mean `listen`?` */
export function formatConfigError(error: ConfigError): string {
  const line = error.line > 0 ? `:${error.line}` : "";
  const column = error.line > 0 && error.column !== undefined ? `:${error.column}` : "";
  const key = error.key === "" ? "" : `${error.key}: `;
  return printable(`${error.file}${line}${column}: ${key}${error.message}`);
}

/** The text with control characters escaped, since a quoted key may hold any and the text goes to a terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
