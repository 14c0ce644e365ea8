/** A real control plane in its own process and directory, on this machine with declared slots. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, HttpRequest, WorkloadSpecInput } from "@headroom/protocol";

const main = path.resolve(import.meta.dirname, "..", "..", "cli", "src", "main.ts");

export interface ControlPlane {
  readonly url: string;
  /** A client of the API that works without the console. */
  readonly client: HeadroomClient;
  /** Link that signs in one browser. */
  readonly loginUrl: string;
  /** Submits many workloads at once, in the way of `headroom apply`. */
  apply(workloads: readonly WorkloadSpecInput[]): Promise<void>;
  /** Stops all active work and waits until nothing runs, so that a failed test also leaves no processes behind. */
  stopWork(): Promise<void>;
  /** Ends the control plane. Its work keeps running. */
  stop(): Promise<void>;
}

export function newHome(): string {
  return mkdtempSync(path.join(tmpdir(), "headroom-console-"));
}

export function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/**
 * A port that stays free while the control plane restarts. The system assigns ports from 32768 up to outgoing
 * connections (ip(7)), so a browser's connection attempt could take one of them.
 */
export async function lastingPort(): Promise<number> {
  let port = 10_000 + (process.pid % 10_000);
  while (!(await isFree(port))) port++;
  return port;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

interface FleetOptions {
  /**
   * A folder that comes first on the PATH. If it is set, accelerators are detected by its tools instead of being
   * declared.
   */
  readonly tools?: string;
  /** Further options of `headroom up`. */
  readonly options?: readonly string[];
}

export async function startControlPlane(
  home: string,
  port = 0,
  { tools, options = [] }: FleetOptions = {},
): Promise<ControlPlane> {
  const { PATH, HOME } = process.env;
  const slots = tools === undefined ? ["--slots", "4"] : [];
  const child = spawn(process.execPath, [main, "up", "--port", String(port), ...slots, ...options], {
    cwd: home,
    env: { PATH: tools === undefined ? PATH : `${tools}:${PATH}`, HOME, HEADROOM_HOME: home, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const [, loginUrl = ""] = await said(child, /(http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+)/);
  const url = new URL(loginUrl).origin;
  const token = readFileSync(path.join(home, "token"), "utf8").trim();
  const client = createHttpClient({
    baseUrl: url,
    token,
    fetch: (address: string, request: HttpRequest) => fetch(address, request as RequestInit),
  });
  return {
    url,
    client,
    loginUrl,
    apply: async (workloads) => void (await client.apply({ workloads: [...workloads] })),
    stopWork: () => stopWork(client),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGINT");
      await ended;
    },
  };
}

async function stopWork(client: HeadroomClient): Promise<void> {
  const { sequence, activeAttempts } = await client.status();
  const stopRunning = async (): Promise<void> => {
    const { items } = await client.listWorkloads({ phase: "running", limit: 500 });
    await Promise.all(items.map(({ id }) => client.stopWorkload(id)));
  };
  await stopRunning();
  if (activeAttempts === 0) return;
  for await (const { event } of client.events({ from: sequence + 1 })) {
    // When work stops, waiting work starts on the freed capacity and must also be stopped.
    if (event.kind === "attemptStarted") await stopRunning();
    if (event.kind === "attemptEnded" && (await client.status()).activeAttempts === 0) return;
  }
}

/** Waits for a line of the program's output. */
export function said(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let output = "";
  return new Promise((resolve, reject) => {
    const take = (text: Buffer): void => {
      output += text.toString("utf8");
      const found = pattern.exec(output);
      if (found !== null) resolve(found);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", take);
    child.once("error", reject);
    child.once("close", () => reject(new Error(`the program ended:\n${output}`)));
  });
}
