import { z } from "zod";
import { documented, integer, line, listenAddress, networks } from "../fields.ts";
import { ruled, together } from "./rules.ts";

/** The API, the console and the ingest URLs. */
export const httpSection = documented(
  ruled(
    z.strictObject({
      listen: documented(
        listenAddress().default("127.0.0.1:8484"),
        "Where the API, the console and the ingest URLs listen: host:port or [v6]:port. 0.0.0.0:8484 opens it to " +
          "the network: then set tls_cert and tls_key, or put a reverse proxy in front. Port 0 takes a free one.",
      ),
      tls_cert: documented(
        line(4096).optional(),
        "Certificate chain (PEM), for HTTPS without a reverse proxy. Read again on SIGHUP.",
        { path: true, example: "/etc/postern/fullchain.pem" },
      ),
      tls_key: documented(line(4096).optional(), "Private key (PEM) of tls_cert.", {
        path: true,
        example: "/etc/postern/privkey.pem",
      }),
      max_body_bytes: documented(
        integer(1, 1_073_741_824).default(10_485_760),
        "Largest body of a webhook or an API call, as sent and as decoded. Over it: 413. The default is 10 MiB.",
      ),
      trusted_proxies: documented(
        networks().default([]),
        "Networks of the reverse proxies whose Forwarded and X-Forwarded-* headers are believed. Others' are ignored.",
        { example: ["127.0.0.1", "10.0.0.0/8"] },
      ),
    }),
    [together("tls_cert", "tls_key")],
  ).prefault({}),
  "The HTTP door: API and ingest URLs.",
);
