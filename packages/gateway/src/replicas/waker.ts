/** Pools that are scaled to zero. Requests wait in a queue of limited length while one command starts a replica. */
import { spawn, type ChildProcess } from "node:child_process";
import { upstreamUrl } from "../config/quantities.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Pool } from "./pool.ts";
import { Replica } from "./replica.ts";
import { WakeTurn, type WakeOutcome } from "./wake-turn.ts";

export type Ready = (error: ApiError | undefined) => void;

interface Waking {
  /** Undefined: the control plane starts the replica. */
  readonly turn: WakeTurn | undefined;
  readonly held: Map<Ready, number>;
  heldBytes: number;
  /** The command, while this gateway runs it. Undefined while another gateway on this machine does. */
  child: ChildProcess | undefined;
  startedAtMs: number;
  deadlineAtMs: number;
  /** Addresses that the command has printed. */
  urls: string[];
}

export interface WakerOptions {
  /** The state folder that the gateways of this machine share. */
  readonly directory: string;
  now(): number;
  log(line: string): void;
  /** Requests of a pool without a command begin to wait: the control plane has to learn of them. */
  waits?(): void;
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
/** Weight of the newest wake in the running mean of durations. */
const DURATION_WEIGHT = 0.5;
const RETRY_MS = 1000;
/** `Retry-After` while a pool wakes for the first time, so that nothing is known of the duration. */
const UNKNOWN_RETRY_MS = 5000;
/**
 * Time in ms after a wake by another gateway during which no command is run: this gateway's own probes need a moment to
 * find the replica.
 */
const PROBED_WITHIN_MS = 5000;

/** Variables that programs need to run at all. Secrets of the gateway are not for the command. */
const inheritedNames = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

export class Waker {
  readonly #directory: string;
  readonly #now: () => number;
  readonly #log: (line: string) => void;
  readonly #waits: () => void;
  /** Mean duration of the wakes of a pool in ms. */
  readonly #durations = new Map<string, number>();
  readonly #waking = new Map<Pool, Waking>();
  readonly #failed = new WeakMap<Pool, { readonly untilMs: number; readonly waitMs: number }>();

  constructor(options: WakerOptions) {
    this.#directory = options.directory;
    this.#now = () => options.now();
    this.#log = (line) => options.log(line);
    this.#waits = () => options.waits?.();
  }

