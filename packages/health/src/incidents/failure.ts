/** Failures of nodes: the facts that incidents gather. */
import type { AttemptId, IncidentAnnotation, NodeId, WorkloadId } from "@headroom/model";

/** Work that had workers on a node when the node failed. */
export interface HitAttempt {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly name: string;
  readonly team: string;
  readonly workers: number;
  readonly accelerators: number;
}

export interface IncidentRecord {
  readonly sequence: number;
  readonly atMs: number;
  readonly actor: string;
  readonly annotation: IncidentAnnotation;
}

/** One failure of a node. Further reports about the node are added to it until the node is back. */
export interface Failure {
  /** Sequence of the first event about it. */
  readonly sequence: number;
  readonly atMs: number;
  /** Empty: the failure is that of an executor. */
  readonly node: NodeId | "";
  readonly accelerators: number;
  /** Keys of the failure domains that contained the node (`domains.ts`). */
  readonly domains: readonly string[];
  /** Whether the node was lost; false: it only reported faults. */
  isLost: boolean;
  /** The node was lost while it was drained, by Headroom or at its cluster. Absent: it was in service, or an earlier version stored the failure. */
  isMaintained?: true;
  backAtMs: number | null;
  detail: string;
  alerts: number;
  lastAtMs: number;
  readonly codes: string[];
  readonly hits: HitAttempt[];
  readonly records: IncidentRecord[];
}

export const isOneNode = ([first, ...others]: readonly Pick<Failure, "node">[]): boolean =>
  first !== undefined && others.every(({ node }) => node === first.node);
