import { z } from "zod";
import { documented, integer, line, MAIL_ADDRESS, networks, textThat, wrongHttpUrl } from "../fields.ts";
import { parseRelay } from "../relay.ts";
import { parseServer } from "../server-address.ts";

/** `Name <local@domain>` or the address alone. */
function wrongMailbox(text: string): string | undefined {
  const address = /^[^<>\r\n"]*<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return MAIL_ADDRESS.test(address) && text.length <= 320
    ? undefined
    : "must be an address such as postern@example.org, or Postern <postern@example.org>";
}

function wrongProxy(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return "must be a URL such as http://proxy.example.org:3128";
  const url = new URL(text);
  url.username = "";
  url.password = "";
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return "must end after the port";
  return wrongHttpUrl(url.href);
}

/** Mail that goes out. */
export const mailSection = documented(
  z
    .strictObject({
      from: documented(
        textThat(wrongMailbox).optional(),
        "The sender of outgoing mail. Without it: postern@ and smtp.domain.",
        { example: "Postern <postern@example.org>" },
      ),
      relay: documented(
        textThat((text) => {
          const parsed = parseRelay(text);
          return "wrong" in parsed ? parsed.wrong : undefined;
        }).optional(),
        "The server that takes outgoing mail: smtp://host:587 (STARTTLS where offered), smtps://host:465, or host:port. " +
          "A user and password go before the host, percent-encoded: smtp://user:password@host:587. Without a relay no " +
          "mail is sent.",
        { secret: "url", example: "smtp://mail.example.org:587" },
      ),
    })
    .prefault({}),
  "Not in this version: checked, but without effect. Mail that goes out: questions to people who decide requests.",
);

/** Name servers. */
export const dnsSection = documented(
  z
    .strictObject({
      servers: documented(
        z
          .array(
            textThat((text) => {
              const parsed = parseServer(text);
              return "wrong" in parsed ? parsed.wrong : undefined;
            }),
          )
          .max(16)
          .default([]),
        "Name servers, for mail checks and deliveries alike: an IP address, or one with a port (127.0.0.1:5353). " +
          "Empty: the system's.",
        { example: ["127.0.0.1:5353"] },
      ),
    })
    .prefault({}),
  "Not in this version: checked, but without effect. Looking up names.",
);

/** Pushes to routes and event destinations. */
export const deliverySection = documented(
  z
    .strictObject({
      header_prefix: documented(
        textThat((text) => {
          if (!/^[A-Za-z](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/.test(text)) {
            return "must be 1 to 32 letters, digits and hyphens, beginning with a letter and not ending with a hyphen";
          }
          return text.toLowerCase() === "webhook" ? "must not be webhook: those headers are sent as well" : undefined;
        }).default("Postern"),
        "First part of the names of the headers Postern-Event-ID, Postern-Timestamp and Postern-Signature, for a " +
          "receiver that expects another brand.",
      ),
      allow_networks: documented(
        networks().default([]),
        "Networks that deliveries may reach although they are not public, also over http://. Everything that is not " +
          "globally routable is refused otherwise; link-local and metadata addresses only open where listed exactly.",
        { example: ["127.0.0.0/8", "192.168.1.0/24"] },
      ),
      ca_file: documented(
        line(4096).optional(),
        "Certificates (PEM) of a private authority, trusted besides the system's.",
        {
          path: true,
          example: "/etc/postern/ca.pem",
        },
      ),
      proxy: documented(
        textThat(wrongProxy).optional(),
        "An HTTP proxy that is asked to CONNECT to each checked address. HTTP_PROXY and its like are ignored.",
        { secret: "url", example: "http://proxy.example.org:3128" },
      ),
      route_concurrency: documented(integer(1, 1024).default(32), "How many pushes to routes run at once."),
      route_concurrency_per_endpoint: documented(
        integer(1, 1024).default(8),
        "How many of them go to one endpoint at once.",
      ),
    })
    .prefault({}),
  "Not in this version: checked, but without effect. Pushes to routes and event destinations.",
);

/** Questions to people. */
export const requestsSection = documented(
  z
    .strictObject({
      deciders: documented(
        z
          .array(
            textThat((text) =>
              MAIL_ADDRESS.test(text) ? undefined : "must be a mail address such as ann@example.org",
            ),
          )
          .max(1000)
          .default([]),
        "Mail addresses, besides those of the people of this workspace, that may be asked to decide and get deciding " +
          "links by mail.",
        { example: ["ann@example.org"] },
      ),
    })
    .prefault({}),
  "Not in this version: checked, but without effect. Decisions of people.",
);
