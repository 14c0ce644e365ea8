/**
 * The writable form of the state. Only `apply/` and this room, which restores and copies states, may import this file; the check
 * enforces it (`restrictedFiles` in `tools/lint/layers.ts`). Other rooms read `ReadonlyState`.
 */
import type {
  Artifact,
  ArtifactVersion,
  Lanes,
  Node,
  AttemptId,
  IdMap,
  NodeId,
  WorkloadId,
  Attempt,
} from "@headroom/model";
import type { DemandMix } from "./demand-mix.ts";
import type { ReadonlyState, WorkloadEntity } from "./state.ts";

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Sequence of the last event that changed the entity, and the entity's digest at this sequence. With both, a digest of
 * the state hashes only the entities that changed.
 */
export interface Digested {
  revision: number;
  digestRevision: number;
  digestLanes: Lanes | null;
}

export type WritableWorkload = Mutable<Omit<WorkloadEntity, "activeAttempts">> &
  Digested & { activeAttempts: AttemptId[] };
export type WritableAttempt = Mutable<Attempt> & Digested;
export type WritableNode = Mutable<Node> & Digested;
/** Names and versions of artifacts are replaced, never modified in place, so copies of the state share them. */
export type DigestedArtifact = Artifact & Digested;
export type DigestedVersion = ArtifactVersion & Digested;

type Tables<Fields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends ReadonlyMap<infer Key, infer Entity> ? Map<Key, Entity> : never;
};

/** Fields of the state that are not tables, in the order in which snapshots store them. */
export type Scalars = Pick<
  ReadonlyState,
  "nowMs" | "sequence" | "chain" | "policy" | "submittedCount" | "endedCount" | "joinedNodeCount" | "pipelineRunCount"
>;

/** Tables whose entities carry the sequence of their last change. */
interface DigestedTables {
  readonly nodes: Map<NodeId, WritableNode>;
  readonly workloads: IdMap<WorkloadId, WritableWorkload>;
  readonly attempts: IdMap<AttemptId, WritableAttempt>;
  readonly artifacts: Map<string, DigestedArtifact>;
  readonly artifactVersions: Map<string, DigestedVersion>;
}

export type PlainTables = Tables<Omit<ReadonlyState, keyof Scalars | keyof DigestedTables | "demand">>;

export type State = Mutable<Scalars> & DigestedTables & PlainTables & { demand: DemandMix | null };

/** The cast is safe: every state is created in this room and has the writable form. */
export const asWritable = (state: ReadonlyState): State => state as State;

/** The empty list that all workloads without active attempts share. No code writes to it. */
export const NO_ATTEMPTS: AttemptId[] = [];
