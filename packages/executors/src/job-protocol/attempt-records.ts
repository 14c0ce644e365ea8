/** The contents of an attempt's records, by the name of their file. `attempt-files.ts` says who writes which, and when. */
import type { AttemptId, LossCause, StopReason, WorkerExit, WorkloadId } from "@headroom/model";
import type { WorkerUsage } from "../executor.ts";
import type { FileOwner } from "./untrusted-files.ts";
import type { IsolationRecord } from "../processes/isolation/isolation-record.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";
import type { DrainRecord } from "./drain-record.ts";
import type { UploadRecord } from "./upload-record.ts";
import type { ResizeRecord, SizeRecord, WorkersRecord } from "./resize-records.ts";

export interface LaunchRecord {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly sequence: number;
  readonly bootId: string;
  readonly run: string;
  /** Absolute path. */
  readonly workingDir: string;
  readonly checkpointDir: string;
  readonly graceTimeoutMs: number;
  readonly log: LogLimits;
  /** Environments by rank, without `MASTER_PORT`, which the supervisor chooses. */
  readonly environments: readonly Readonly<Record<string, string>>[];
  /** Variables of the container image, for workers that join later. Absent: the workers run in none. */
  readonly imageEnv?: Readonly<Record<string, string>>;
  /** Absent: the launch was recorded by an older release, which isolated nothing. */
  readonly isolation?: IsolationRecord;
  /** Rendezvous port of the gang. Absent: the process that starts the workers chooses one. */
  readonly masterPort?: number;
  /**
   * Readiness path of a replica. `PORT` holds the port on which rank 0 serves HTTP. Absent: the attempt is no replica.
   */
  readonly readyPath?: string;
  /** Absent: artifacts stay where they are. */
  readonly upload?: UploadRecord;
  /** Absent: checkpoints stay where they are. */
  readonly drain?: DrainRecord;
  /** Parts of a gang whose nodes each have a supervisor of their own. Absent: one supervisor starts all workers. */
  readonly parts?: readonly GangPart[];
  /** Whether the job of the attempt can take a further attempt when this one has ended. Absent: it takes none. */
  readonly reuse?: JobReuse;
  /** User of the system that runs the gang, if it is not the user of the control plane, and the submitter whom it stands for. */
  readonly runAs?: RunAsRecord;
}

/** Bounds of the reuse of a job for further attempts of the same workload. Times are in ms. */
export interface JobReuse {
  /** Time for which the job waits for the next attempt. */
  readonly waitMs: number;
  /** Time from the start of the job after which it takes no further attempt. */
  readonly untilMs: number;
  /** Longest run time of an attempt after which the job takes another: the start of a job costs long ones little. */
  readonly attemptMs: number;
  /** Account of the job. `null`: the default account of its user. */
  readonly account: string | null;
}

export interface RunAsRecord extends FileOwner {
  readonly user: string;
  readonly submitter: string;
}

/** The workers of a gang on one node. Each part has records of its own, in which its workers count from 0. */
export interface GangPart {
  /** Name of the node at the system that runs the gang. */
  readonly node: string;
  readonly ranks: readonly number[];
  /** Amounts that were requested from the system on the node. Absent: an earlier version recorded the launch. */
  readonly amounts?: HeldAmounts;
}

export interface HeldAmounts {
  readonly accelerators: number;
  readonly cores: number;
  readonly memoryMib: number;
}

export interface LogLimits {
  readonly fileMaxBytes: number;
  readonly filesKept: number;
}

export type ClaimRecord =
  | {
      readonly kind: "supervised";
      readonly bootId: string;
      readonly supervisor: ProcessIdentity;
      /** Job that holds the attempt, at the system that runs the gang. */
      readonly jobId?: string;
      /** Name of the attempt for which the job was submitted. Absent: this attempt. */
      readonly host?: string;
      /** True: the supervisor waits for the next attempt in `next.json`, if `reuse` of the launch lets it. */
      readonly takesNext?: true;
    }
  /** The control plane has claimed the attempt first, so that the attempt never starts. */
  | { readonly kind: "void"; readonly detail: string };

export interface RunningRecord {
  readonly startedAtMs: number;
  readonly masterPort: number;
  /** Port of the HTTP server of a replica. Absent: the attempt is no replica. */
  readonly servicePort?: number;
  /** True: the supervisor reads `resize.json`. Absent: the supervisor belongs to an older release, which does not. */
  readonly resizes?: true;
}

export interface StopRecord {
  readonly requestedAtMs: number;
  readonly graceTimeoutMs: number;
  readonly reason: StopReason;
}

export type ExitRecord =
  | {
      readonly kind: "exited";
      readonly startedAtMs: number;
      readonly endedAtMs: number;
      readonly exits: readonly WorkerExit[];
      readonly usage: readonly WorkerUsage[];
    }
  | {
      readonly kind: "lost";
      readonly endedAtMs: number;
      readonly detail: string;
      /** Cause of the loss. Absent: the machine was the cause. */
      readonly cause?: LossCause;
    };

/** A worker of a part failed, so the other parts stop. The first record is kept. */
export interface FailureRecord {
  readonly part: number;
}

/** The system that runs the gang has ended it, or lost it: what still runs of it stops, and the attempt is lost. */
export interface FenceRecord {
  readonly detail: string;
}

/** The first record counts: either the control plane passes the job on, or its supervisor no longer waits. */
export type NextRecord = { readonly kind: "attempt"; readonly name: string } | { readonly kind: "closed" };

/** Written again and again while the workers of a part run, so that a reader on another machine sees that they do. */
export interface AliveRecord {
  readonly count: number;
  readonly usage: readonly WorkerUsage[];
}

export interface Records {
  readonly "launch.json": LaunchRecord;
  readonly "claim.json": ClaimRecord;
  readonly "workers.json": WorkersRecord;
  readonly "running.json": RunningRecord;
  readonly "resize.json": ResizeRecord;
  readonly "size.json": SizeRecord;
  readonly "stop.json": StopRecord;
  readonly "exit.json": ExitRecord;
  readonly "failure.json": FailureRecord;
  readonly "fence.json": FenceRecord;
  readonly "alive.json": AliveRecord;
  readonly "next.json": NextRecord;
}
export type RecordName = keyof Records;
export const recordNames: readonly RecordName[] = [
  "launch.json",
  "claim.json",
  "workers.json",
  "running.json",
  "resize.json",
  "size.json",
  "stop.json",
  "exit.json",
  "failure.json",
  "fence.json",
  "alive.json",
  "next.json",
];
