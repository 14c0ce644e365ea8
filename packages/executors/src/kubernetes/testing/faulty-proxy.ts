/**
 * A proxy in front of an API server whose answers are sometimes wrong, as those of an overloaded server, of a load balancer, or of a network
 * that fails: empty, cut off, late, refused, contradictory, or lost after the call took effect. The kind is drawn at each call.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { drawsOf } from "../../conformance/draws.ts";
import { freePorts } from "./kube-cluster.ts";

const FAULTS = ["empty", "cut", "late", "refused", "lost", "halved", "denied", "html"] as const;
const LATE_MS = 1_500;

export class FaultyProxy {
  readonly url: string;
  readonly #target: URL;
  readonly #server: Server;
  readonly #draw: () => number;
  readonly #agent = new Agent({ rejectUnauthorized: false, keepAlive: true });
  /** Share of calls with a fault. */
  share = 0;
  readonly counts = new Map<string, number>();

  private constructor(target: string, port: number, seed: number) {
    this.#target = new URL(target);
    this.url = `http://127.0.0.1:${port}`;
    this.#draw = drawsOf(seed);
    this.#server = createServer((request, response) => this.#serve(request, response));
    this.#server.listen(port, "127.0.0.1");
  }

  static async start(target: string, seed: number): Promise<FaultyProxy> {
    const [port = 0] = await freePorts(1);
    const proxy = new FaultyProxy(target, port, seed);
    await new Promise((resolve) => proxy.#server.once("listening", () => resolve(undefined)));
    return proxy;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const fault = this.#draw() < this.share ? FAULTS[Math.floor(this.#draw() * FAULTS.length)] : undefined;
    if (fault !== undefined) this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    if (fault === "late") setTimeout(() => this.#forward(request, response, undefined), LATE_MS);
    else if (fault === "empty") response.writeHead(200, { "content-type": "application/json" }).end();
    else if (fault === "html") response.writeHead(200, { "content-type": "text/html" }).end("<html>maintenance</html>");
    else if (fault === "refused") response.writeHead(503).end("upstream connect error");
    else if (fault === "denied" && request.method === "GET") {
      const status = {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "NotFound",
        code: 404,
        message: "not found",
      };
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify(status));
    } else this.#forward(request, response, fault);
  }

  #forward(request: IncomingMessage, response: ServerResponse, fault: string | undefined): void {
    const { host: _host, ...headers } = request.headers;
    const { hostname, port } = this.#target;
    const options = { hostname, port, path: request.url, method: request.method, headers, agent: this.#agent };
    const call = httpsRequest(options, (answer) => {
      if (fault === "lost") {
        answer.resume();
        answer.once("end", () => response.destroy());
      } else if (fault === "cut" || fault === "halved") void this.#spoil(answer, response, fault);
      else {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
        answer.once("error", () => response.destroy());
        answer.once("aborted", () => response.destroy());
      }
    });
    call.once("error", () => response.destroy());
    response.once("close", () => call.destroy());
    request.pipe(call);
  }

  /** Sends a part of the answer: of a watch or a log its first piece, of a list every other member. */
  async #spoil(answer: IncomingMessage, response: ServerResponse, fault: "cut" | "halved"): Promise<void> {
    try {
      const pieces: Buffer[] = [];
      for await (const piece of answer as AsyncIterable<Buffer>) {
        pieces.push(piece);
        if (answer.headers["transfer-encoding"] === "chunked" && fault === "cut") break;
      }
      const whole = Buffer.concat(pieces);
      const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = answer.headers;
      const status = answer.statusCode ?? 502;
      if (fault === "cut") {
        response.writeHead(status, { ...headers, "content-length": whole.length + 1 });
        response.write(whole.subarray(0, Math.floor(whole.length * this.#draw())), () => response.destroy());
      } else response.writeHead(status, headers).end(halved(whole.toString("utf8")));
    } catch {
      response.destroy();
    }
  }
}

function halved(text: string): string {
  try {
    const list = JSON.parse(text) as { readonly items?: readonly unknown[] };
    return list.items === undefined
      ? text
      : JSON.stringify({ ...list, items: list.items.filter((_, at) => at % 2 === 1) });
  } catch {
    return text;
  }
}
