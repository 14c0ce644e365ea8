/**
 * A complete control plane in a temporary directory: real journal, real driver, real processes on two declared slots.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import { startControlPlane } from "../../server.ts";
import type { ControlPlaneOptions, RunningControlPlane } from "../../server.ts";

type Init = Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> };

export interface LiveControlPlane extends RunningControlPlane {
  readonly home: string;
  readonly client: HeadroomClient;
  /** Logged warnings and errors. */
  readonly complaints: string[];
  /** `fetch` of a path, with the token unless the options say otherwise. */
  request(path: string, init?: Init): Promise<Response>;
}

export const temporaryHome = (): string => mkdtempSync(path.join(tmpdir(), "headroom-api-"));
export const removeHome = (home: string): void => rmSync(home, { recursive: true, force: true });

export async function startLive(home: string, options: Partial<ControlPlaneOptions> = {}): Promise<LiveControlPlane> {
  const complaints: string[] = [];
  const log = {
    info: () => undefined,
    warn: (message: string) => void complaints.push(message),
    error: (message: string) => void complaints.push(message),
  };
  const local = { slotCount: 2, accelerators: "declared" } as const;
  const onFatal = (error: Error): void => void complaints.push(`fatal: ${error.message}`);
  const running = await startControlPlane({ home, port: 0, local, log, onFatal, ...options });
  const { url, token } = running;
  const authorization = `Bearer ${token}`;
  return {
    ...running,
    home,
    complaints,
    client: createHttpClient({
      baseUrl: url,
      token: token ?? undefined,
      fetch: (target, request) => fetch(target, request as RequestInit),
      newIdempotencyKey: () => crypto.randomUUID(),
    }),
    request: (target, init = {}) => fetch(url + target, { ...init, headers: { authorization, ...init.headers } }),
  };
}

/** Sends raw bytes and collects the answer until the server closes or `isEnough`. */
export function exchange(
  url: string,
  bytes: string | Buffer,
  isEnough = (_text: string): boolean => false,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("utf8");
  socket.on("data", (piece) => {
    text += String(piece);
    if (isEnough(text)) socket.destroy();
  });
  socket.on("close", () => resolve(text));
  socket.on("error", (error) => (text === "" ? reject(error) : resolve(text)));
  socket.write(bytes);
  return promise;
}
