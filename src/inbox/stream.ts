import type { Id } from "../kernel/ids.ts";
import type { Store } from "../store/store.ts";
import type { Change, EventRecord } from "../store/types.ts";

/** One change as the stream tells it. */
export type StreamedChange = { cursor: number; event: EventRecord };

/** So many changes are read at a time while a stream catches up. */
const PAGE = 10;

/**
 * The changes of a project's events, from a cursor on, for as long as `signal` holds. A reader that is slower than the
 * changes reads them from the store when it comes to it, so nothing is held for it in memory.
 */
export async function* changesOf(
  store: Store,
  project: Id<"prj">,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<StreamedChange> {
  let cursor = after;
  let more = Promise.withResolvers<void>();
  const wake = () => more.resolve();
  const stop = store.onCommit((changes: readonly Change[]) => {
    if (changes.some((change) => change.visible && change.project === project)) wake();
  });
  signal.addEventListener("abort", wake);
  try {
    while (!signal.aborted) {
      const page = await store.events.changesAfter(project, cursor, PAGE);
      for (const change of page) {
        if (signal.aborted) return;
        yield change;
        cursor = change.cursor;
      }
      if (page.length > 0) continue;
      await more.promise;
      more = Promise.withResolvers<void>();
    }
  } finally {
    stop();
    signal.removeEventListener("abort", wake);
  }
}
