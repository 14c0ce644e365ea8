/**
 * Reads bodies and headers of requests. Bodies are JSON and limited in size; the answer states the place of a syntax
 * error.
 */
import type { IncomingHttpHeaders } from "node:http";
import { idempotencyKey, refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import type { FastifyInstance } from "fastify";
import { jsonFault } from "./json-fault.ts";

/** Replaces Fastify's parsers, which accept plain text and do not report where JSON is invalid. */
export function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
    const text = body as string;
    if (text === "") return done(null, undefined);
    try {
      done(null, JSON.parse(text));
    } catch {
      done(notJson(text));
    }
  });
}

function notJson(text: string): ProblemError {
  const fault = jsonFault(text);
  if (fault === null) return refuse("invalidJson", "The body is nested too deeply.");
  const { line, column, expected } = fault;
  return refuse("invalidJson", `Line ${line}, column ${column} of the body: expected ${expected}.`, {
    facts: { line, column },
  });
}

/** The idempotency key of a request; `null`: the header is missing. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | null {
  const given = headers["idempotency-key"];
  if (given === undefined) return null;
  const result = idempotencyKey.safeParse(given);
  if (result.success) return result.data;
  throw refuse("invalidRequest", "The Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.", {
    errors: [{ pointer: "Idempotency-Key", message: result.error.issues[0]?.message ?? "is not valid" }],
  });
}
