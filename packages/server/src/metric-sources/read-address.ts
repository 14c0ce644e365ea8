/**
 * Reads one address of an exporter with bounds in time and bytes. Redirects are not followed, and names that resolve to
 * link-local addresses are refused, because services there give machines their credentials.
 */
import { lookup as resolve } from "node:dns";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import type { IncomingMessage, RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { isLinkLocal } from "@headroom/metrics";

/** A text of an exporter with eight accelerators has about 100 KiB. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;
/** Idle connections are kept, because every target is read again after seconds. */
const agentOptions = { keepAlive: true, maxSockets: 64, maxTotalSockets: 4_096 } as const;
const ERROR_CHARS_MAX = 300;

const lookup: LookupFunction = (hostname, options, done) => {
  resolve(hostname, options, (error, address, family) => {
    const addresses = error === null ? (Array.isArray(address) ? address.map((each) => each.address) : [address]) : [];
    if (addresses.some(isLinkLocal)) done(new Error(`${hostname} resolves to a link-local address`), "", 0);
    else done(error, address, family);
  });
};

export interface AddressRequest {
  readonly url: string;
  readonly token: string | null;
  readonly timeoutMs: number;
  readonly accept: string;
}

export class AddressReader {
  readonly #http = new HttpAgent(agentOptions);
  readonly #https = new HttpsAgent(agentOptions);

  /** The text of the answer. Rejects with a message that an operator can act on. */
  async read({ url, token, timeoutMs, accept }: AddressRequest): Promise<string> {
    const { promise: response, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>();
    const isSecure = url.startsWith("https:");
    const options: RequestOptions = {
      agent: isSecure ? this.#https : this.#http,
      lookup,
      headers: { accept, "user-agent": "headroom", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    };
    const request = (isSecure ? httpsRequest : httpRequest)(url, options, answered);
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`)), timeoutMs);
    request.on("error", reject);
    request.end();
    try {
      return await textOf(await response);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > BODY_BYTES_MAX) {
      response.destroy();
      throw new Error(`the answer has more than ${BODY_BYTES_MAX / 1024 / 1024} MiB`);
    }
    pieces.push(piece);
  }
  const text = Buffer.concat(pieces).toString("utf8");
  if (response.statusCode === 200) return text;
  throw new Error(`HTTP ${response.statusCode ?? 0}: ${text.slice(0, ERROR_CHARS_MAX).trim() || "no text"}`);
}
