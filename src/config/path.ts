/** Where a value stands in the configuration: keys of tables and, from 0, places in lists. */
export type KeyPath = readonly (string | number)[];

/** `projects.0.sources.1.name` */
export function dotted(path: KeyPath): string {
  return path.join(".");
}

/** True for what TOML calls a table. */
export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The value at a path, or undefined where there is none. */
export function valueAt(root: unknown, path: KeyPath): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (Array.isArray(value) && typeof step === "number") value = value[step];
    else if (isTable(value) && Object.hasOwn(value, step)) value = value[step];
    else return undefined;
  }
  return value;
}
