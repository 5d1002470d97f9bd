export { Envelope, type EventAnswer, envelope, INLINE_BYTES } from "./envelope.ts";
export { Inbox, RESULT_BYTES, type Settle } from "./inbox.ts";
export { LINK_MS, Links } from "./links.ts";
export { type Retainer, startRetention } from "./retention.ts";
export { changesOf, type StreamedChange } from "./stream.ts";
export { Tallies } from "./tallies.ts";
