/**
 * Slices of a JSON text, cut without parsing it: what the daemon answered goes out with every token as it came. The text must be
 * valid JSON; how deep it nests does not matter.
 */

/** The texts of an array's elements, in order; undefined where the text is no array. */
export function elementsOf(json: string): string[] | undefined {
  let at = skipSpace(json, 0);
  if (json[at] !== "[") return undefined;
  const elements: string[] = [];
  at = skipSpace(json, at + 1);
  while (at < json.length && json[at] !== "]") {
    const end = valueEnd(json, at);
    elements.push(json.slice(at, end));
    at = skipSpace(json, end);
    if (json[at] === ",") at = skipSpace(json, at + 1);
  }
  return elements;
}

/** The texts of an object's members by name; of a repeated name the last. Undefined where the text is no object. */
export function membersOf(json: string): Map<string, string> | undefined {
  let at = skipSpace(json, 0);
  if (json[at] !== "{") return undefined;
  const members = new Map<string, string>();
  at = skipSpace(json, at + 1);
  while (at < json.length && json[at] !== "}") {
    const nameEnd = valueEnd(json, at);
    const name = JSON.parse(json.slice(at, nameEnd)) as string;
    at = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = valueEnd(json, at);
    members.set(name, json.slice(at, end));
    at = skipSpace(json, end);
    if (json[at] === ",") at = skipSpace(json, at + 1);
  }
  return members;
}

/** The text at a dotted path of object members, or undefined where there is none. */
export function sliceAt(json: string, path: string): string | undefined {
  let slice: string | undefined = json;
  for (const step of path.split(".")) slice = slice === undefined ? undefined : membersOf(slice)?.get(step);
  return slice;
}

/** The text on one line: line breaks stand only between a JSON text's tokens, where a space means the same. */
export function onOneLine(json: string): string {
  return json.replaceAll(/[\r\n]/g, " ");
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (at < json.length && " \t\r\n".includes(json[at] ?? "")) at++;
  return at;
}

/** Where the value that begins at `from` ends. */
function valueEnd(json: string, from: number): number {
  const first = json[from];
  if (first === '"') return stringEnd(json, from);
  if (first !== "{" && first !== "[") {
    let at = from;
    while (at < json.length && !",]} \t\r\n".includes(json[at] ?? "")) at++;
    return at;
  }
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const char = json[at];
    if (char === '"') at = stringEnd(json, at) - 1;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return at + 1;
  }
  return json.length;
}

function stringEnd(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at++) {
    if (json[at] === "\\") at++;
    else if (json[at] === '"') return at + 1;
  }
  return json.length;
}
