import type { ConfigError } from "../config/errors.ts";
import { errorInConfig, type LoadedConfig } from "../config/load.ts";
import { didYouMean } from "../kernel/suggest.ts";
import { providerFor, SOURCE_KINDS, SourceFields, sourceSettings } from "../webhook/index.ts";

/** What `serve` would refuse of the declared sources although the file's form is right: kinds, settings and secrets. */
export function checkDeclared(loaded: LoadedConfig, secrets: ReadonlyMap<string, string>): ConfigError[] {
  return loaded.config.projects.flatMap(({ sources }, project) =>
    sources.flatMap((source, index) => {
      const path = ["projects", project, "sources", index];
      const wrong = wrongIn(source, secrets.get(path.join(".")));
      return wrong.map(({ path: key, message }) => errorInConfig(loaded, [...path, key], message));
    }),
  );
}

type Wrong = { path: string; message: string };
type Declared = LoadedConfig["config"]["projects"][number]["sources"][number];

function wrongIn(source: Declared, secret: string | undefined): readonly Wrong[] {
  if (source.channel === "email" || source.kind === "email") return [];
  const provider = providerFor(source.kind);
  if (!provider) {
    const message = `unknown kind; there are ${SOURCE_KINDS.join(", ")}.${didYouMean(source.kind, SOURCE_KINDS)}`;
    return [{ path: "kind", message }];
  }
  const given = Object.entries(source).filter(([key, value]) => key in SourceFields.shape && value !== undefined);
  const settings = sourceSettings(source.kind, SourceFields.parse(Object.fromEntries(given)));
  const wrongSettings: readonly Wrong[] = Array.isArray(settings) ? settings : [];
  const wrongSecret = secret === undefined ? null : provider.secret.validate(secret);
  return wrongSecret ? [...wrongSettings, wrongSecret] : wrongSettings;
}
