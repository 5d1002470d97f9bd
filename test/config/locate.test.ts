import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parse, TomlError } from "smol-toml";
import { locate, type Position } from "../../src/config/locate.ts";
import { isTable, type KeyPath } from "../../src/config/path.ts";

/** Every path that the parser sees. */
function paths(value: unknown, base: KeyPath = []): KeyPath[] {
  const inner = Array.isArray(value) ? [...value.entries()] : isTable(value) ? Object.entries(value) : [];
  return inner.flatMap(([step, member]) => [[...base, step], ...paths(member, [...base, step])]);
}

/** The key that is written at a place, or undefined where none begins. */
function keyAt(toml: string, { line, column }: Position): string | undefined {
  const rest = (toml.split("\n")[line - 1] ?? "").slice(column - 1);
  const token = /^(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')/.exec(rest)?.[0];
  return token === undefined ? undefined : Object.keys(parse(`${token} = 1`))[0];
}

function expectAllLocated(toml: string): void {
  const positions = locate(toml);
  for (const path of paths(parse(toml))) {
    const position = positions.at(path);
    if (!position) throw new Error(`${JSON.stringify(path)} is not located in\n${toml}`);
    const last = path.at(-1);
    if (typeof last === "string") expect([path, keyAt(toml, position)]).toEqual([path, last]);
  }
}

const WRITTEN = `# a comment with [brackets] and = signs
title = "a # b" # behind
"quoted key" = 'x'
'lit.eral' . "esc\\u0061pe" = 1979-05-27 07:32:00
dotted.a.b = 1
dotted.a.c = [ 1, [2, 3], # within
  { x = 1, y.z = "}" },
  """
key = "no key"
[no.table]
""", '''it's''''',
]
empty = ""
long = """\\
  a \\"\\"\\" b""""
inline = { a = { b = [ { c = 1 } ] },
  d = 2 }

[table]
key = true
[ table . "sub table" ]
key = inf
[[list]]
name = "first"
[[list.inner]]
n = 1
[[list.inner]]
n = 2
[list.inner.deep]
m = 3
[[list]]
name = "second"
[[list.inner]]
n = 4
`;

describe("every key that the parser sees is located", () => {
  test("in a text that uses all of TOML", () => expectAllLocated(WRITTEN));
  test("with Windows line ends", () => expectAllLocated(WRITTEN.replaceAll("\n", "\r\n")));
  test("behind a byte order mark", () => {
    expect(locate("\ufeffa = 1\nb = 2").at(["b"])).toEqual({ line: 2, column: 1 });
    expect(locate("\ufeffa = 1").at(["a"])).toEqual({ line: 1, column: 2 });
  });

  test("on its own line", () => {
    const positions = locate(WRITTEN);
    const line = (...path: KeyPath) => positions.at(path)?.line;
    expect(line("dotted", "a", "c", 2, "y", "z")).toBe(7);
    expect(line("dotted", "a", "c", 4)).toBe(11);
    expect(line("table", "sub table", "key")).toBe(22);
    expect(line("list", 0, "inner", 1, "n")).toBe(28);
    expect(line("list", 1, "inner", 0, "n")).toBe(34);
  });

  test("in generated texts", () => {
    let parsed = 0;
    fc.assert(
      fc.property(document(), (toml) => {
        try {
          parse(toml);
        } catch (error) {
          // A generated text may define a key twice.
          if (error instanceof TomlError) return;
          throw error;
        }
        parsed++;
        expectAllLocated(toml);
      }),
      { numRuns: 2000 },
    );
    expect(parsed).toBeGreaterThan(500);
  });
});

test("what is not there is located at the nearest thing around it", () => {
  const positions = locate("[[a]]\n[[a]]\nb = 1\n");
  expect(positions.near(["a", 1, "c"])).toEqual({ line: 2, column: 3 });
  expect(positions.near(["x", "y"])).toBeUndefined();
});

/** TOML texts, most of them valid. */
function document(): fc.Arbitrary<string> {
  const bare = fc.stringMatching(/^[a-c0-9_-]{1,3}$/);
  const quoted = fc.string({ maxLength: 4, unit: "binary" }).filter((text) => text.isWellFormed());
  const key = fc.oneof(
    { weight: 4, arbitrary: bare },
    quoted.map((text) => JSON.stringify(text).replaceAll("\u007f", "\\u007f")),
    fc.stringMatching(/^[ -&(-~]{0,4}$/).map((text) => `'${text}'`),
  );
  const dots = fc.constantFrom(".", " . ", ".\t");
  const dottedKey = fc
    .tuple(fc.array(key, { minLength: 1, maxLength: 3 }), dots)
    .map(([keys, separator]) => keys.join(separator));
  const gap = fc.constantFrom("", " ", "\n", " # c ]}\"'\n", "\r\n\t");
  const scalar = fc.oneof(
    fc.constantFrom("1", "-0.5e3", "true", "nan", "0xff", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"),
    fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text).replaceAll("\u007f", "\\u007f")),
    fc.constantFrom("''", '"""\na = 1\n[b]\n"""', '"""x"" \\""""', "'''it's\n[[x]]'''", "'''a'''''", '"#"', "'\\'"),
  );
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      { weight: 3, arbitrary: scalar },
      fc
        .tuple(fc.array(fc.tuple(gap, tie("value")), { maxLength: 3 }), gap, fc.boolean())
        .map(([items, end, comma]) => {
          const inside = items.map(([before, item]) => before + item).join(",");
          return `[${inside}${comma && items.length > 0 ? "," : ""}${end}]`;
        }),
      fc
        .array(fc.tuple(gap, dottedKey, tie("value")), { maxLength: 3 })
        .map((pairs) => `{${pairs.map(([before, name, item]) => `${before}${name} = ${item}`).join(" ,")} }`),
    ),
  }));
  const line = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(dottedKey, value).map(([name, item]) => `${name} = ${item}`) },
    { weight: 2, arbitrary: dottedKey.map((name) => `[ ${name}]`) },
    { weight: 2, arbitrary: dottedKey.map((name) => `[[${name} ]]`) },
    fc.constantFrom("", "# a = 1", "\t"),
  );
  return fc
    .tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom("\n", "\r\n", " # x\n"))
    .map(([lines, end]) => lines.join(end));
}
