import { z } from "zod";
import { DOMAIN, documented, integer, line, listenAddress, textLike } from "../fields.ts";
import { isLoopback, parseListen } from "../listen.ts";
import { type Rule, ruled, together } from "./rules.ts";

/** True for an address that is no listener, or one that only this machine reaches. */
function staysLocal(address: unknown): boolean {
  if (typeof address !== "string") return true;
  const parsed = parseListen(address);
  return "wrong" in parsed || isLoopback(parsed.host);
}

const anyDomainStaysLocal: Rule = ({ any_domain, listen, listen_tls }) =>
  any_domain === true && !(staysLocal(listen) && staysLocal(listen_tls))
    ? { key: "any_domain", wrong: "is for loopback listeners only, since it takes mail for every domain" }
    : undefined;

const implicitTlsHasCertificate: Rule = ({ listen_tls, tls_cert, tls_key }) =>
  listen_tls !== undefined && tls_cert === undefined && tls_key === undefined
    ? { key: "listen_tls", wrong: "needs `tls_cert` and `tls_key` beside it" }
    : undefined;

/** Mail that comes in. */
export const smtpSection = documented(
  ruled(
    z.strictObject({
      enabled: documented(z.boolean().default(true), "Whether Postern takes mail."),
      listen: documented(
        listenAddress().default("127.0.0.1:2525"),
        "Where mail is taken, with STARTTLS if there is a certificate. To be the MX of a domain: 0.0.0.0:25.",
      ),
      listen_tls: documented(
        listenAddress().optional(),
        "A second listener that speaks TLS from the first byte. Needs tls_cert and tls_key.",
        { example: "127.0.0.1:2465" },
      ),
      domain: documented(
        textLike(DOMAIN, "a domain name such as in.example.org, in ASCII (xn--… where it has other letters)").default(
          "localhost",
        ),
        "The domain after the @ of every email source, and the name that the server greets with.",
      ),
      any_domain: documented(
        z.boolean().default(false),
        "Take mail for any domain, to catch an application's mail on a laptop. Loopback listeners only.",
      ),
      postmaster: documented(
        textLike(
          /^[a-z0-9][a-z0-9_-]{0,62}(?:\/[a-z0-9][a-z0-9_-]{0,62})?$/,
          "the name of an email source, or project/source outside the default project",
        ).optional(),
        "The source that gets postmaster@ and abuse@ (RFC 2142), as source or project/source. Without one, these are " +
          "unknown recipients.",
        { example: "office" },
      ),
      tls_cert: documented(line(4096).optional(), "Certificate chain (PEM). Without one, STARTTLS is not offered.", {
        path: true,
        example: "/etc/postern/fullchain.pem",
      }),
      tls_key: documented(line(4096).optional(), "Private key (PEM) of tls_cert.", {
        path: true,
        example: "/etc/postern/privkey.pem",
      }),
      max_message_bytes: documented(
        integer(1, 1_073_741_824).default(26_214_400),
        "Largest message. Over it: 552 5.3.4. The default is 25 MiB.",
      ),
      dmarc: documented(
        z.enum(["mark", "enforce"]).default("mark"),
        "Mail that fails the DMARC policy of its domain: mark records it; enforce answers 550 5.7.1 where the domain " +
          "publishes reject.",
      ),
      on_dns_failure: documented(
        z.enum(["accept", "defer"]).default("accept"),
        "When the name server fails during the checks: accept takes the mail as unverified (temperror); defer answers " +
          "451 4.7.5, so that it is sent again.",
      ),
    }),
    [together("tls_cert", "tls_key"), implicitTlsHasCertificate, anyDomainStaysLocal],
  ).prefault({}),
  "Not in this version: checked, but without effect. Mail that comes in. Postern never relays.",
);
