/**
 * The page of the gateway, from the built console. Its files hold no data of the gateway and need no token; the page
 * asks for the token and sends it with each request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { loadPageFiles, pageHeaders, type PageFile } from "@headroom/platform";

const PAGE = "gateway.html";

/** Answers a request for a file of the page. Returns false for every other request. */
export type PageAnswer = (request: IncomingMessage, path: string, response: ServerResponse) => boolean;

export function pageAnswers(directory: string | undefined): PageAnswer {
  const files = directory === undefined ? new Map<string, PageFile>() : loadPageFiles(directory, PAGE);
  return ({ method, headers }, path, response) => {
    if (method !== "GET") return false;
    const file = files.get(path === "/" ? `/${PAGE}` : path);
    if (file === undefined) {
      if (path !== "/") return false;
      const head = { ...pageHeaders, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
      response.writeHead(200, head).end("The gateway runs, but its page was not built: npm run build\n");
      return true;
    }
    const head = { ...pageHeaders, etag: file.etag, "cache-control": file.cacheControl };
    if (headers["if-none-match"] === file.etag) response.writeHead(304, head).end();
    else response.writeHead(200, { ...head, "content-type": file.contentType }).end(file.bytes);
    return true;
  };
}
