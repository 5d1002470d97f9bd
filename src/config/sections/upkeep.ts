import { z } from "zod";
import { documented, integer } from "../fields.ts";

const MAX_DAYS = 36_500;

/** How long things are kept. */
export const retentionSection = documented(
  z
    .strictObject({
      payload_days: documented(
        integer(1, MAX_DAYS).default(30),
        "Days after receipt until payload, attachments and raw message are deleted. The event itself stays.",
      ),
      settled_days: documented(
        integer(1, MAX_DAYS).default(90),
        "Days until a done or dead event is deleted. One with a lease or an open delivery stays.",
      ),
      attempts_days: documented(
        integer(1, MAX_DAYS).default(30),
        "Days until the attempts of a finished delivery are deleted.",
      ),
      changes_hours: documented(
        integer(1, 8760).default(24),
        "Hours for which the stream can be resumed with Last-Event-ID.",
      ),
    })
    .prefault({}),
  "How long things are kept. The memory of duplicates is never shorter than promised (30 days by id, 24 hours by content).",
);

/** Log lines on standard error. */
export const logSection = documented(
  z
    .strictObject({
      level: documented(z.enum(["debug", "info", "warn", "error"]).default("info"), "The least that is logged."),
      format: documented(
        z.enum(["auto", "text", "json"]).default("auto"),
        "text for people, json for machines; auto is text on a terminal and json elsewhere.",
      ),
    })
    .prefault({}),
  "Log lines. They never hold a body, a token or a secret.",
);
