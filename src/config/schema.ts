import { z } from "zod";
import { documented, line, textThat, wrongHttpUrl } from "./fields.ts";
import { httpSection } from "./sections/http.ts";
import { deliverySection, dnsSection, mailSection, requestsSection } from "./sections/outgoing.ts";
import { projectsSection } from "./sections/projects.ts";
import { smtpSection } from "./sections/smtp.ts";
import { logSection, retentionSection } from "./sections/upkeep.ts";

function wrongPublicUrl(text: string): string | undefined {
  const wrong = wrongHttpUrl(text);
  if (wrong !== undefined) return wrong;
  const url = new URL(text);
  return url.pathname === "/" && !/[?#]/.test(text)
    ? undefined
    : "must end after the host or port, without a path, query or fragment";
}

/**
 * The whole configuration: the defaults, the checks and the documentation are this one schema. The example file,
 * `postern config dump`, the environment variables and the errors are made from it.
 */
export const configSchema = z.strictObject({
  data_dir: documented(
    line(4096).default("./postern-data"),
    "The folder of database, blobs, master key and socket; copy it and you have moved. The default is " +
      "$STATE_DIRECTORY where systemd sets it.",
    { path: true },
  ),
  public_url: documented(
    textThat(wrongPublicUrl)
      .overwrite((text) => (URL.canParse(text) ? new URL(text).origin : text))
      .optional(),
    "The URL at which the outside world reaches Postern; links and ingest URLs begin with it. Without it they use the " +
      "listen address.",
    { example: "https://postern.example.org" },
  ),
  http: httpSection,
  smtp: smtpSection,
  mail: mailSection,
  dns: dnsSection,
  delivery: deliverySection,
  requests: requestsSection,
  retention: retentionSection,
  log: logSection,
  projects: projectsSection,
});

/** The configuration, checked, with every default filled in and paths absolute once it is loaded. */
export type Config = z.output<typeof configSchema>;
