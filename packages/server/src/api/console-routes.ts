/** Routes of the console's pages and of the browser sign-in. */
import { loadPageFiles, pageHeaders } from "@headroom/platform";
import { SESSION_FRAGMENT, refuse } from "@headroom/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Gate } from "../auth/gate.ts";
import { isTls } from "./access.ts";
import { consoleFile, consoleMissingPage } from "./console-files.ts";

export function addConsoleRoutes(app: FastifyInstance, gate: Gate, directory: string | null): void {
  const files = directory === null ? new Map<never, never>() : loadPageFiles(directory, "index.html");
  // Programs that preview links send HEAD. Such a request must not use up the code, which works only once.
  app.head("/login", (_request, reply) => {
    void reply
      .headers({ ...pageHeaders, "cache-control": "no-store", allow: "GET" })
      .code(405)
      .send();
  });
  app.get("/login", { exposeHeadRoute: false }, (request, reply) => {
    const { code } = request.query as { code?: unknown };
    const signIn = typeof code === "string" ? gate.redeem(code, isTls(request.raw.socket)) : null;
    if (signIn === null) {
      throw refuse(
        "loginCodeInvalid",
        "A login link works only once, and for ten minutes. Get a new one with `headroom login`.",
      );
    }
    void reply.headers({ ...pageHeaders, "cache-control": "no-store" });
    if (signIn.kind === "cookie") return reply.header("set-cookie", signIn.setCookie).redirect("/", 303);
    // Browsers keep the fragment to themselves. The console takes the session out of the address at once.
    return reply.redirect(`/#${SESSION_FRAGMENT}=${encodeURIComponent(signIn.bearer)}`, 303);
  });
  // This route is more specific than the route for pages below, so that an address under /v1 is open only if it is
  // listed as an open route.
  for (const url of ["/v1", "/v1/*"])
    app.all(url, { config: { access: "authenticated" } }, (_request, reply) => reply.callNotFound());
  app.get("/*", { config: { operation: "console" } }, (request, reply) => {
    const [urlPath = "/"] = request.url.split("?", 1);
    if (files.size === 0) {
      return reply
        .headers({ ...pageHeaders, "cache-control": "no-store" })
        .type("text/html; charset=utf-8")
        .send(consoleMissingPage);
    }
    return sendFile(request, reply, urlPath);
  });

  function sendFile(request: FastifyRequest, reply: FastifyReply, urlPath: string): FastifyReply | void {
    const file = consoleFile(files, urlPath === "/" ? "/index.html" : urlPath);
    if (file === null) return reply.callNotFound();
    void reply.headers({ ...pageHeaders, etag: file.etag, "cache-control": file.cacheControl });
    if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
    return reply.type(file.contentType).send(file.bytes);
  }
}
