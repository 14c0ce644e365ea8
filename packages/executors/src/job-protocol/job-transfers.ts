/**
 * Uploads for jobs: after a success, what the job reported is read in the shared directory and brought to the store of its workload
 * before the end is reported (decision 46); checkpoints follow while the job runs. The control plane does both, as it brings inputs.
 */
import path from "node:path";
import type { AttemptId, LaunchGang, ReportedArtifact, Signal } from "@headroom/model";
import type { StoreSet } from "@headroom/stores";
import type { ExecutorInput } from "../executor.ts";
import { checkpointRootOf } from "./attempt-files.ts";
import type { AttemptFiles } from "./attempt-files.ts";
import { taskDirName } from "./attempt-names.ts";
import { partFiles, partsOf } from "./attempt-parts.ts";
import type { ExitRecord, LaunchRecord } from "./attempt-records.ts";
import { CheckpointDrain } from "./checkpoint-drain.ts";
import { restoreCheckpoint } from "./checkpoint-restore.ts";
import type { ResumePoint } from "./checkpoint-restore.ts";
import { DigestTurns, digestTurns, UploadTurns } from "./digest-turns.ts";
import { drainOf } from "./drain-record.ts";
import { StagingFailure } from "./input-staging.ts";
import type { Bring } from "./input-staging.ts";
import { MadeArtifacts } from "./made-artifacts.ts";
import { OutputUpload } from "./output-upload.ts";
import { ProgressFile } from "./progress-file.ts";
import { uploadOf } from "./upload-record.ts";
import { isWithin } from "./untrusted-files.ts";
import { TransferOrders } from "./transfer-orders.ts";

/** The shared directory survives the boots of all machines. */
const BOOT = "shared";

interface TransferSetup {
  readonly stores: StoreSet;
  /** Directory on this machine, out of reach of jobs. */
  readonly dir: string;
  /** Directory that the nodes share, with the directories of jobs. */
  readonly shared: string;
  /** Directories below which a job may name its own (`dir`, `checkpoint.dir`). Nothing else is read or written for jobs. */
  readonly namedBelow?: readonly string[];
  readonly emit: (input: ExecutorInput) => void;
  readonly onProblem: (message: string) => void;
}

export class JobTransfers {
  readonly #orders: TransferOrders;
  readonly #homes: { readonly homeDir: string; readonly namedBelow: readonly string[] };
  readonly #outputs: OutputUpload;
  readonly #drain: CheckpointDrain;
  readonly #digests: DigestTurns = new DigestTurns(digestTurns);
  readonly #uploads: UploadTurns = new UploadTurns();

  constructor({ stores, dir, shared, namedBelow = [], emit, onProblem }: TransferSetup) {
    this.#homes = { homeDir: shared, namedBelow };
    this.#orders = new TransferOrders(path.join(dir, "orders"));
    this.#outputs = new OutputUpload(stores, path.join(dir, "uploads"), emit);
    const drains = path.join(dir, "drains");
    const { homes, outputs } = { homes: this.#homes, outputs: this.#outputs };
    this.#drain = new CheckpointDrain({ outputs, dir: drains, homes, bootId: BOOT, emit, onProblem });
  }

  /** Continues with checkpoints that an earlier process began to copy. */
  start(): void {
    this.#drain.start();
  }

  /** Called before the job can exist. Directories that the work names are read below those of the settings alone. */
  order({ key, jobDir }: Pick<AttemptFiles, "key" | "jobDir">, effect: LaunchGang): void {
    const [upload, drain] = [uploadOf(effect), drainOf(effect)];
    if (upload === null && drain === null) return;
    this.#orders.save(key.name, {
      workloadId: effect.workloadId,
      workingDir: this.#isNamedBelow(effect.spec.dir) ? effect.spec.dir : jobDir,
      checkpointDir: this.#checkpointDirOf(effect),
      ...(upload === null ? {} : { upload }),
      ...(drain === null ? {} : { drain }),
    });
  }

  /** A worker has reported a checkpoint. */
  offer(name: string, reported: Signal & { readonly kind: "checkpointReported" }): void {
    const order = this.#orders.of(name);
    if (order !== null) this.#drain.offer(order, reported);
  }

  async restore(effect: LaunchGang, checkpointDir: string, bring: Bring): Promise<ResumePoint | null> {
    const { resume } = effect;
    if (resume === undefined) return null;
    if (resume.stored !== undefined && path.resolve(checkpointDir) !== path.resolve(this.#checkpointDirOf(effect)))
      throw new StagingFailure(
        `${resume.stored.version} is only brought to the checkpoint directory of the executor, or below its uploadsFrom. Leave out checkpoint.dir.`,
        "inputs",
      );
    const isSound = (each: { readonly path: string }): Promise<boolean> => this.#drain.isSound(each);
    return restoreCheckpoint(effect, { checkpointDir, homes: this.#homes, isSound }, bring);
  }

  #checkpointDirOf(effect: LaunchGang): string {
    const { checkpointDir } = effect.spec;
    if (this.#isNamedBelow(checkpointDir)) return checkpointDir;
    return path.join(checkpointRootOf(this.#homes.homeDir), taskDirName(effect));
  }

  /** The directories of other attempts are in the shared one. */
  #isNamedBelow(directory: string | null | undefined): directory is string {
    const { homeDir, namedBelow } = this.#homes;
    if (directory == null || !path.isAbsolute(directory)) return false;
    const named = path.resolve(directory);
    return !isWithin(homeDir, named) && namedBelow.some((each) => isWithin(path.resolve(each), named));
  }

  /** Artifacts of a job that succeeded, with their places in the store. Empty: nothing of it is uploaded. */
  async collect({ key }: AttemptFiles, launch: LaunchRecord, exit: ExitRecord): Promise<readonly ReportedArtifact[]> {
    const hasSucceeded =
      exit.kind === "exited" && exit.exits.every((each) => each.kind === "exited" && each.code === 0);
    const order = hasSucceeded ? this.#orders.of(key.name) : null;
    if (order === null || order.upload === undefined) return [];
    const { upload } = order;
    const reported = new MadeArtifacts();
    for (const [part, { ranks }] of partsOf(launch).entries()) {
      const identity = { ...launch, workerCount: ranks.length };
      for await (const { artifacts } of new ProgressFile(partFiles(key, part).progressFile, identity).readRest())
        reported.take(artifacts);
    }
    const places = { ...order, ...this.#homes };
    const made = await this.#digests.run((signal) => reported.withDigests(places, signal));
    const of = { workloadId: order.workloadId, attemptId: launch.attemptId };
    return this.#uploads.run(upload.store, async (signal) => {
      const stored: ReportedArtifact[] = [];
      for (const each of made) stored.push(await this.#outputs.store(each, upload, { places, signal, of }));
      return stored;
    });
  }

  forget(name: string, attemptId: AttemptId): void {
    this.#orders.drop(name);
    this.#drain.forget(attemptId);
  }

  async close(): Promise<void> {
    this.#digests.close();
    this.#uploads.close();
    await this.#drain.close();
  }
}
