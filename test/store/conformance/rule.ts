import { test } from "bun:test";
import { Bed, type Implementation } from "./bed.ts";

/** A rule that every store holds, tried on a fresh one. */
export type Rule = (name: string, run: (bed: Bed) => Promise<void>, timeoutMs?: number) => void;

export function ruleOf(implementation: Implementation): Rule {
  return (name, run, timeoutMs) => {
    test(
      name,
      async () => {
        const bed = await Bed.make(implementation);
        try {
          await run(bed);
        } finally {
          await bed.close();
        }
      },
      timeoutMs,
    );
  };
}
