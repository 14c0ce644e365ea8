/** The systems that the benchmark compares: how each is configured for one upstream, started, and reached. */
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled } from "../processes.ts";

export interface TargetSetting {
  /** A folder for the target's configuration and state. */
  readonly directory: string;
  readonly port: number;
  readonly upstreamPort: number;
}

export interface Target {
  readonly name: string;
  readonly description: string;
  /** Headers that the target's clients send. */
  headers(upstreamPort: number): Readonly<Record<string, string>>;
  /** The program to start. Undefined if the target runs already. */
  command(setting: TargetSetting): readonly string[] | undefined;
  /** The target's port, if it runs already. */
  readonly port?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

const none = (): Readonly<Record<string, string>> => ({});

/** A target that is not available on this machine, with instructions for installing it. */
export interface MissingTarget {
  readonly name: string;
  readonly reason: string;
}

export const targetNames = ["direct", "relay", "haproxy", "nginx", "portkey", "headroom", "headroom-governed"] as const;

export interface TargetSources {
  /** Command line of `headroom`: the program and its first arguments. */
  readonly headroom: readonly string[];
  /** Folder in which `npm install @portkey-ai/gateway` was run. */
  readonly portkeyDirectory?: string | undefined;
}

/** Whether `targetOf` knows this name: one of `targetNames`, or `NAME=PORT` with a port from 1 to 65535. */
export function isTargetName(name: string): boolean {
  return (targetNames as readonly string[]).includes(name) || runningTarget(name) !== null;
}

/** The target with this name. `NAME=PORT` is a target that runs already. */
export function targetOf(name: string, sources: TargetSources): Target | MissingTarget {
  const running = runningTarget(name);
  if (running !== null) return running;
  switch (name) {
    case "direct":
      return { name, description: "the mock upstream itself", headers: none, command: () => undefined };
    case "relay":
      return relay;
    case "haproxy":
      return isInstalled("haproxy") ? haproxy : { name, reason: "not installed: apt-get install haproxy" };
    case "nginx":
      return isInstalled("nginx") ? nginx : { name, reason: "not installed: apt-get install nginx-light" };
    case "portkey":
      return portkey(sources.portkeyDirectory);
    case "headroom":
      return headroom(sources.headroom, "open");
    case "headroom-governed":
      return headroom(sources.headroom, "governed");
    default:
      return { name, reason: `no such target: ${targetNames.join(", ")}, or NAME=PORT for one that runs already` };
  }
}

/** The target of `NAME=PORT`; `null` if the text has another form. */
function runningTarget(text: string): Target | null {
  const [, name = "", digits = ""] = /^([A-Za-z0-9._-]+)=(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (port < 1 || port > 65_535) return null;
  return { name, description: `running on port ${port}`, headers: none, port, command: () => undefined };
}

const relay: Target = {
  name: "relay",
  description: "copies bytes and reads none of them: the least that a proxy takes on this machine",
  headers: none,
  command: ({ port, upstreamPort }) => [
    process.execPath,
    fileURLToPath(new URL("../worker.ts", import.meta.url)),
    "relay",
    JSON.stringify({ port, upstreamPort }),
  ],
};

const haproxy: Target = {
  name: "haproxy",
  description: "nbthread 1, option http-no-delay",
  headers: none,
  command({ directory, port, upstreamPort }) {
    const file = path.join(directory, "haproxy.cfg");
    const lines = [
      "global\n  nbthread 1\n  maxconn 4000",
      "defaults\n  mode http\n  option http-keep-alive\n  option http-no-delay\n  http-reuse always",
      "  timeout connect 5s\n  timeout client 5m\n  timeout server 5m",
      `frontend f\n  bind 127.0.0.1:${port}\n  default_backend b`,
      `backend b\n  server u 127.0.0.1:${upstreamPort} maxconn 4000`,
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    return ["haproxy", "-db", "-f", file];
  },
};

const nginx: Target = {
  name: "nginx",
  description: "one worker, proxy_buffering off, upstream keep-alive",
  headers: none,
  command({ directory, port, upstreamPort }) {
    const file = path.join(directory, "nginx.conf");
    const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `  ${name}_temp_path ${directory}/${name};`,
    );
    const lines = [
      `daemon off; master_process off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr crit;`,
      "events { worker_connections 20000; }",
      "http {",
      "  access_log off; keepalive_requests 1000000000; client_max_body_size 200m; client_body_buffer_size 1m;",
      ...temp,
      `  upstream u { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 1000000000; }`,
      `  server { listen 127.0.0.1:${port}; location / {`,
      '    proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;',
      "  } }",
      "}",
    ];
    writeFileSync(file, `${lines.join("\n")}\n`);
    return ["nginx", "-e", "stderr", "-c", file];
  },
};

function portkey(directory: string | undefined): Target | MissingTarget {
  const name = "portkey";
  const start = path.join(directory ?? "", "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (directory === undefined || !existsSync(start)) {
    return { name, reason: "npm install @portkey-ai/gateway in an empty folder and pass it as --portkey FOLDER" };
  }
  return {
    name,
    description: "@portkey-ai/gateway on this Node",
    headers: (upstreamPort) => ({
      Authorization: "Bearer key",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
    }),
    env: { TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost", NODE_ENV: "production" },
    command: ({ port }) => [process.execPath, start, `--port=${port}`, "--headless"],
  };
}

function headroom(program: readonly string[], kind: "open" | "governed"): Target {
  const key = "sk-benchmark-0123456789abcdef";
  const sha256 = createHash("sha256").update(key).digest("hex");
  const teams = `teams:
  - name: bench
    keys: [{ sha256: ${sha256} }]
    requestsPerMinute: 1000000000
    tokensPerMinute: 1000000000000
    budget: 900000000 USD/month
`;
  return {
    name: kind === "open" ? "headroom" : "headroom-governed",
    description:
      kind === "open" ? "pass-through, open access" : "keys, limits, token reservation, prefix hash, metrics, usage",
    headers: () => (kind === "open" ? {} : { Authorization: `Bearer ${key}` }),
    command({ directory, port, upstreamPort }) {
      const file = path.join(directory, "gateway.yaml");
      const text = `listen: 127.0.0.1:${port}
state: ${path.join(directory, "state")}
access: ${kind === "open" ? "open" : "keys"}
${kind === "open" ? "" : teams}pools:
  - name: bench
    routing: ${kind === "open" ? "least-requests" : "prefix"}
    concurrencyMax: 20000
    replicas: [{ id: a, url: "http://127.0.0.1:${upstreamPort}" }, { id: b, url: "http://127.0.0.1:${upstreamPort}" }]
models:
  - name: bench
    pools: [bench]
    price: { input: 1, output: 2 }
`;
      writeFileSync(file, text);
      return [...program, "gateway", "--config", file];
    },
  };
}
