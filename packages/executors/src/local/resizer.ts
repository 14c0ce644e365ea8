/**
 * Grows and shrinks gangs: records the requested size and the environments of new workers. Repeated effects change
 * nothing. If the gang must write a checkpoint first, this code requests the checkpoint and waits for it.
 */
import { mkdir } from "node:fs/promises";
import type { AttemptId, GrowGang, ShrinkGang } from "@headroom/model";
import { attemptEnvironments } from "../job-protocol/attempt-environments.ts";
import type { EnvironmentSetup } from "../job-protocol/attempt-environments.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { LaunchRecord } from "../job-protocol/attempt-records.ts";
import { inspectAttempt, ringSupervisor } from "./attempt-inspection.ts";
import type { AttemptMonitor } from "./attempt-monitor.ts";
import type { InputStaging } from "../job-protocol/input-staging.ts";
import type { AttemptStore } from "../job-protocol/attempt-store.ts";
import { requestCheckpoint, requestedUntilMs, withdrawCheckpointRequest } from "../job-protocol/checkpoint-request.ts";
import { withImageEnv } from "../processes/images/local-images.ts";
import { limitsOf } from "../processes/isolation/isolation.ts";
import type { ResizeRecord } from "../job-protocol/resize-records.ts";
import { TIMER_MAX_MS } from "../processes/worker-process.ts";

export interface ResizerSetup extends EnvironmentSetup {
  readonly store: AttemptStore;
  readonly bootId: string;
  readonly monitor: AttemptMonitor;
  readonly staging: InputStaging | null;
}

/** An attempt whose size can change, and its newest requested size. */
interface Resizable {
  readonly name: string;
  readonly files: AttemptFiles;
  readonly isRunning: boolean;
  readonly wanted: ResizeRecord;
  readonly imageEnv: LaunchRecord["imageEnv"];
}

export class Resizer {
  readonly #setup: ResizerSetup;
  /** Attempts that wait for a checkpoint before they shrink, each with its newest effect. */
  readonly #waiting = new Map<string, { readonly timer: NodeJS.Timeout; readonly effect: ShrinkGang }>();

  constructor(setup: ResizerSetup) {
    this.#setup = setup;
  }

  async grow({ attemptId, firstRank, workers, launch }: GrowGang): Promise<void> {
    const found = this.#find(attemptId);
    if (found === null) return;
    const { files, wanted, imageEnv } = found;
    const size = firstRank + workers.length;
    if (size <= wanted.size) return;
    const numberOf = (rank: number): number => wanted.joinerCount + 1 + rank - wanted.size;
    // The inputs are in the cache already, held by the attempt.
    const { launch: here = launch } = (await this.#setup.staging?.stage(launch, found.name)) ?? {};
    const complete = imageEnv === undefined ? here : withImageEnv(here, imageEnv);
    const environments = await attemptEnvironments(this.#setup, files, complete, { joinerNumber: numberOf });
    const joiners = [...wanted.joiners];
    for (let rank = wanted.size; rank < size; rank++) {
      await mkdir(files.workerDir(rank), { recursive: true, mode: 0o700 });
      joiners.push({
        rank,
        number: numberOf(rank),
        environment: environments[rank] ?? {},
        limits: limitsOf(launch, rank),
      });
    }
    this.#ask(found, { ...wanted, size, joiners, joinerCount: numberOf(size - 1) });
  }

  shrink(effect: ShrinkGang): void {
    const found = this.#find(effect.attemptId);
    if (found === null) return;
    const { checkpointTimeoutMs = 0 } = effect;
    const waiting = this.#waiting.get(found.name);
    if (waiting !== undefined) this.#waiting.set(found.name, { ...waiting, effect });
    else if (effect.workers < found.wanted.size && found.isRunning && checkpointTimeoutMs > 0)
      this.#askForCheckpoint(found, effect, checkpointTimeoutMs);
    else this.#sendAway(found, effect);
  }

  /** Cancels the timers. Checkpoint requests without an answer are repeated after a restart. */
  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #find(attemptId: AttemptId): Resizable | null {
    const files = this.#setup.store.filesOf(attemptId);
    const { name } = files.key;
    const seen = inspectAttempt(files, this.#setup.bootId);
    // The monitor reports an attempt that has ended or failed to launch.
    if (seen.kind === "absent" || seen.kind === "ended" || seen.kind === "orphaned") return null;
    this.#setup.monitor.track(name);
    const wanted = files.read("resize.json");
    // The result of a request that was made before a restart is also reported.
    if (wanted !== null) this.#setup.monitor.followSize(name);
    const isRunning = seen.kind === "running";
    const { imageEnv } = seen.launch;
    return { name, files, isRunning, wanted: wanted ?? sizeOfLaunch(seen.launch), imageEnv };
  }

  #ask({ name, files }: Resizable, wanted: ResizeRecord): void {
    const sizeMax = Math.max(wanted.sizeMax, wanted.size);
    files.write("resize.json", { ...wanted, request: wanted.request + 1, sizeMax });
    this.#setup.monitor.followSize(name);
    ringSupervisor(files, this.#setup.bootId);
  }

  #sendAway(found: Resizable, { workers: size, graceTimeoutMs }: ShrinkGang): void {
    const { wanted, name } = found;
    const isAsked = size >= wanted.size;
    // The callback must be registered before the supervisor can answer.
    this.#setup.monitor.awaitLeaving(name, isAsked ? wanted.request : wanted.request + 1);
    if (isAsked) return;
    const joiners = wanted.joiners.filter(({ rank }) => rank < size);
    this.#ask(found, { ...wanted, size, joiners, graceTimeoutMs });
  }

  /**
   * The checkpoint request is withdrawn when it is answered or has timed out, because the gang continues and can get
   * another request.
   */
  #askForCheckpoint({ name, files }: Resizable, effect: ShrinkGang, timeoutMs: number): void {
    const beforeMs = requestedUntilMs(files);
    const requestedAtMs = Date.now();
    const untilMs = beforeMs ?? requestedAtMs + timeoutMs;
    if (beforeMs === null) requestCheckpoint(files, untilMs);
    const proceed = (): void => {
      const waiting = this.#waiting.get(name);
      if (waiting === undefined) return;
      clearTimeout(waiting.timer);
      this.#waiting.delete(name);
      this.#setup.monitor.awaitCheckpoint(name, null);
      const found = this.#find(effect.attemptId);
      if (found === null) return;
      this.#sendAway(found, waiting.effect);
      takeBack(files);
    };
    const delayMs = Math.min(Math.max(0, untilMs - requestedAtMs), timeoutMs, TIMER_MAX_MS);
    this.#waiting.set(name, { timer: setTimeout(proceed, delayMs), effect });
    this.#setup.monitor.awaitCheckpoint(name, proceed);
  }
}

const sizeOfLaunch = ({ environments, graceTimeoutMs }: LaunchRecord): ResizeRecord => ({
  request: 0,
  size: environments.length,
  graceTimeoutMs,
  joiners: [],
  joinerCount: 0,
  sizeMax: environments.length,
});

function takeBack(files: AttemptFiles): void {
  // If a stop was requested in the meantime, the checkpoint request belongs to the stop and is kept.
  if (!files.has("stop.json")) withdrawCheckpointRequest(files);
}
