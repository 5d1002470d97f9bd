import { createHmac, randomBytes } from "node:crypto";
import { EVENT, githubBody } from "./github-event.ts";
import { requestBytes } from "./http-request.ts";

/** So many different bodies are signed beforehand; each transmission has a delivery id of its own. */
const BODIES = 64;

const ID_LENGTH = 36;
const PLACE = "x".repeat(ID_LENGTH);

/** Signed transmissions of GitHub's kind to one URL, made ready so that sending one costs next to nothing. */
export class Transmissions {
  readonly #requests: { bytes: Buffer; idAt: number }[];
  readonly #run = randomBytes(6).toString("hex");
  #sent = 0;

  constructor(path: string, secret: string) {
    this.#requests = Array.from({ length: BODIES }, (_, number) => {
      const bytes = signedRequest(path, secret, githubBody(number + 1));
      return { bytes, idAt: bytes.indexOf(PLACE) };
    });
  }

  /** The next request's bytes: to be sent before the next is asked for. */
  next(): Uint8Array {
    const request = this.#requests[this.#sent % BODIES];
    if (!request) throw new Error("there is no such body");
    const count = (this.#sent++).toString(16).padStart(12, "0");
    const run = this.#run;
    const id = `${run.slice(0, 8)}-${run.slice(8, 12)}-4000-8000-${count}`;
    request.bytes.write(id, request.idAt, ID_LENGTH, "latin1");
    return request.bytes;
  }
}

function signedRequest(path: string, secret: string, body: string): Buffer {
  return requestBytes(
    path,
    {
      "user-agent": "GitHub-Hookshot/044aadd",
      accept: "*/*",
      "content-type": "application/json",
      "x-github-delivery": PLACE,
      "x-github-event": EVENT,
      "x-github-hook-id": "292430182",
      "x-github-hook-installation-target-id": "79929171",
      "x-github-hook-installation-target-type": "repository",
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
    },
    body,
  );
}
