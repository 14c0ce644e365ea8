/** Bodies and headers on their way in: JSON only, bounded, with the place of a mistake in what comes back. */
import type { IncomingHttpHeaders } from "node:http";
import { idempotencyKey, refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import type { FastifyInstance } from "fastify";

/** Replaces Fastify's own parsers: it would accept text, and say nothing of where JSON breaks. */
export function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
    const text = body as string;
    if (text === "") return done(null, undefined);
    try {
      done(null, JSON.parse(text));
    } catch (error) {
      done(notJson(text, error));
    }
  });
}

/** V8 names a position, or quotes where it stumbled; either way the line and column say it to a person with an editor. */
function notJson(text: string, error: unknown): ProblemError {
  const message = error instanceof Error ? error.message : String(error);
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return refuse("invalidJson", `${message}.`);
  const before = text.slice(0, Number(position)).split("\n");
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  return refuse(
    "invalidJson",
    `Line ${line}, column ${column}: ${message.replace(/ (?:in JSON )?at position .*$/s, "")}.`,
    {
      facts: { line, column },
    },
  );
}

/** `null`: none was sent. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | null {
  const given = headers["idempotency-key"];
  if (given === undefined) return null;
  const result = idempotencyKey.safeParse(given);
  if (result.success) return result.data;
  throw refuse("invalidRequest", "The Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.", {
    errors: [{ pointer: "Idempotency-Key", message: result.error.issues[0]?.message ?? "is not valid" }],
  });
}
