import { type Pointer, resolvePointer } from "./json-pointer.ts";
import { headerOf, type Transmission } from "./transmission.ts";

/** Where a rule finds a text: in a header (lower case) or in the parsed body. */
export type ValueAt = { readonly header: string } | { readonly pointer: Pointer };

/** The text that stands there: a string that is not empty, or undefined. */
export function lookUp(place: ValueAt, headers: Transmission["headers"], content: unknown): string | undefined {
  const value = "header" in place ? headerOf(headers, place.header) : resolvePointer(content, place.pointer);
  return typeof value === "string" && value !== "" ? value : undefined;
}
