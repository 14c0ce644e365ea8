/**
 * Watches one supervisor for the control plane. A job that is not isolated runs as the same user, so it can stop its
 * supervisor, trace it, or take what it needs. Such a supervisor is alive and records no end, and the accelerators of its
 * attempt would be held for ever. Every wait for a supervisor has a bound here; after it the supervisor is killed. The
 * attempt is then ended like every attempt without a supervisor: it is lost once none of its processes runs.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { LaunchRecord } from "../job-protocol/attempt-records.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";
import { isAlive, isHeld, readStat } from "../processes/process-table.ts";
import { killProcess } from "../processes/worker-processes.ts";
import { TIMER_MAX_MS } from "../processes/worker-process.ts";

/**
 * Number of checks, one every few seconds, that find the supervisor stopped or traced before it is killed. The first ones
 * let it continue: a person may have stopped it by mistake.
 */
const HELD_CHECKS_MAX = 3;
/**
 * Time in ms after which an end must be recorded: after the last worker has ended, or after the grace period of a stop. A
 * supervisor needs at most ten seconds for it, and longer only on a machine that hardly runs.
 */
const END_TIMEOUT_MS = 30_000;
/** A supervisor that waits for space on the disk is not killed, so the test writes as much as an end of a large gang. */
const TEST_BYTES = 64 * 1024;

export class SupervisorWatch {
  readonly #files: AttemptFiles;
  #heldChecks = 0;
  #isKilled = false;
  /** Times at which this process first saw that no worker runs, and that a stop was requested; `null`: not yet. */
  #workersGoneAtMs: number | null = null;
  #stopSeenAtMs: number | null = null;

  constructor(files: AttemptFiles) {
    this.#files = files;
  }

  /** Whether the supervisor needs a check now. Costs a few system calls. */
  isDue(supervisor: ProcessIdentity): boolean {
    const stat = readStat(supervisor.pid);
    if (stat === null || stat.startTicks !== supervisor.startTicks || isHeld(stat) || this.#heldChecks > 0) return true;
    return this.#files.has("stop.json") || this.#leaders().every((leader) => !isAlive(leader));
  }

  /** Lets a stopped supervisor continue, and kills one that stays held or whose attempt should have ended. */
  check(supervisor: ProcessIdentity, launch: LaunchRecord): void {
    if (this.#isKilled) return;
    const stat = readStat(supervisor.pid);
    if (stat === null || stat.startTicks !== supervisor.startTicks) return;
    if (isHeld(stat)) {
      this.#heldChecks += 1;
      if (this.#heldChecks <= HELD_CHECKS_MAX) resume(supervisor.pid);
      else this.#kill(supervisor);
      return;
    }
    this.#heldChecks = 0;
    if (performance.now() > this.#mustEndByMs(launch) && canRecord(this.#files)) this.#kill(supervisor);
  }

  #kill(supervisor: ProcessIdentity): void {
    this.#isKilled = true;
    killProcess(supervisor.pid);
  }

  #mustEndByMs(launch: LaunchRecord): number {
    const nowMs = performance.now();
    const stop = this.#files.readIfSound("stop.json");
    if (stop !== null) this.#stopSeenAtMs ??= nowMs;
    const hasWorkers = this.#files.has("running.json");
    if (hasWorkers && this.#leaders().every((leader) => !isAlive(leader))) this.#workersGoneAtMs ??= nowMs;
    else this.#workersGoneAtMs = null;
    // The rest of a worker's group has the grace period too, if its leader ends in a stop.
    const graceMs = Math.min(launch.graceTimeoutMs, TIMER_MAX_MS);
    return (
      Math.min(
        this.#stopSeenAtMs === null || stop === null
          ? Infinity
          : this.#stopSeenAtMs + Math.min(stop.graceTimeoutMs, TIMER_MAX_MS),
        this.#workersGoneAtMs === null ? Infinity : this.#workersGoneAtMs + graceMs,
      ) + END_TIMEOUT_MS
    );
  }

  #leaders(): readonly ProcessIdentity[] {
    const record = this.#files.readIfSound("workers.json");
    return [...(record?.workers ?? []), ...(record?.leaving ?? [])];
  }
}

function resume(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // The process has ended.
  }
}

/** Whether an end could be recorded now. The disk may be full; the supervisor then waits for space. */
function canRecord({ recordsDir }: AttemptFiles): boolean {
  const file = path.join(recordsDir, `.test.${randomUUID()}`);
  try {
    const opened = openSync(file, "wx", 0o600);
    try {
      writeSync(opened, Buffer.alloc(TEST_BYTES));
      fsyncSync(opened);
    } finally {
      closeSync(opened);
      rmSync(file, { force: true });
    }
    return true;
  } catch {
    return false;
  }
}
