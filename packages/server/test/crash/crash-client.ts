/**
 * The client of the crash tests. It keeps a control plane loaded, remembers acknowledgements, and after each crash
 * retries unanswered commands under the same idempotency keys.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { draw, workloadId } from "@headroom/model";
import type { Reply } from "@headroom/model";
import type { CommandRequest } from "../../src/driver/driver.ts";
import { submit, testSpec } from "../../src/driver/testing/requests.ts";
import type { ControlPlaneLine, ControlPlaneOptions } from "./messages.ts";

const script = new URL("control-plane.ts", import.meta.url).pathname;

/** Acknowledgements over all runs of one control plane. */
export class Ledger {
  /** Workload id by idempotency key, as first acknowledged. */
  readonly submitted = new Map<string, string>();
  /** Workloads whose stop was acknowledged. */
  readonly stopped = new Set<string>();
  readonly ended = new Set<string>();
  /** Sequence of the newest event up to which ended workloads are known. */
  endedSequence = 0;
  readonly violations: string[] = [];
  #nextKey = 1;
  readonly unanswered = new Map<string, CommandRequest>();

  readonly #holding = new Set<string>();

  /** Workloads that run until they are stopped and have not been stopped yet. */
  holds(id: string): boolean {
    return this.#holding.has(id) && !this.stopped.has(id);
  }

  newKey(): string {
    return `key-${this.#nextKey++}`;
  }

  answered(key: string, request: CommandRequest, reply: Reply): void {
    this.unanswered.delete(key);
    if (reply.kind === "rejected") {
      // A workload may end between the choice to stop it and the stop.
      if (reply.rejection.code !== "workloadEnded")
        this.violations.push(`${key} was rejected: ${JSON.stringify(reply)}`);
      return;
    }
    if (reply.result.kind === "workloadSubmitted") {
      const before = this.submitted.get(key);
      if (before !== undefined && before !== reply.result.workloadId)
        this.violations.push(`${key} was answered ${before}, then ${reply.result.workloadId}`);
      this.submitted.set(key, reply.result.workloadId);
      if (request.kind === "submitWorkload" && request.spec.run === "hold") this.#holding.add(reply.result.workloadId);
    } else if (request.kind === "stopWorkload") this.stopped.add(request.workloadId);
  }
}

/** Command of a real worker: appends a line to a file of the current home and runs for a moment. */
const marksStart = (seconds: number): string =>
  `echo "$HEADROOM_WORKER_ID $$" >> "\${HEADROOM_CHECKPOINT_DIR%/checkpoints/*}/starts"; sleep ${seconds}`;
export const markStart = marksStart(0.05);

/** Options of one run. `eventsFrom` is missing here, because the ledger gives it. */
export type CrashOptions = Omit<ControlPlaneOptions, "eventsFrom">;

export interface Load {
  readonly seed: number;
  /** Number of commands kept in flight. */
  readonly inFlight: number;
  /** Maximum number of workloads that have not ended, so that a run of seconds can finish. */
  readonly openMax: number;
  readonly run: string;
  readonly env: Readonly<Record<string, string>>;
  /** Every n-th workload is elastic, can be preempted by the others, and is long enough to grow and shrink; 0: none. */
  readonly elasticOneIn: number;
  /** Every n-th workload holds its slot until it is stopped; 0: none. */
  readonly holdOneIn: number;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The fault point at which the process killed itself. */
  readonly killedAt: string | null;
  readonly fatal: string | null;
}

export class ControlPlaneProcess {
  readonly child: ChildProcess;
  readonly #ledger: Ledger;
  readonly #load: Load;
  readonly #inFlight = new Map<number, string>();
  #nextId = 1;
  #isLoading = false;
  #replyCount = 0;
  #whenReplies: { count: number; act: () => void } | null = null;
  #whenEnded: (() => void) | null = null;
  /** Resolves when the process has ended, with the reason for the end. */
  readonly end: Promise<ProcessEnd>;
  readonly ready: Promise<number>;
  fatal: string | null = null;

