/**
 * A machine without processes: inputs, outputs and checkpoints move through the code of the local executor, between real
 * folders, and a function stands in place of the job. Tests of data rules and of kills use it.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { LaunchGang, ReportedArtifact } from "@headroom/model";
import { NodeCache } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import type { ExecutorInput } from "../../executor.ts";
import { CheckpointDrain } from "../checkpoint-drain.ts";
import { restoreCheckpoint } from "../checkpoint-restore.ts";
import { drainOf } from "../drain-record.ts";
import { InputStaging } from "../input-staging.ts";
import { MadeArtifacts } from "../made-artifacts.ts";
import { OutputUpload } from "../output-upload.ts";
import { uploadOf } from "../upload-record.ts";

const BOOT = "boot";

export interface StartedJob {
  readonly launch: LaunchGang;
  readonly workingDir: string;
  readonly checkpointDir: string;
  /** Inputs as the job sees them: paths of artifacts, then those of `data.inputs`. */
  readonly inputs: readonly string[];
  /** Checkpoint from which the job resumes; `null`: it begins from its start. */
  readonly resume: string | null;
}

export class MovingNode {
  readonly #dir: string;
  readonly #cache: NodeCache;
  readonly #staging: InputStaging;
  readonly #outputs: OutputUpload;
  readonly #drain: CheckpointDrain;
  /** Copies of checkpoints whose report is awaited, by attempt. */
  readonly #stored = new Map<string, () => void>();

  /** `dir`: everything that the machine has, besides the stores. */
  constructor(dir: string, stores: StoreSet, emit: (input: ExecutorInput) => void) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true });
    this.#cache = new NodeCache({ dir: path.join(dir, "cache"), bootId: BOOT, capacity: 1_000_000 });
    this.#staging = new InputStaging({ stores, cache: this.#cache, onTransferred: emit });
    this.#outputs = new OutputUpload(stores, path.join(dir, "notes"), emit);
    this.#drain = new CheckpointDrain({
      outputs: this.#outputs,
      dir: path.join(dir, "drains"),
      homes: { homeDir: dir },
      bootId: BOOT,
      onProblem: () => {},
      emit: (input) => {
        emit(input);
        if (input.kind === "checkpointStored") this.#stored.get(input.attemptId)?.();
      },
    });
  }

  /** Throws a `StagingFailure`. */
  async start(launch: LaunchGang): Promise<StartedJob> {
    const workingDir = path.join(this.#dir, "work", launch.attemptId);
    const checkpointDir = path.join(this.#dir, "checkpoints", launch.workloadId);
    for (const each of [workingDir, checkpointDir]) mkdirSync(each, { recursive: true });
    const isSound = (checkpoint: { readonly path: string }): Promise<boolean> => this.#drain.isSound(checkpoint);
    const staged = await this.#staging.stage(launch, launch.attemptId, (bring) =>
      restoreCheckpoint(launch, { checkpointDir, homes: { homeDir: this.#dir }, isSound }, bring),
    );
    const { artifacts = [], spec } = staged.launch;
    const inputs = [...artifacts.map((each) => each.path), ...(spec.data?.inputs ?? [])];
    return { launch, workingDir, checkpointDir, inputs, resume: staged.also?.path ?? null };
  }

  /** Copies a checkpoint of the job to the store of its workload, and waits for the end of the copy. */
  async checkpoint({ launch, workingDir, checkpointDir }: StartedJob, step: number, at: string): Promise<void> {
    const { attemptId, workloadId } = launch;
    const drain = drainOf(launch);
    if (drain === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stored.set(attemptId, resolve);
    const report = { kind: "checkpointReported", attemptId, step, path: at } as const;
    this.#drain.offer({ drain, workloadId, workingDir, checkpointDir }, report);
    await promise;
  }

  /** The artifacts of a job that has succeeded, with their digests and places. */
  async finish(job: StartedJob, lines: readonly ReportedArtifact[]): Promise<readonly ReportedArtifact[]> {
    const { signal } = new AbortController();
    const made = new MadeArtifacts();
    made.take(lines);
    const places = { ...job, homeDir: this.#dir };
    const found = await made.withDigests(places, signal);
    const to = uploadOf(job.launch);
    if (to === null) return found;
    const stored: ReportedArtifact[] = [];
    for (const each of found) stored.push(await this.#outputs.store(each, to, { places, signal }));
    return stored;
  }

  release({ attemptId }: Pick<LaunchGang, "attemptId">): void {
    this.#staging.release(attemptId);
  }

  async close(): Promise<void> {
    await this.#drain.close();
    await this.#staging.close();
  }
}
