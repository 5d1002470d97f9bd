import type { Scratch } from "../machine/scratch.ts";

/** What its store holds, as counted in the store itself. */
export type Counts = { waiting: number; done: number };

/** One worker with a connection of its own. */
export type Worker = {
  /** Claims up to `max` events and acks them all; answers how many. 0: there are none left. */
  cycle(max: number): Promise<number>;
  close(): void;
};

/** A running side of the comparison. */
export type Side = {
  /** Where it takes signed GitHub transmissions over HTTP; undefined where it has no such door. */
  ingest: { port: number; path: string; secret: string } | undefined;
  counts(): Promise<Counts>;
  /** Puts so many events of 2 KB into its queue. */
  fill(count: number): Promise<void>;
  /** Undefined where it keeps nothing that could be claimed. */
  worker: (() => Promise<Worker>) | undefined;
  stop(): Promise<void>;
};

/** Something that takes events durably and hands them out. */
export type Peer = {
  name: string;
  /** How it is set up, as the results say it. */
  how: string;
  /** What brings it, where a Debian package is missing. */
  missing(): string | undefined;
  start(scratch: Scratch): Promise<Side>;
};
