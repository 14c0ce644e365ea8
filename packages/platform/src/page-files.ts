/** Built files of web pages, read once at start. Only these are served, and no path of a request reaches the disk. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";

export interface PageFile {
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

/** Maximum size of a build in bytes. A larger build contains something unexpected. */
const FILES_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Content security policy: scripts, styles and requests only from and to this server, and no embedding in frames. The
 * editor and the charts set styles by script only.
 */
const securityPolicy = [
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

export const pageHeaders = {
  "content-security-policy": securityPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

/** The built files by URL path; empty if the folder does not have the page. */
export function loadPageFiles(directory: string, page: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  if (!existsSync(path.join(directory, page))) return files;
  let total = 0;
  for (const entry of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const file = path.join(directory, entry);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    total += bytes.length;
    if (total > FILES_BYTES_MAX) throw new Error(`${directory} is too large to be a build of pages`);
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
