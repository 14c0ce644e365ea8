/** A control plane with declared executors, as a process of its own that can be killed. For tests. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const program = path.resolve(import.meta.dirname, "../../../cli/src/main.ts");
const START_TIMEOUT_MS = 120_000;
const POLL_MS = 200;

interface Answer {
  readonly workloadId: string;
  readonly phase: string;
}

interface WorkloadAnswer {
  readonly attempts: readonly { readonly workers: readonly { readonly node: string }[] }[];
}

interface ExecutorsAnswer {
  readonly items: readonly { readonly name: string; readonly phase: string }[];
}

interface ListedNode {
  readonly pool: string;
  readonly foreignUse?: { readonly accelerators: string };
}

export interface ListedOrder {
  readonly name: string;
  readonly pool: string;
  readonly phase: string;
  readonly nodeCount: number;
  readonly joinedCount: number;
}

/** An executor as in `executors.yaml`. */
export interface TestExecutor {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly settings: object;
}

export class ControlPlaneProcess {
  readonly home: string;
  readonly #port: number;
  readonly #executors: readonly string[];
  #child: ChildProcess | null = null;

  /** `root`: the state directory is made there. */
  constructor(root: string, port: number, executors: readonly TestExecutor[]) {
    this.home = path.join(root, "home");
    this.#port = port;
    this.#executors = executors.map(({ name }) => name);
    mkdirSync(this.home, { mode: 0o700 });
    const documents = executors.map((executor) => JSON.stringify({ kind: "executor", ...executor }));
    writeFileSync(path.join(this.home, "executors.yaml"), documents.join("\n---\n"), { mode: 0o600 });
  }

  /** Resolves when the API answers. */
  async start(): Promise<void> {
    const { PATH, HOME } = process.env;
    const args = ["up", "--no-console", "--port", String(this.#port), "--slots", "0"];
    this.#child = spawn(process.execPath, [program, ...args], {
      cwd: this.home,
      env: { PATH, HOME, HEADROOM_HOME: this.home },
      stdio: ["ignore", openSync(path.join(this.home, "up.log"), "a", 0o600), "inherit"],
    });
    await this.#until("the control plane", async () => (await this.#get("/v1/workloads")).ok);
  }

  /** Resolves when the executors have reported their nodes. */
  hasNodes(count: number): Promise<void> {
    return this.#until("the nodes", async () => (await this.nodes()).length === count);
  }

  /** Resolves when the control plane has contact with the executor. */
  hasReachable(name: string): Promise<void> {
    return this.#until(`contact with ${name}`, async () => {
      const { items } = (await (await this.#get("/v1/executors")).json()) as ExecutorsAnswer;
      return items.some((each) => each.name === name && each.phase === "reachable");
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** `user`: the submitter. Absent: the holder of the token. */
  async submit(workload: object, user?: string): Promise<string> {
    const body = JSON.stringify(workload);
    const headers = user === undefined ? {} : { "headroom-user": user };
    const answer = await this.#fetch("/v1/workloads", { method: "POST", body, headers });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as Answer).workloadId;
  }

  /** Applies declared documents, as `headroom apply` sends them. */
  async apply(documents: object): Promise<void> {
    const answer = await this.#fetch("/v1/apply", { method: "POST", body: JSON.stringify(documents) });
    if (!answer.ok) throw new Error(await answer.text());
  }

  async orders(): Promise<readonly ListedOrder[]> {
    const answer = (await (await this.#get("/v1/capacity-orders?limit=100")).json()) as {
      items: readonly ListedOrder[];
    };
    return answer.items;
  }

  /** `unknown` while the control plane does not answer. */
  async phaseOf(id: string): Promise<string> {
    try {
      return ((await (await this.#get(`/v1/workloads/${id}`)).json()) as Answer).phase;
    } catch {
      return "unknown";
    }
  }

  async stop(id: string): Promise<void> {
    const answer = await this.#fetch(`/v1/workloads/${id}/stop`, { method: "POST", body: "{}" });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** A workload as the API describes it, as JSON. */
  async describe(id: string): Promise<string> {
    return await (await this.#get(`/v1/workloads/${id}`)).text();
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async put(url: string, body: object): Promise<void> {
    const answer = await this.#fetch(url, { method: "PUT", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** The answer to a query, as text. */
  async text(url: string): Promise<string> {
    return await (await this.#get(url)).text();
  }

  async logs(id: string): Promise<string> {
    return await (await this.#get(`/v1/workloads/${id}/logs`)).text();
  }

  async ended(id: string, timeoutMs: number): Promise<string> {
    let phase = "unknown";
    await this.#until(
      `the end of ${id}`,
      async () => {
        phase = await this.phaseOf(id);
        return ["succeeded", "failed", "stopped", "cancelled"].includes(phase);
      },
      timeoutMs,
    );
    return phase;
  }

  hasPhase(id: string, phase: string): Promise<void> {
    return this.#until(`${id} is ${phase}`, async () => (await this.phaseOf(id)) === phase);
  }

  async attemptCountOf(id: string): Promise<number> {
    return ((await (await this.#get(`/v1/workloads/${id}`)).json()) as WorkloadAnswer).attempts.length;
  }

  /** Nodes on which the newest attempt of a workload runs. */
  async nodesOf(id: string): Promise<readonly string[]> {
    const answer = (await (await this.#get(`/v1/workloads/${id}`)).json()) as WorkloadAnswer;
    return answer.attempts.at(-1)?.workers.map(({ node }) => node) ?? [];
  }

  /** Sentence that says why a workload waits. */
  async why(id: string): Promise<string> {
    return JSON.stringify(await (await this.#get(`/v1/workloads/${id}/verdict`)).json());
  }

  /** Nodes of the executors. */
  async nodes(): Promise<readonly ListedNode[]> {
    const { items } = (await (await this.#get("/v1/nodes")).json()) as { readonly items: readonly ListedNode[] };
    return items.filter(({ pool }) => this.#executors.some((name) => pool === name || pool.startsWith(`${name}-`)));
  }

  #get(url: string): Promise<Response> {
    return this.#fetch(url, {});
  }

  #fetch(url: string, init: RequestInit): Promise<Response> {
    const token = readFileSync(path.join(this.home, "token"), "utf8").trim();
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(init.headers as Readonly<Record<string, string>> | undefined),
    };
    const signal = AbortSignal.timeout(10_000);
    return fetch(`http://127.0.0.1:${this.#port}${url}`, { ...init, headers, signal });
  }

  async #until(what: string, isSo: () => Promise<boolean>, timeoutMs = START_TIMEOUT_MS): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (!(await isSo().catch(() => false))) {
      if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
