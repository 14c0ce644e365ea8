/**
 * Serves the built console from a plain file server: no API, no fallback to the page, the product's security policy.
 */
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { consoleDir } from "./browser.ts";

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** A policy at least as strict as that of the control plane: nothing inline, nothing evaluated, no other origins. */
const securityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface StaticServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveConsole(): Promise<StaticServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = path.join(consoleDir, path.posix.normalize(pathname === "/" ? "/index.html" : pathname));
    if (!file.startsWith(consoleDir) || !existsSync(file)) {
      response.writeHead(404).end("no such file");
      return;
    }
    const contentType = contentTypes[path.extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": contentType, "content-security-policy": securityPolicy });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
