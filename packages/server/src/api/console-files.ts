/** Which of the console's built files answers a path. */
import path from "node:path";
import type { PageFile } from "@headroom/platform";

/** The file for a path. For every other path without a file extension, the console's page. */
export function consoleFile(files: ReadonlyMap<string, PageFile>, urlPath: string): PageFile | null {
  const exact = files.get(urlPath);
  if (exact !== undefined) return exact;
  const isPage = !path.posix.basename(urlPath).includes(".") && !urlPath.startsWith("/assets/");
  return isPage ? (files.get("/index.html") ?? null) : null;
}

export const consoleMissingPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Headroom</title>
<h1>The control plane runs, but its console was not built.</h1>
<p>Build it with <code>npm run build</code> and start again. The API is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
</html>
`;
