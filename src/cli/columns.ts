/** As wide as help gets, in columns. */
export const WIDTH = 100;

/** Names and explanations in two columns; a long name stands on a line of its own. */
export function columns(lines: readonly (readonly [string, string])[]): string[] {
  const left = Math.min(28, Math.max(...lines.map(([name]) => name.length)));
  return lines.flatMap(([name, doc]) => {
    const parts = wrapped(doc, WIDTH - left - 4);
    const first = name.length > left ? [`  ${name}`] : [];
    const rows = parts.map((part, at) =>
      `  ${(at === 0 && first.length === 0 ? name : "").padEnd(left)}  ${part}`.trimEnd(),
    );
    return [...first, ...rows];
  });
}

/** Text in lines of at most `width` columns. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line += `${line === "" ? "" : " "}${word}`;
  }
  return [...lines, line];
}
