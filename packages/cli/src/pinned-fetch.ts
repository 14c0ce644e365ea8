/**
 * `fetch` for a control plane on this machine that uses TLS. Its state directory names the certificate. The program
 * accepts exactly this certificate, so it needs neither a public issuer nor a name of this machine.
 */
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";

/** The statuses that have no body (RFC 9110). */
const withoutBody: ReadonlySet<number> = new Set([101, 204, 205, 304]);

export function pinnedFetch(certificateSha256: string): typeof fetch {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const { body, method = "GET", headers, signal } = init;
      if (body != null && typeof body !== "string") throw new TypeError("the body must be text");
      const request = httpsRequest(
        input instanceof Request ? input.url : input,
        {
          method,
          headers: Object.fromEntries(new Headers(headers).entries()),
          ...(signal == null ? {} : { signal }),
          // The check of issuers is replaced by the comparison below, which runs before anything is sent.
          rejectUnauthorized: false,
          agent: false,
        },
        (response) => resolve(answerOf(response)),
      );
      request.once("error", (error) => reject(signal?.aborted === true ? (signal.reason as Error) : error));
      request.once("socket", (socket) => {
        socket.once("secureConnect", () => {
          const seen = (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256.replaceAll(":", "").toLowerCase();
          if (seen === certificateSha256) request.end(body ?? undefined);
          else
            request.destroy(new Error("the server shows another certificate than the control plane of this directory"));
        });
      });
    });
}

function answerOf(response: IncomingMessage): Response {
  const { statusCode: status = 500, rawHeaders } = response;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  if (withoutBody.has(status)) {
    response.resume();
    return new Response(null, { status, headers });
  }
  return new Response(Readable.toWeb(response) as ReadableStream, { status, headers });
}