  constructor(options: CrashOptions, ledger: Ledger, load: Load, wrapper: readonly string[] = []) {
    this.#ledger = ledger;
    this.#load = load;
    const [command, ...rest] = [
      ...wrapper,
      process.execPath,
      script,
      JSON.stringify({ ...options, eventsFrom: ledger.endedSequence + 1 }),
    ];
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, UV_USE_IO_URING: "0" };
    this.child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"], env });
    this.child.stdin?.on("error", () => undefined);
    let killing: string | null = null;
    const ready = Promise.withResolvers<number>();
    ready.promise.catch(() => undefined);
    this.ready = ready.promise;
    const { stdout } = this.child;
    if (stdout === null) throw new Error("no pipe");
    const lines = createInterface({ input: stdout });
    lines.on("line", (text) => {
      const line = JSON.parse(text) as ControlPlaneLine;
      if (line.kind === "ready") ready.resolve(line.sequence);
      else if (line.kind === "reply") this.#replied(line.id, line.reply);
      else if (line.kind === "killing") killing = line.point;
      else if (line.kind === "fatal") this.fatal = line.message;
      else if (line.kind === "ended") {
        this.#ledger.ended.add(line.workloadId);
        this.#ledger.endedSequence = line.sequence;
        this.#whenEnded?.();
        this.#fill();
      }
    });
    this.end = Promise.all([once(this.child, "exit"), once(lines, "close")]).then(([[code, signal]]) => {
      ready.reject(new Error(`the control plane ended before it was ready: ${this.fatal}`));
      return { code: code as number | null, signal: signal as string | null, killedAt: killing, fatal: this.fatal };
    });
  }

  /** Retries unanswered commands, then keeps new commands in flight. */
  startLoad(): void {
    this.#isLoading = true;
    this.retryUnanswered();
    this.#fill();
  }

  stopLoad(): void {
    this.#isLoading = false;
  }

  /** Calls `act` after this number of replies in this run. */
  afterReplies(count: number, act: () => void): void {
    this.#whenReplies = { count, act };
  }

  /**
   * Resolves when every command is answered and all acknowledged work has ended; work that runs for ever is stopped.
   */
  async allEnded(): Promise<void> {
    for (;;) {
      if (this.#inFlight.size === 0) {
        const open = this.#open();
        if (open.length === 0) return;
        for (const id of open.filter((each) => this.#ledger.holds(each))) this.#send(this.#ledger.newKey(), stop(id));
      }
      if (this.child.exitCode !== null) throw new Error(`the control plane ended: ${this.fatal}`);
      await new Promise<void>((resolve) => {
        this.#whenEnded = resolve;
      });
    }
  }

  close(): void {
    this.child.stdin?.write(`${JSON.stringify({ kind: "close" })}\n`);
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }

  /** Retries unanswered commands only. */
  retryUnanswered(): void {
    for (const [key, request] of this.#ledger.unanswered) this.#send(key, request);
  }

  #open(): string[] {
    return [...this.#ledger.submitted.values()].filter((id) => !this.#ledger.ended.has(id));
  }

  #replied(id: number, reply: Reply): void {
    const key = this.#inFlight.get(id);
    this.#inFlight.delete(id);
    const request = key === undefined ? undefined : this.#ledger.unanswered.get(key);
    if (key !== undefined && request !== undefined) this.#ledger.answered(key, request, reply);
    this.#replyCount++;
    if (this.#whenReplies?.count === this.#replyCount) this.#whenReplies.act();
    this.#whenEnded?.();
    this.#fill();
  }

  #fill(): void {
    const { inFlight, openMax } = this.#load;
    while (this.#isLoading && this.#inFlight.size < inFlight && this.#open().length + this.#inFlight.size < openMax) {
      const key = this.#ledger.newKey();
      this.#send(key, this.#next(key));
    }
    // The queue is full. Its work may hold every slot and never end by itself.
    const held = this.#inFlight.size > 0 ? undefined : this.#open().find((id) => this.#ledger.holds(id));
    if (this.#isLoading && held !== undefined) this.#send(this.#ledger.newKey(), stop(held));
  }

  #send(key: string, request: CommandRequest): void {
    const id = this.#nextId++;
    this.#ledger.unanswered.set(key, request);
    this.#inFlight.set(id, key);
    this.child.stdin?.write(`${JSON.stringify({ kind: "command", id, request })}\n`);
  }

  #next(key: string): CommandRequest {
    const { seed, run, env, holdOneIn, elasticOneIn } = this.#load;
    const roll = draw(seed, Number(key.slice(4)), "command");
    const known = this.#open();
    if (roll % 8 === 0 && known.length > 0)
      return { ...stop(known[(roll >>> 3) % known.length] ?? ""), idempotencyKey: key };
    const holds = holdOneIn > 0 && (roll >>> 3) % holdOneIn === 0;
    if (elasticOneIn > 0 && (roll >>> 6) % elasticOneIn === 0)
      return submit(testSpec(key, { ...elastic, run: marksStart(0.3), env }), key);
    return submit(testSpec(key, { run: holds ? "hold" : run, env }), key);
  }
}

/** Ordinary work has a higher priority, and so can preempt the workers by which elastic gangs have grown. */
const elastic: Parameters<typeof testSpec>[1] = {
  gang: { workers: 4, minWorkers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
  priority: -100,
};

function stop(id: string): CommandRequest {
  return { kind: "stopWorkload", actor: "test", idempotencyKey: null, workloadId: workloadId(id) };
}
