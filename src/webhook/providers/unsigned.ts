import type { Provider } from "./provider.ts";
import { NO_SECRET } from "./secret-rules.ts";

/** A sender that signs nothing: the address it was given is all that tells it from others. */
export const unsigned: Provider = {
  kind: "unsigned",
  title: "Unsigned",
  scheme: null,
  verifies: false,
  secret: NO_SECRET,
  type: [],
  ids: [{ header: "webhook-id" }],
};
