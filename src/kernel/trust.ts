/** Where an event came in. `system` is Postern's own. */
export const CHANNELS = ["webhook", "email", "system"] as const;
export type Channel = (typeof CHANNELS)[number];

/** How far an event's content may be trusted: what came from outside is data, signed or not. */
export type Trust = "external_untrusted" | "postern";

/** The trust of whatever came in by this channel. */
export function trustOf(channel: Channel): Trust {
  return channel === "system" ? "postern" : "external_untrusted";
}

/** The name of Postern itself as a source. */
export const OWN_SOURCE = "postern";
