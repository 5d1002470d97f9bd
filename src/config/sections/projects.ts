import { z } from "zod";
import { documented, headerName, httpUrl, line, slug } from "../fields.ts";
import { atMostOne, ruled, unique } from "./rules.ts";
import { secretReferences } from "./secret-keys.ts";
import { sourceSection } from "./sources.ts";

/** A header's value: no control characters but tabs (RFC 9110 §5.5). */
const headerValue = z.string().superRefine((text, context) => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(text)) context.addIssue("must not hold control characters");
  if (text.length > 4096) context.addIssue("must have at most 4096 characters");
});

const headers = z.record(z.string(), headerValue).superRefine((table, context) => {
  for (const name of Object.keys(table)) {
    if (headerName().safeParse(name).success) continue;
    context.addIssue({ code: "custom", message: "must be the name of an HTTP header", path: [name] });
  }
});

/** One declared route. */
const routeSection = ruled(
  z.strictObject({
    name: documented(slug(), "Unique in its project."),
    callback_url: documented(
      httpUrl(),
      "Where matching events are pushed: https, or http inside delivery.allow_networks.",
      { secret: "url" },
    ),
    match_source: documented(line(256).optional(), "Which sources: a name or a glob. Default: all."),
    match_type: documented(line(256).optional(), "Which types: a name or a glob. Default: all."),
    headers: documented(headers.optional(), "Further headers, such as a service's token. Never shown again.", {
      inline: true,
      secret: "members",
    }),
    ...secretReferences,
  }),
  [atMostOne(["secret_env", "secret_file"])],
);

const projectSection = z.strictObject({
  name: documented(slug(), "Its name on the command line and in URLs. The project `default` is always there."),
  title: documented(line(200).optional(), "How people see it named."),
  sources: documented(z.array(sourceSection).superRefine(unique("name")).default([]), "A way in."),
  routes: documented(
    z.array(routeSection).superRefine(unique("name")).default([]),
    "Not in this version: a declared route is refused at start. Matching events are pushed to an endpoint instead of waiting in the inbox. The receiver checks them with the " +
      "secret: whsec_ and 24 to 64 bytes in base64.",
  ),
});

/** Projects with sources and routes that the file declares. */
export const projectsSection = documented(
  z.array(projectSection).superRefine(unique("name")).default([]),
  "Projects, sources and routes declared here are created or updated at start and on SIGHUP, and read-only elsewhere " +
    "(409 MANAGED_BY_CONFIG).",
);

/** One declared project. */
export type ProjectConfig = z.output<typeof projectSection>;
