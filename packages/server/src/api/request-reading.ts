/**
 * Reads bodies and headers of requests. Bodies are JSON and limited in size; the answer states the place of a syntax
 * error.
 */
import type { IncomingHttpHeaders } from "node:http";
import { idempotencyKey, refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import type { FastifyInstance } from "fastify";
import { excessIn } from "./body-bounds.ts";
import { jsonFault } from "./json-fault.ts";
import { LARGE_BODY_CHARS, turnForLargeBody } from "./large-bodies.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** True: the body is validated item by item before the whole body is. */
    hasLargeBody: boolean;
  }
}

/** Replaces Fastify's parsers, which accept plain text and do not report where JSON is invalid. */
export function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest("hasLargeBody", false);
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const text = body as string;
    if (text === "") return done(null, undefined);
    if (text.length < LARGE_BODY_CHARS) return readText(text, done);
    request.hasLargeBody = true;
    // The handler runs in the same turn, so that several large bodies are not validated one right after the other.
    void turnForLargeBody().then(() => readText(text, done));
  });
}

type Done = (error: Error | null, body?: unknown) => void;

function readText(text: string, done: Done): void {
  const excess = excessIn(text);
  if (excess !== null) return done(refuse("invalidRequest", `The body ${excess}. Split it over several requests.`));
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return done(notJson(text));
  }
  done(null, body);
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
