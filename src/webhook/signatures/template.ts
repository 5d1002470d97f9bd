/** A piece of the signed content: literal text, a value of the transmission, or a header's value. */
export type TemplatePart = { readonly text: string } | { readonly field: TemplateField } | { readonly header: string };

const FIELDS = ["id", "timestamp", "body", "url", "method"] as const;
export type TemplateField = (typeof FIELDS)[number];

const PLACEHOLDER = /\{([^{}]*)\}/y;
const HEADER = /^header:([!#$%&'*+.^_`|~0-9a-z-]+)$/;

/**
 * Reads a template such as `v0:{timestamp}:{body}`: placeholders are `{id}`, `{timestamp}`, `{body}`, `{url}`,
 * `{method}` and `{header:name}` (lower case), all else stands for itself. A text as answer says what is wrong.
 * `{body}` must stand there exactly once: a signature that does not cover the body proves nothing about it.
 */
export function parseTemplate(template: string): readonly TemplatePart[] | string {
  const parts: TemplatePart[] = [];
  let at = 0;
  while (at < template.length) {
    const brace = template.slice(at).search(/[{}]/);
    const end = brace < 0 ? template.length : at + brace;
    if (end > at) parts.push({ text: template.slice(at, end) });
    if (end === template.length) break;
    PLACEHOLDER.lastIndex = end;
    const inner = PLACEHOLDER.exec(template)?.[1];
    if (inner === undefined) return "a brace stands alone: placeholders are written {body}";
    const part = placeholder(inner);
    if (!part) return `{${inner}} is no placeholder`;
    parts.push(part);
    at = PLACEHOLDER.lastIndex;
  }
  if (countField(parts, "body") !== 1) return "the template must hold {body} exactly once";
  return parts;
}

/** How often a field stands in a template. */
export function countField(parts: readonly TemplatePart[], field: TemplateField): number {
  return parts.filter((part) => "field" in part && part.field === field).length;
}

function placeholder(inner: string): TemplatePart | undefined {
  const field = FIELDS.find((name) => name === inner);
  if (field) return { field };
  const header = HEADER.exec(inner)?.[1];
  return header === undefined ? undefined : { header };
}
