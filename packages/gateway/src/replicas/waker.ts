/** Pools that are scaled to zero. Requests wait in a queue of limited length while one command starts a replica. */
import { spawn, type ChildProcess } from "node:child_process";
import { upstreamUrl } from "../config/quantities.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Pool } from "./pool.ts";
import { Replica } from "./replica.ts";

export type Ready = (error: ApiError | undefined) => void;

interface Waking {
  readonly held: Map<Ready, number>;
  heldBytes: number;
  child: ChildProcess | undefined;
  deadlineAtMs: number;
}

/** Number of held requests that are sent together. A server that has just started has a short accept queue. */
const RELEASED_AT_ONCE = 32;
const RELEASE_EVERY_MS = 5;
const OUTPUT_BYTES_MAX = 65_536;
/** Wait in ms between a failed command and the next one. Each further failure doubles it, up to the maximum. */
const COOL_DOWN_MS = 1000;
const COOL_DOWN_MS_MAX = 60_000;
/** Time in ms between SIGTERM and SIGKILL for a command that did not succeed in time. */
const KILL_AFTER_MS = 10_000;

export class Waker {
  readonly #now: () => number;
  readonly #log: (line: string) => void;
  readonly #waking = new Map<Pool, Waking>();
  readonly #failed = new WeakMap<Pool, { readonly untilMs: number; readonly waitMs: number }>();

  constructor(now: () => number, log: (line: string) => void) {
    this.#now = now;
    this.#log = log;
  }

  get heldCount(): number {
    let count = 0;
    for (const { held } of this.#waking.values()) count += held.size;
    return count;
  }

  isWaking(pool: Pool): boolean {
    return this.#waking.has(pool);
  }

  /** See `Runtime.wake`. */
  wake(pool: Pool, bytes: number | undefined, ready: Ready): (() => void) | undefined {
    const { wake } = pool.config;
    if (wake === undefined) return undefined;
    if (!this.#waking.has(pool) && this.#now() < (this.#failed.get(pool)?.untilMs ?? 0)) return undefined;
    const waking = this.#waking.get(pool) ?? this.#begin(pool, wake);
    if (bytes === undefined) return undefined;
    if (waking.held.size >= wake.holdRequestsMax || waking.heldBytes + bytes > wake.holdBytesMax) return undefined;
    waking.held.set(ready, bytes);
    waking.heldBytes += bytes;
    return () => {
      if (waking.held.delete(ready)) waking.heldBytes -= bytes;
    };
  }

  /** Checks a waking pool. Called when a replica's health changed, and about once a second. */
  check(pool: Pool): void {
    const waking = this.#waking.get(pool);
    if (waking === undefined) return;
    if (pool.hasAvailable(this.#now())) this.#release(pool, waking);
    else if (this.#now() > waking.deadlineAtMs) {
      stop(waking.child);
      this.#ended(pool, waking, { told: "no replica became ready in time" });
    }
  }

  sweep(): void {
    for (const pool of this.#waking.keys()) this.check(pool);
  }

  close(): void {
    for (const [pool, waking] of this.#waking) this.#fail(pool, waking, "the gateway is stopping");
  }

  #begin(pool: Pool, wake: NonNullable<Pool["config"]["wake"]>): Waking {
    const waking: Waking = {
      held: new Map(),
      heldBytes: 0,
      child: undefined,
      deadlineAtMs: this.#now() + wake.timeout,
    };
    this.#waking.set(pool, waking);
    const [program, ...args] = wake.command;
    const child = spawn(program!, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, HEADROOM_POOL: pool.name },
    });
    waking.child = child;
    let output = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      output = (output + text).slice(-OUTPUT_BYTES_MAX);
      const lines = output.split("\n");
      output = lines.pop() ?? "";
      for (const line of lines) this.#discover(pool, line.trim());
    });
    child.once("error", ({ message }) =>
      this.#ended(pool, waking, { told: "its command could not be run", detail: message }),
    );
    child.once("exit", (code, signal) => {
      const detail = `the wake command ended with ${signal ?? `code ${code}`}`;
      if (code !== 0) this.#ended(pool, waking, { told: "its command failed", detail });
    });
    return waking;
  }

  /** Every line that is a URL adds a replica. */
  #discover(pool: Pool, line: string): void {
    if (!/^https?:\/\//.test(line)) return;
    const url = upstreamUrl.safeParse(line);
    if (!url.success) {
      this.#log(`pool ${pool.name}: the wake command printed a URL that cannot be used: ${line}`);
      return;
    }
    const replica = new Replica({ url: url.data }, pool.config);
    if (pool.replicas.has(replica.id)) return;
    // An address that an earlier wake found is removed, so that the new one fits.
    const stale = [...pool.replicas.values()].find(
      (each) => each.isDiscovered && each.requestCount === 0 && !each.isAvailable(this.#now()),
    );
    if (pool.replicas.size >= pool.capacity && stale !== undefined) pool.remove(stale);
    if (pool.replicas.size >= pool.capacity) {
      this.#log(`pool ${pool.name}: there is no room for the replica that the wake command printed: ${line}`);
      return;
    }
    replica.isDiscovered = true;
    pool.add(replica);
  }

  /** `told`: for clients; `detail`, which can hold a path, only for the operator. */
  #ended(
    pool: Pool,
    waking: Waking,
    { told, detail = told }: { readonly told: string; readonly detail?: string },
  ): void {
    if (this.#waking.get(pool) !== waking) return;
    this.#log(`pool ${pool.name}: ${detail}`);
    const waitMs = Math.min(COOL_DOWN_MS_MAX, 2 * (this.#failed.get(pool)?.waitMs ?? COOL_DOWN_MS / 2));
    this.#failed.set(pool, { untilMs: this.#now() + waitMs, waitMs });
    this.#fail(pool, waking, told);
  }

  #fail(pool: Pool, waking: Waking, told: string): void {
    this.#waking.delete(pool);
    const error: ApiError = {
      kind: "overloaded",
      message: `The model could not be started: ${told}.`,
      retryAfterMs: 5000,
    };
    for (const ready of waking.held.keys()) ready(error);
    waking.held.clear();
  }

  #release(pool: Pool, waking: Waking): void {
    this.#waking.delete(pool);
    this.#failed.delete(pool);
    const portion = (): void => {
      let count = 0;
      for (const ready of waking.held.keys()) {
        if (count === RELEASED_AT_ONCE) break;
        count++;
        waking.held.delete(ready);
        ready(undefined);
      }
      if (waking.held.size > 0) setTimeout(portion, RELEASE_EVERY_MS);
    };
    portion();
  }
}

/** Ends a command that is still running. */
function stop(child: ChildProcess | undefined): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  timer.unref();
  child.once("exit", () => clearTimeout(timer));
}
