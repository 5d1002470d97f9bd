/** A table of the example: which values its keys are shown with. */
export type ShownTable = Readonly<Record<string, unknown>>;

/**
 * The projects of the example file. Between them, the sources and routes show every key once; a single one could not,
 * since some keys exclude each other.
 */
export const EXAMPLE_PROJECT: ShownTable = {
  name: "default",
  title: "Front office",
  sources: [
    {
      name: "billing",
      channel: "webhook",
      kind: "stripe",
      secret_env: "STRIPE_WEBHOOK_SECRET",
      dedup: "auto",
      rate_limit: { requests: 600, per_seconds: 60 },
    },
    {
      name: "builds",
      channel: "webhook",
      kind: "hmac_sha256",
      secret_file: "$CREDENTIALS_DIRECTORY/builds",
      header: "x-signature",
      encoding: "hex",
      prefix: "",
      signed: "{timestamp}.{body}",
      timestamp_header: "x-timestamp",
      tolerance_seconds: 300,
      type_from: { pointer: "/event" },
    },
    { name: "shop", channel: "webhook", kind: "github", secret: "at-least-as-long-as-this-one", allow_get: false },
    { name: "monitoring", channel: "webhook", kind: "alertmanager", signals: true, signals_unverified: false },
    { name: "office", channel: "email", kind: "email", local_part: "office", catch_all: false },
  ],
  routes: [
    {
      name: "bookkeeping",
      callback_url: "https://books.example.org/postern",
      match_source: "billing",
      match_type: "invoice.*",
      headers: { "x-token": "a token of that service" },
      secret_env: "BOOKKEEPING_SECRET",
    },
    {
      name: "archive",
      callback_url: "https://archive.example.org/in",
      match_source: "office",
      secret_file: "/etc/postern/archive-secret",
    },
  ],
};
