/**
 * Writes the state as bytes (UTF-8 JSON with a format number), and reads it back, for snapshots and forks. Indexes are
 * not included; they are rebuilt.
 */
import { IdMap, artifactKey, isWaiting, InvariantError, jsonBytes, parseJsonBytes, utf8Decode } from "@headroom/model";
import { DemandMix } from "./demand-mix.ts";
import type { StoredDemand } from "./demand-mix.ts";
import { store, storeWorkload } from "./stored.ts";
import type { StoredArtifact, StoredAttempt, StoredNode, StoredVersion, StoredWorkload } from "./stored.ts";
import { asWritable } from "./mutable-state.ts";
import type { Scalars, State, WritableWorkload } from "./mutable-state.ts";
import { SNAPSHOT_FORMAT, formatOf, isReadableFormat } from "./snapshot-format.ts";
import type { ReadonlyState } from "./state.ts";
import { restoredTables, storedTables } from "./tables.ts";
import { upcastPolicy, upcastSnapshot } from "./upcast.ts";

export function encodeSnapshot(readonlyState: ReadonlyState): Uint8Array {
  const state = asWritable(readonlyState);
  return jsonBytes({
    format: formatOf(state),
    nowMs: state.nowMs,
    sequence: state.sequence,
    chain: state.chain,
    policy: state.policy,
    submittedCount: state.submittedCount,
    endedCount: state.endedCount,
    joinedNodeCount: state.joinedNodeCount === state.nodes.size ? undefined : state.joinedNodeCount,
    pipelineRunCount: state.pipelineRunCount === 0 ? undefined : state.pipelineRunCount,
    ...storedTables(state),
    nodes: [...state.nodes.values()].map(store),
    artifacts: someOf([...state.artifacts.values()].map(store)),
    artifactVersions: someOf([...state.artifactVersions.values()].map(store)),
    workloads: [...state.workloads.values()].map(storeWorkload),
    attempts: [...state.attempts.values()].map(store),
    demand: state.demand?.stored(),
  });
}

interface StoredState extends Omit<Scalars, "joinedNodeCount" | "pipelineRunCount"> {
  readonly format: number;
  /** Absent: no node was ever removed. */
  readonly joinedNodeCount?: number;
  /** Absent: no pipeline ever ran. */
  readonly pipelineRunCount?: number;
  readonly nodes: readonly StoredNode[];
  readonly workloads: readonly StoredWorkload[];
  readonly attempts: readonly StoredAttempt[];
  /** Absent: no artifact was ever registered. */
  readonly artifacts?: readonly StoredArtifact[];
  readonly artifactVersions?: readonly StoredVersion[];
  /** Recent demand. Absent while no policy's scores need it. */
  readonly demand?: StoredDemand;
}

const NO_BOOKKEEPING = { digestRevision: 0, digestLanes: null } as const;
const keyed = <Key, Value>(values: readonly Value[] = [], keyOf: (value: Value) => Key): Map<Key, Value> =>
  new Map(values.map((value) => [keyOf(value), value]));

const someOf = <Item>(items: Iterable<Item>): readonly Item[] | undefined => {
  const list = [...items];
  return list.length === 0 ? undefined : list;
};

/**
 * A snapshot of at most this many bytes is parsed as one text, which is faster. The limit is well below the longest
 * string of the runtime.
 */
const TEXT_BYTES_MAX = 2 ** 28;
/** Larger snapshots have their lists parsed in pieces of this number of bytes. */
const PIECE_BYTES = 2 ** 24;

/**
 * Reads a snapshot. Throws `InvariantError` if the bytes are not a snapshot of this format or an older one. Only tests
 * pass their own `textBytesMax`.
 */
export function decodeSnapshot(bytes: Uint8Array, textBytesMax: number = TEXT_BYTES_MAX): ReadonlyState {
  let stored: StoredState | null;
  try {
    stored = (
      bytes.length <= textBytesMax
        ? JSON.parse(utf8Decode(bytes))
        : parseJsonBytes(bytes, Math.min(PIECE_BYTES, textBytesMax))
    ) as StoredState | null;
  } catch (cause) {
    throw new InvariantError("the snapshot is damaged: not JSON", { cause });
  }
  if (stored?.format === 1 || stored?.format === 2 || stored?.format === 3) stored = upcastSnapshot(stored);
  else if (stored === null || !isReadableFormat(stored.format))
    throw new InvariantError(
      `the snapshot has format ${String(stored?.format)}, this version reads ${SNAPSHOT_FORMAT}`,
    );
  const workloads = stored.workloads.map((workload): WritableWorkload => ({
    ...workload,
    tasks: new Map(workload.tasks.map((task) => [task.index, task])),
    waitingTasks: workload.tasks.filter(isWaiting).map(({ index }) => index),
    ...NO_BOOKKEEPING,
  }));
  const nodes = stored.nodes.map((node) => ({ ...node, ...NO_BOOKKEEPING }));
  const artifacts = (stored.artifacts ?? []).map((artifact) => ({ ...artifact, ...NO_BOOKKEEPING }));
  const versions = (stored.artifactVersions ?? []).map((version) => ({ ...version, ...NO_BOOKKEEPING }));
  const attempts = stored.attempts.map((attempt) => ({ ...attempt, ...NO_BOOKKEEPING }));
  const { nowMs, sequence, chain, submittedCount, endedCount } = stored;
  const state: State = {
    nowMs,
    sequence,
    chain,
    policy: upcastPolicy(stored.policy),
    submittedCount,
    endedCount,
    joinedNodeCount: stored.joinedNodeCount ?? nodes.length,
    pipelineRunCount: stored.pipelineRunCount ?? 0,
    ...restoredTables({ ...stored }),
    nodes: keyed(nodes, ({ id }) => id),
    artifacts: keyed(artifacts, artifactKey),
    artifactVersions: keyed(versions, ({ id }) => id),
    workloads: new IdMap(workloads.map((workload) => [workload.id, workload])),
    attempts: new IdMap(attempts.map((attempt) => [attempt.id, attempt])),
    demand: stored.demand === undefined ? null : DemandMix.restored(stored.demand),
  };
  return state;
}
