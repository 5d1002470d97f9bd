import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatConfigError } from "../../src/config/errors.ts";
import { isConfigErrors, loadConfig } from "../../src/config/load.ts";
import { resolveSecrets } from "../../src/config/secrets.ts";
import { tempDir } from "../support/tmp.ts";

/** Loads a file in a folder of its own and resolves its secrets. */
function resolve(folder: string, references: string[], env: Record<string, string> = {}) {
  const sources = references.map(
    (reference, index) =>
      `[[projects.sources]]\nname = "s${index}"\nchannel = "webhook"\nkind = "github"\n${reference}\n`,
  );
  writeFileSync(join(folder, "postern.toml"), `[[projects]]\nname = "a"\n${sources.join("")}`);
  const loaded = loadConfig({ argvPath: join(folder, "postern.toml"), env, cwd: "/" });
  if (isConfigErrors(loaded)) throw new Error(loaded.map(formatConfigError).join("\n"));
  const found = resolveSecrets(loaded, { env });
  return "secrets" in found
    ? { secrets: Object.fromEntries(found.secrets), warnings: found.warnings }
    : found.map((error) => formatConfigError(error).replaceAll(`${folder}/`, ""));
}

function file(folder: string, name: string, content: string | Uint8Array, mode = 0o600): void {
  writeFileSync(join(folder, name), content);
  chmodSync(join(folder, name), mode);
}

describe("a secret", () => {
  test("stands in the file, in the environment, or in a file beside the configuration", () => {
    const folder = tempDir("secrets");
    file(folder, "one", "from a file\n");
    const references = ["secret = 'inline'", "secret_env = 'THE_SECRET'", "secret_file = 'one'", ""];
    expect(resolve(folder, references, { THE_SECRET: "from env\n" })).toEqual({
      secrets: {
        "projects.0.sources.0": "inline",
        "projects.0.sources.1": "from env\n",
        "projects.0.sources.2": "from a file",
      },
      warnings: [],
    });
  });

  test("in a file loses one newline at its end and nothing else", () => {
    const folder = tempDir("secrets");
    file(folder, "two", " a \n\n");
    file(folder, "windows", "b\r\n");
    expect(resolve(folder, ["secret_file = 'two'", "secret_file = 'windows'"])).toMatchObject({
      secrets: { "projects.0.sources.0": " a \n", "projects.0.sources.1": "b" },
    });
  });

  test("that is missing or empty is refused with its key and line, every one of them", () => {
    const folder = tempDir("secrets");
    file(folder, "empty", "\n");
    file(folder, "binary", new Uint8Array([0xff, 0x00]));
    const references = [
      "secret_env = 'NONE'",
      "secret_env = 'EMPTY'",
      ...["none", "empty", "binary", "."].map((name) => `secret_file = '${name}'`),
    ];
    expect(resolve(folder, references, { EMPTY: "" })).toEqual([
      "postern.toml:7: projects.0.sources.0.secret_env: the environment variable NONE is not set",
      "postern.toml:12: projects.0.sources.1.secret_env: the environment variable EMPTY is empty",
      "postern.toml:17: projects.0.sources.2.secret_file: none does not exist",
      "postern.toml:22: projects.0.sources.3.secret_file: empty is empty",
      "postern.toml:27: projects.0.sources.4.secret_file: binary is not UTF-8 text",
      expect.stringMatching(/^postern\.toml:32: projects\.0\.sources\.5\.secret_file: .* cannot be read \(EISDIR\)$/),
    ]);
  });

  test("that others can read is warned of, but for systemd's credentials", () => {
    const folder = tempDir("secrets");
    file(folder, "open", "x", 0o640);
    expect(resolve(folder, ["secret_file = 'open'"])).toMatchObject({
      warnings: [
        expect.stringMatching(/^projects\.0\.sources\.0\.secret_file: other users can read .*open; chmod 600 it$/),
      ],
    });
    const env = { CREDENTIALS_DIRECTORY: folder };
    expect(resolve(folder, ["secret_file = '$CREDENTIALS_DIRECTORY/open'"], env)).toEqual({
      secrets: { "projects.0.sources.0": "x" },
      warnings: [],
    });
  });
});