  get heldCount(): number {
    let count = 0;
    for (const { held } of this.#waking.values()) count += held.size;
    return count;
  }

  heldIn(pool: Pool): number {
    return this.#waking.get(pool)?.held.size ?? 0;
  }

  isWaking(pool: Pool): boolean {
    return this.#waking.has(pool);
  }

  /** See `Runtime.wake`. */
  wake(pool: Pool, bytes: number | undefined, ready: Ready): (() => void) | undefined {
    const { wake } = pool;
    if (wake === undefined) return undefined;
    pool.lastActiveAtMs = this.#now();
    if (!this.#waking.has(pool) && this.#now() < (this.#failed.get(pool)?.untilMs ?? 0)) return undefined;
    const waking = this.#waking.get(pool) ?? this.#begin(pool, wake);
    if (bytes === undefined) return undefined;
    if (waking.held.size >= wake.holdRequestsMax || waking.heldBytes + bytes > wake.holdBytesMax) return undefined;
    waking.held.set(ready, bytes);
    waking.heldBytes += bytes;
    return () => {
      if (!waking.held.delete(ready)) return;
      waking.heldBytes -= bytes;
      pool.lastActiveAtMs = this.#now();
    };
  }

  /** See `Runtime.wakeRetryMs`. */
  retryAfterMs(pool: Pool): number {
    const nowMs = this.#now();
    const waking = this.#waking.get(pool);
    if (waking === undefined) return Math.max(RETRY_MS, Math.ceil((this.#failed.get(pool)?.untilMs ?? 0) - nowMs));
    const tookMs = this.#durations.get(pool.name);
    if (tookMs === undefined) return UNKNOWN_RETRY_MS;
    const leftMs = Math.min(waking.startedAtMs + tookMs, waking.deadlineAtMs) - nowMs;
    return Math.max(RETRY_MS, Math.ceil(leftMs));
  }

  /** Checks a waking pool. Called when a replica's health changed, and about once a second. */
  check(pool: Pool): void {
    const waking = this.#waking.get(pool);
    if (waking === undefined) return;
    const { wake } = pool;
    if (pool.hasAvailable(this.#now())) this.#release(pool, waking);
    else if (this.#now() > waking.deadlineAtMs || wake === undefined) {
      stop(waking.child);
      this.#ended(pool, waking, { told: "no replica became ready in time" });
    } else if (waking.child === undefined) {
      this.#proceed(pool, waking, wake);
    }
  }

  sweep(): void {
    for (const pool of this.#waking.keys()) this.check(pool);
  }

  close(): void {
    for (const [pool, waking] of this.#waking) this.#fail(pool, waking, "the gateway is stopping");
  }

  #begin(pool: Pool, wake: NonNullable<Pool["wake"]>): Waking {
    const nowMs = this.#now();
    const waking: Waking = {
      turn:
        wake.command === undefined
          ? undefined
          : new WakeTurn(this.#directory, pool.name, (line) => this.#log(`pool ${pool.name}: ${line}`)),
      held: new Map(),
      heldBytes: 0,
      child: undefined,
      startedAtMs: nowMs,
      deadlineAtMs: nowMs + wake.timeout,
      urls: [],
    };
    this.#waking.set(pool, waking);
    // The caller still has to add its request, which a failure of the last wake would answer.
    setImmediate(() => this.#proceed(pool, waking, wake));
    return waking;
  }

  /** Runs the command if this gateway has the turn, or learns from the file what the other gateway's command does. */
  #proceed(pool: Pool, waking: Waking, wake: NonNullable<Pool["wake"]>): void {
    if (this.#waking.get(pool) !== waking) return;
    const { turn } = waking;
    if (turn === undefined) return this.#waits();
    const hasTurn = turn.take();
    const last = turn.read();
    if (last?.tookMs !== undefined && !this.#durations.has(pool.name)) this.#durations.set(pool.name, last.tookMs);
    if (hasTurn) for (const url of last?.urls ?? []) this.#discover(pool, url);
    if (hasTurn && !this.#isSettled(pool, last)) {
      waking.startedAtMs = this.#now();
      this.#run(pool, waking, wake);
      return;
    }
    // The turn is free, but another gateway's wake has just ended: its outcome counts for this gateway, too.
    if (hasTurn) turn.release();
    if (last === undefined) return;
    waking.startedAtMs = last.startedAtMs;
    for (const url of last.urls) this.#discover(pool, url);
    if (!hasTurn || last.failure === undefined) return;
    this.#failed.set(pool, { untilMs: last.failedUntilMs ?? 0, waitMs: COOL_DOWN_MS });
    this.#fail(pool, waking, last.failure);
  }

  /**
   * Whether no command is to be run yet: the last wake has just ended, this gateway has not yet probed what it started, or
   * its command outlives the gateway that started it.
   */
  #isSettled(pool: Pool, last: WakeOutcome | undefined): boolean {
    if (last === undefined) return false;
    const { readyAtMs, failedUntilMs, pid } = last;
    const nowMs = this.#now();
    if (failedUntilMs !== undefined) return nowMs < failedUntilMs;
    if (readyAtMs === undefined) return isRunning(pid);
    if (nowMs < readyAtMs + PROBED_WITHIN_MS) return true;
    return [...pool.replicas.values()].some(({ probedAtMs }) => probedAtMs < readyAtMs);
  }

  #run(pool: Pool, waking: Waking, wake: NonNullable<Pool["wake"]>): void {
    const [program, ...args] = wake.command ?? [];
    const child = spawn(program!, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...environmentOf([...inheritedNames, ...wake.env]), HEADROOM_POOL: pool.name },
    });
    waking.child = child;
    this.#record(pool, waking, {});
    let output = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      output = (output + text).slice(-OUTPUT_BYTES_MAX);
      const lines = output.split("\n");
      output = lines.pop() ?? "";
      for (const line of lines) {
        if (!this.#discover(pool, line.trim())) continue;
        waking.urls.push(line.trim());
        if (this.#waking.get(pool) === waking) this.#record(pool, waking, {});
      }
    });
    child.once("error", ({ message }) =>
      this.#ended(pool, waking, { told: "its command could not be run", detail: message }),
    );
    child.once("exit", (code, signal) => {
      const detail = `the wake command ended with ${signal ?? `code ${code}`}`;
      if (code !== 0) this.#ended(pool, waking, { told: "its command failed", detail });
    });
  }

  /** Writes for the other gateways what has come out of the wake. */
  #record(pool: Pool, { turn, startedAtMs, urls, child }: Waking, more: Partial<WakeOutcome>): void {
    turn?.write({ startedAtMs, urls, pid: child?.pid, tookMs: this.#durations.get(pool.name), ...more });
  }

  /** Every line that is a URL adds a replica. Returns whether it is one. */
  #discover(pool: Pool, line: string): boolean {
    if (!/^https?:\/\//.test(line)) return false;
    const url = upstreamUrl.safeParse(line);
    if (!url.success) {
      this.#log(`pool ${pool.name}: the wake command printed a URL that cannot be used: ${line}`);
      return false;
    }
    const replica = new Replica({ url: url.data }, pool.config);
    if (pool.replicas.has(replica.id)) return true;
    // An address that an earlier wake found is removed, so that the new one fits.
    const stale = [...pool.replicas.values()].find(
      (each) => each.isDiscovered && each.requestCount === 0 && !each.isAvailable(this.#now()),
    );
    if (pool.replicas.size >= pool.capacity && stale !== undefined) pool.remove(stale);
    if (pool.replicas.size >= pool.capacity) {
      this.#log(`pool ${pool.name}: there is no room for the replica that the wake command printed: ${line}`);
      return true;
    }
    replica.isDiscovered = true;
    pool.add(replica);
    return true;
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
    const untilMs = this.#now() + waitMs;
    this.#failed.set(pool, { untilMs, waitMs });
    if (waking.child !== undefined) this.#record(pool, waking, { failure: told, failedUntilMs: untilMs });
    this.#fail(pool, waking, told);
  }

  #fail(pool: Pool, waking: Waking, told: string): void {
    this.#waking.delete(pool);
    if (waking.held.size > 0) pool.lastActiveAtMs = this.#now();
    waking.turn?.release();
    const error: ApiError = {
      kind: "overloaded",
      message: `The model could not be started: ${told}.`,
      retryAfterMs: this.retryAfterMs(pool),
    };
    for (const ready of waking.held.keys()) ready(error);
    waking.held.clear();
  }

  #release(pool: Pool, waking: Waking): void {
    this.#waking.delete(pool);
    this.#failed.delete(pool);
    const readyAtMs = this.#now();
    const tookMs = readyAtMs - waking.startedAtMs;
    const before = this.#durations.get(pool.name) ?? tookMs;
    this.#durations.set(pool.name, before + DURATION_WEIGHT * (tookMs - before));
    if (waking.child !== undefined) this.#record(pool, waking, { readyAtMs });
    waking.turn?.release();
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

function environmentOf(names: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
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
