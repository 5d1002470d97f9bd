import type { z } from "zod";
import { type FieldError, Problem } from "../kernel/problems.ts";
import { didYouMean } from "../kernel/suggest.ts";

/** An operation's input, checked: the typed value, or 422 that names every wrong place; 404 where only ids of the path are no ids. */
export function checkInput<S extends z.ZodObject>(
  schema: S,
  value: Record<string, unknown>,
  pathParams: readonly string[],
): { input: z.output<S> } | Problem {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { input: parsed.data };
  const errors = parsed.error.issues.flatMap((issue) => fieldErrors(schema, value, issue));
  if (errors.every(({ path }) => pathParams.includes(path))) {
    return new Problem("NOT_FOUND", `${errors[0]?.path}: there is no such thing here`);
  }
  const detail = errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join("; ");
  return new Problem("INVALID_REQUEST", detail.slice(0, 2000), { errors: errors.slice(0, 50) });
}

function fieldErrors(schema: z.ZodObject, value: Record<string, unknown>, issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const known = issue.path.length === 0 ? Object.keys(schema.shape) : [];
    return issue.keys.slice(0, 10).map((key) => ({
      path: path ? `${path}.${key.slice(0, 64)}` : key.slice(0, 64),
      message: `unknown field.${didYouMean(key, known)}`,
    }));
  }
  if (issue.code === "invalid_value") {
    const given = at(value, issue.path);
    const hint = typeof given === "string" ? didYouMean(given, issue.values.map(String)) : "";
    return [{ path, message: `must be one of ${issue.values.map(String).join(", ")}.${hint}` }];
  }
  if (issue.code === "invalid_type" && at(value, issue.path) === undefined) return [{ path, message: "is required" }];
  return [{ path, message: issue.message }];
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      inner !== null && typeof inner === "object" ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}
