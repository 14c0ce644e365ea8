/**
 * Serves the sources of the packages to a browser, with types removed, so that browser and Node run the same code
 * without a bundler.
 */
import { readFileSync, realpathSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";

const packages = realpathSync(path.resolve(import.meta.dirname, "../.."));

const page = `<!doctype html><meta charset="utf-8"><title>same bytes</title><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify(
  {
    imports: {
      "@headroom/model": "/model/src/index.ts",
      "@headroom/engine": "/engine/src/index.ts",
      "@headroom/engine/internals": "/engine/src/internals.ts",
      "@headroom/explain": "/explain/src/index.ts",
      "@headroom/engine-oracle": "/engine-oracle/src/index.ts",
      "@headroom/perf": "/perf/src/index.ts",
      "@headroom/pipelines": "/pipelines/src/index.ts",
      "@headroom/routing": "/routing/src/index.ts",
      "@headroom/sim": "/sim/src/index.ts",
    },
  },
)}</script>`;

export interface SourceServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveSources(): Promise<SourceServer> {
  const server = createServer((request, response) => {
    const wanted = new URL(request.url ?? "/", "http://localhost").pathname;
    if (wanted === "/") {
      response.writeHead(200, { "content-type": "text/html" }).end(page);
      return;
    }
    const file = path.join(packages, path.posix.normalize(wanted));
    if (!file.endsWith(".ts") || !file.startsWith(`${packages}${path.sep}`)) {
      response.writeHead(404).end();
      return;
    }
    response
      .writeHead(200, { "content-type": "text/javascript" })
      .end(stripTypeScriptTypes(readFileSync(file, "utf8")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
  });
}
