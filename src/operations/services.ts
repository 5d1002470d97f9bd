import type { Keys, Projects } from "../identity/index.ts";
import type { Inbox, Links, Tallies } from "../inbox/index.ts";
import type { Clock } from "../kernel/clock.ts";
import type { BlobStore } from "../store/blobs.ts";
import type { Store } from "../store/store.ts";
import type { Rejections, Sources } from "../webhook/index.ts";

/** The features that operations call; put together once in `daemon.ts`. */
export type Services = {
  clock: Clock;
  store: Store;
  blobs: BlobStore;
  projects: Projects;
  keys: Keys;
  sources: Sources;
  rejections: Rejections;
  inbox: Inbox;
  links: Links;
  tallies: Tallies;
  /** Transmissions since the start, by what became of them. */
  counters: { accepted: number; duplicates: number; rejected: number };
};
