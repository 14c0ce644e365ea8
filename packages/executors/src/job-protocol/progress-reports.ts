/** Reports the progress of one attempt, whose parts each write a file, at limited rates. */
import type { AttemptId } from "@headroom/model";
import type { ExecutorInput } from "../executor.ts";
import type { AttemptFiles } from "./attempt-files.ts";
import type { LaunchRecord } from "./attempt-records.ts";
import { partFiles, partsOf } from "./attempt-parts.ts";
import type { ProgressNews } from "./progress-file.ts";
import { ProgressFile } from "./progress-file.ts";
import type { Reporter } from "./reporter.ts";

/** Minimum times in ms between two reports of a kind; only the newest is sent. The engine accepts no more. */
const PROGRESS_INTERVAL_MS = 2_000;
const RARE_INTERVAL_MS = 30_000;

type Kind = "progress" | "utilization" | "rejected";
type Checkpoint = ProgressNews["checkpoints"][number];

export class ProgressReports {
  readonly #files: readonly ProgressFile[];
  readonly #reporter: Reporter;
  readonly #pending = new Map<Kind, ExecutorInput>();
  readonly #toldAtMs = new Map<Kind, number>();
  readonly #attemptId: AttemptId;
  readonly #onCheckpoint: (reported: Checkpoint) => void;
  #isCatchingUp: boolean;

  /** `isAdopted`: the attempt ran before this process started, so its old progress is not reported again. */
  constructor(
    files: AttemptFiles,
    launch: LaunchRecord,
    reporter: Reporter,
    isAdopted: boolean,
    onCheckpoint: (reported: Checkpoint) => void = () => {},
  ) {
    this.#files = partsOf(launch).map(
      ({ ranks }, part) =>
        new ProgressFile(partFiles(files.key, part).progressFile, { ...launch, workerCount: ranks.length }),
    );
    this.#attemptId = launch.attemptId;
    this.#reporter = reporter;
    this.#onCheckpoint = onCheckpoint;
    this.#isCatchingUp = isAdopted;
  }

  get skippedCount(): number {
    return this.#files.reduce((sum, file) => sum + file.skippedCount, 0);
  }

  async tellDue(): Promise<void> {
    for (const file of this.#begin()) if (file.hasGrown()) await this.#take(await file.read());
    this.#isCatchingUp = false;
    this.#tell("progress", PROGRESS_INTERVAL_MS);
    this.#tell("utilization", RARE_INTERVAL_MS);
    this.#tell("rejected", RARE_INTERVAL_MS);
  }

  /** At the end of the attempt. Utilization is recent enough then. */
  async tellRest(): Promise<void> {
    for (const file of this.#begin()) for await (const news of file.readRest()) await this.#take(news);
    this.#tell("rejected", 0);
    this.#tell("progress", 0);
  }

  #begin(): readonly ProgressFile[] {
    if (this.#isCatchingUp) for (const file of this.#files) file.skipToRecent();
    return this.#files;
  }

  async #take({ progress, utilization, rejected, checkpoints, artifacts, stepTimes }: ProgressNews): Promise<void> {
    if (progress !== null) this.#pending.set("progress", progress);
    if (utilization !== null) this.#pending.set("utilization", utilization);
    if (rejected !== null) this.#pending.set("rejected", rejected);
    for (const checkpoint of this.#isCatchingUp ? checkpoints.slice(-1) : checkpoints) {
      this.#reporter.tell(checkpoint);
      this.#onCheckpoint(checkpoint);
    }
    for (const { name, path } of artifacts)
      this.#reporter.tell({ kind: "artifactReported", attemptId: this.#attemptId, name, path });
    if (stepTimes !== null && !this.#isCatchingUp) this.#reporter.tell(stepTimes);
    await this.#reporter.untilRoom();
  }

  #tell(kind: Kind, intervalMs: number): void {
    const input = this.#pending.get(kind);
    const nowMs = performance.now();
    if (input === undefined || nowMs - (this.#toldAtMs.get(kind) ?? -Infinity) < intervalMs) return;
    this.#pending.delete(kind);
    this.#toldAtMs.set(kind, nowMs);
    this.#reporter.tell(input);
  }
}
