/**
 * Machines without processes that share a directory: inputs, outputs and checkpoints move through the code of the Slurm and Kubernetes
 * executors, and a function stands in place of the job. `MovingNode` is one machine with the code of the local executor.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import type { LaunchGang, ReportedArtifact } from "@headroom/model";
import { NodeCache } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import type { ExecutorInput } from "../../executor.ts";
import { LogCollector, logRuleOf } from "../../kubernetes/executor/log-collector.ts";
import { makeAttemptDirectories } from "../attempt-directories.ts";
import { checkpointDirOf } from "../attempt-environments.ts";
import type { AttemptFiles } from "../attempt-files.ts";
import { partFiles } from "../attempt-parts.ts";
import type { LaunchRecord } from "../attempt-records.ts";
import { AttemptStore } from "../attempt-store.ts";
import { drainOf } from "../drain-record.ts";
import { InputStaging } from "../input-staging.ts";
import { JobTransfers } from "../job-transfers.ts";
import type { MovingNode, StartedJob } from "./moving-node.ts";

type Moves = Pick<MovingNode, "start" | "checkpoint" | "finish" | "release" | "close">;

export class MovingCluster implements Moves {
  /** Below it, work may name directories from which it uploads. */
  readonly home: string;
  readonly #store: AttemptStore;
  readonly #shared: string;
  readonly #staging: InputStaging;
  readonly #transfers: JobTransfers;
  /** Copies of checkpoints whose report is awaited, by attempt. */
  readonly #stored = new Map<string, () => void>();

  /** `dir`: everything that the machines have, besides the stores. */
  constructor(dir: string, stores: StoreSet, emit: (input: ExecutorInput) => void) {
    this.home = path.join(dir, "home");
    this.#shared = path.join(dir, "shared");
    for (const each of [this.home, this.#shared]) mkdirSync(each, { recursive: true });
    this.#store = new AttemptStore(this.#shared, () => {});
    const [inputs, trusted] = [path.join(this.#shared, "cache", "inputs"), this.#shared];
    const cache = new NodeCache({ dir: inputs, trusted, bootId: "boot", capacity: 1_000_000 });
    const isSeen = (at: string): boolean => stores.placeOf(`file://${path.resolve(at)}`) !== null;
    this.#staging = new InputStaging({ stores, cache, isSeen, onTransferred: emit });
    this.#transfers = new JobTransfers({
      stores,
      dir: path.join(dir, "state"),
      shared: this.#shared,
      namedBelow: [this.home],
      onProblem: () => {},
      emit: (input) => {
        emit(input);
        if (input.kind === "checkpointStored") this.#stored.get(input.attemptId)?.();
      },
    });
  }

  /** Throws a `StagingFailure`. */
  async start(launch: LaunchGang): Promise<StartedJob> {
    const files = this.#filesOf(launch);
    for (const each of [files, partFiles(files.key, 0)]) makeAttemptDirectories(each, 1);
    const checkpointDir = checkpointDirOf(this.#shared, launch);
    const workingDir = launch.spec.dir ?? files.jobDir;
    mkdirSync(workingDir, { recursive: true });
    const staged = await this.#staging.stage(launch, launch.attemptId, (bring) =>
      this.#transfers.restore(launch, checkpointDir, bring),
    );
    this.#transfers.order(files, launch);
    const { artifacts = [], spec } = staged.launch;
    const inputs = [...artifacts.map((each) => each.path), ...(spec.data?.inputs ?? [])];
    return { launch, workingDir, checkpointDir, inputs, resume: staged.also?.path ?? null };
  }

  /** Copies a checkpoint of the job to the store of its workload, and waits for the end of the copy. */
  async checkpoint({ launch }: StartedJob, step: number, at: string): Promise<void> {
    const { attemptId } = launch;
    if (drainOf(launch) === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stored.set(attemptId, resolve);
    const report = { kind: "checkpointReported", attemptId, step, path: at } as const;
    this.#transfers.offer(this.#filesOf(launch).key.name, report);
    await promise;
  }

  /** The artifacts of a job that has succeeded, with their digests and places. */
  async finish({ launch }: StartedJob, lines: readonly ReportedArtifact[]): Promise<readonly ReportedArtifact[]> {
    const files = this.#filesOf(launch);
    const reports = lines.map((line) => `${JSON.stringify({ kind: "artifact", ...line })}\n`);
    appendFileSync(partFiles(files.key, 0).progressFile, reports.join(""));
    const { attemptId, workloadId } = launch;
    const record = { attemptId, workloadId, environments: [{}], parts: [{ node: "n", ranks: [0] }] };
    const exits = [{ kind: "exited" as const, code: 0 }];
    const exit = { kind: "exited", exits, usage: [] } as unknown as Parameters<JobTransfers["collect"]>[2];
    const stored = await this.#transfers.collect(files, record as unknown as LaunchRecord, exit);
    // Without a store to upload to, versions are paths of the nodes, without a digest.
    return stored.length > 0 ? stored : lines;
  }

  release(launch: Pick<LaunchGang, "attemptId">): void {
    this.#staging.release(launch.attemptId);
    this.#transfers.forget(this.#filesOf(launch).key.name, launch.attemptId);
  }

  async close(): Promise<void> {
    await this.#transfers.close();
    await this.#staging.close();
  }

  #filesOf({ attemptId }: Pick<LaunchGang, "attemptId">): AttemptFiles {
    return this.#store.filesOf(attemptId);
  }
}

/** Writes the log of a pod to the machine of the control plane, as far as its data rule allows it. */
export async function collectLog(launch: LaunchGang, text: string, to: PodLogPlace): Promise<void> {
  const stamped = text.split("\n").map((line) => `2026-11-30T08:00:00.000000001Z ${line}\n`);
  const stream = (): Readable => Object.assign(Readable.from([Buffer.from(stamped.join(""))]), { complete: true });
  mkdirSync(to.dir, { recursive: true });
  const setup = { namespace: "ml", pod: launch.attemptId, container: "worker", workerDir: to.dir, progressFile: null };
  const limits = { fileMaxBytes: 65_536, filesKept: 3 };
  const api = { logs: () => Promise.resolve(stream()) } as unknown as ConstructorParameters<
    typeof LogCollector
  >[0]["api"];
  await new LogCollector({ ...setup, api, limits, rule: logRuleOf(launch.spec.data?.rule, to.rules) }).drain();
}

interface PodLogPlace {
  readonly dir: string;
  /** `logRules` of the executor. */
  readonly rules: readonly string[];
}
