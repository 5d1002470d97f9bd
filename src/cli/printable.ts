/**
 * What a terminal would act on, or a reader would not see: control characters, the beginnings of escape sequences, and
 * Unicode's invisible and direction-changing characters, line separators and lone surrogates.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** Text from outside, fit for one line of a terminal: what is hidden or has an effect stands as its escape. */
export function printable(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** The same for text of several lines: line breaks and tabs stay. */
export function printableLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.split("\t").map(printable).join("\t"))
    .join("\n");
}

function escaped(char: string): string {
  if (char === "\n") return "\\n";
  if (char === "\t") return "\\t";
  if (char === "\r") return "\\r";
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** The text cut to so many columns of a terminal, with `…` where something is left out. */
export function fit(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += Bun.stringWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
