import { sendText } from "./client.ts";
import type { Connection } from "./connection.ts";
import { usageError } from "./exit.ts";
import { elementsOf, membersOf } from "./raw-json.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const NAMED = { sources: "src", keys: "key" } as const;

/** A resource of the API with a name, found by it: what a list of them says of it, as JSON text. */
export async function byName(c: Connection, plural: keyof typeof NAMED, name: string): Promise<string[]> {
  const found: string[] = [];
  const wanted = JSON.stringify(name);
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "100", ...(cursor === null ? {} : { cursor }) });
    const page = membersOf(await sendText(c, "GET", `/v1/${plural}`, { query }));
    const rows = elementsOf(page?.get(plural) ?? "[]") ?? [];
    found.push(...rows.filter((row) => membersOf(row)?.get("name") === wanted));
    cursor = JSON.parse(page?.get("next_cursor") ?? "null") as string | null;
  } while (cursor !== null);
  return found;
}

/** The id that a word stands for: sources and keys may be named. `path` is the operation's, such as `/v1/sources/:id`. */
export async function idFor(c: Connection, path: string, word: string): Promise<string> {
  const plural = path.split("/")[2];
  if (plural !== "sources" && plural !== "keys") return word;
  if (word.startsWith(`${NAMED[plural]}_`) || UUID.test(word)) return word;
  const found = await byName(c, plural, word);
  if (found.length > 1) throw usageError(`${found.length} ${plural} are named ${word}: give the id of one`);
  const id = membersOf(found[0] ?? "{}")?.get("id");
  if (id === undefined)
    throw usageError(`there is no ${plural.slice(0, -1)} named ${word} in this project`, `postern ${plural} list`);
  return JSON.parse(id) as string;
}
