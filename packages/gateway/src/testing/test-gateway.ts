/** A gateway in the test's own process, with its state in a temporary folder. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadConfig } from "../config/load.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { KeyAdmin } from "../gateway/admin-keys.ts";
import { startGateway, type RunningGateway } from "../gateway/start.ts";

export interface TestGateway extends RunningGateway {
  readonly state: string;
  readonly logged: readonly string[];
  reload(yaml: string): Promise<void>;
  /** A request to the admin address, with its token; with a body, a POST. */
  admin(path: string, body?: object): Promise<Response>;
  stop(): Promise<void>;
}

/**
 * `yaml` is the configuration without addresses and state folder. With `shared`, the gateway uses the state folder of
 * another gateway and does not remove it.
 */
export async function testGateway(yaml: string, shared?: string, keys?: KeyAdmin): Promise<TestGateway> {
  const state = shared ?? mkdtempSync(path.join(tmpdir(), "headroom-gateway-"));
  const logged: string[] = [];
  const gateway = await startGateway(configOf(yaml, state), {
    log: (line) => logged.push(line),
    ...(keys === undefined ? {} : { keys }),
  });
  return {
    ...gateway,
    state,
    logged,
    admin: (at, body) =>
      fetch(`${gateway.adminUrl!}${at}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${gateway.adminToken}`, "x-headroom-admin": "1" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    reload: (next) => gateway.apply(configOf(next, state)),
    async stop() {
      await gateway.close();
      if (shared === undefined) rmSync(state, { recursive: true });
    },
  };
}

function configOf(yaml: string, state: string): GatewayConfig {
  const loaded = loadConfig(
    `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: ${state}\n${yaml.includes("bounds:") ? "" : "bounds: { shutdownTimeout: 2s }\n"}${yaml}`,
  );
  if ("config" in loaded) return loaded.config;
  throw new Error(loaded.problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join("\n"));
}

export function chat(url: string, body: object, key = "", signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "one two three" }], ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}
