/**
 * Everything the engine records: facts in the past tense. The journal is these, in this form, as JSON. A kind's `version`
 * grows when its fields change; `apply/` still reads the older ones, and a kind it does not know refuses to start.
 */
import type { AttemptId, NodeId, TeamName, WorkloadId } from "./model/ids.ts";
import type { NodeSpec, Pool, Site } from "./model/fleet.ts";
import type { Team } from "./model/team.ts";
import type {
  AttemptOutcome,
  EndReason,
  StopReason,
  WorkerAllocation,
  WorkerExit,
  WorkloadSpec,
} from "./model/workload.ts";
import type { CommandResult } from "./replies.ts";
import type { Policy } from "./policy/policy.ts";

interface Fact<Kind extends string, Version extends number = 1> {
  readonly kind: Kind;
  readonly version: Version;
  readonly atMs: number;
}

export type FleetEvent =
  | (Fact<"siteDefined"> & { readonly site: Site })
  | (Fact<"poolDefined"> & { readonly pool: Pool })
  | (Fact<"nodeJoined"> & { readonly node: NodeSpec })
  | (Fact<"nodeChanged"> & { readonly node: NodeSpec })
  | (Fact<"nodeLost"> & { readonly nodeId: NodeId; readonly detail: string })
  | (Fact<"nodeReturned"> & { readonly nodeId: NodeId })
  | (Fact<"nodeDrainStarted"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeResumed"> & { readonly nodeId: NodeId; readonly actor: string });

export type GovernanceEvent =
  | (Fact<"teamDefined"> & { readonly team: Team })
  | (Fact<"teamRemoved"> & { readonly team: TeamName })
  | (Fact<"policySet"> & { readonly policy: Policy })
  /** Remembers the answer to a command with an idempotency key; `fingerprint` tells a retry from a reused key. */
  | (Fact<"commandAnswered"> & { readonly key: string; readonly fingerprint: string; readonly result: CommandResult });

export type WorkloadEvent =
  | (Fact<"workloadSubmitted"> & {
      readonly workloadId: WorkloadId;
      readonly spec: WorkloadSpec;
      readonly actor: string;
    })
  | (Fact<"workloadStopRequested"> & { readonly workloadId: WorkloadId; readonly actor: string })
  | (Fact<"workloadEnded"> & {
      readonly workloadId: WorkloadId;
      readonly phase: "succeeded" | "failed" | "cancelled";
      readonly reason: EndReason;
    });

export type AttemptEvent =
  | (Fact<"gangPlaced"> & {
      readonly attemptId: AttemptId;
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly number: number;
      readonly acceleratorType: string;
      readonly workers: readonly WorkerAllocation[];
    })
  | (Fact<"attemptStarted"> & { readonly attemptId: AttemptId })
  | (Fact<"attemptStopRequested"> & { readonly attemptId: AttemptId; readonly reason: StopReason })
  | (Fact<"attemptEnded"> & {
      readonly attemptId: AttemptId;
      readonly outcome: AttemptOutcome;
      readonly exit: WorkerExit | null;
      readonly detail: string;
      /** When the task may be tried again; `null`: it is not tried again. */
      readonly retryAtMs: number | null;
    })
  | (Fact<"progressRecorded"> & {
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    })
  | (Fact<"checkpointRecorded"> & { readonly attemptId: AttemptId; readonly step: number; readonly path: string });

export type Event = FleetEvent | GovernanceEvent | WorkloadEvent | AttemptEvent;
export type EventKind = Event["kind"];
