/** The console's files, read once at start. Only built files are served, and no path of a request reaches the disk. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";

export interface ConsoleFile {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly etag: string;
  readonly cacheControl: string;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/** Maximum size of the console's build in bytes. A larger build contains something unexpected. */
const CONSOLE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Content security policy: scripts, styles and requests only from and to this server, and no embedding in frames. The
 * editor and the charts set styles by script only.
 */
export const consoleSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The built files by URL path; empty if there is no build. */
export function loadConsole(directory: string | null): ReadonlyMap<string, ConsoleFile> {
  const files = new Map<string, ConsoleFile>();
  if (directory === null || !existsSync(path.join(directory, "index.html"))) return files;
  let total = 0;
  for (const entry of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const file = path.join(directory, entry);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    total += bytes.length;
    if (total > CONSOLE_BYTES_MAX) throw new Error(`${directory} is too large to be a console`);
    const urlPath = `/${entry.split(path.sep).join("/")}`;
    files.set(urlPath, {
      bytes,
      contentType: contentTypes[path.extname(entry)] ?? "application/octet-stream",
      etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
      // Vite puts a content hash into the names below assets/.
      cacheControl: urlPath.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    });
  }
  return files;
}

/** The file for a path. For every other path without a file extension, the console's page. */
export function consoleFile(files: ReadonlyMap<string, ConsoleFile>, urlPath: string): ConsoleFile | null {
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
