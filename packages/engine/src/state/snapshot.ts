/**
 * Writes the state as bytes (UTF-8 JSON with a format number), and reads it back, for snapshots and forks. Indexes are
 * not included; they are rebuilt.
 */
import {
  IdMap,
  artifactKey,
  isLaterProposalKind,
  isPlanningProposalKind,
  isRemediationKind,
  isWaiting,
  InvariantError,
  jsonBytes,
  parseJsonBytes,
  utf8Decode,
} from "@headroom/model";
import type { PipelineSpec } from "@headroom/model";
import { DemandMix } from "./demand-mix.ts";
import type { StoredDemand } from "./demand-mix.ts";
import { restoreRun, store, storeRun, storeWorkload } from "./stored.ts";
import type { StoredArtifact, StoredAttempt, StoredNode, StoredRun, StoredVersion, StoredWorkload } from "./stored.ts";
import { asWritable } from "./mutable-state.ts";
import type { PlainTables, Scalars, State, WritableWorkload } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";
import { upcastPolicy, upcastSnapshot } from "./upcast.ts";

/** Number of the snapshot format, incremented when the stored form below changes. A reader refuses a newer format. */
const SNAPSHOT_FORMAT = 29;

/** The format of a state without imported past work. */
const FORMAT_WITHOUT_HISTORIES = 28;

/** The format of a state in which, besides, no endpoint follows values of metric sources. */
const FORMAT_WITHOUT_FOLLOWED_METRICS = 27;

/** The format of a state without declared stores and expected transfers, besides. */
const FORMAT_WITHOUT_STORES = 26;

/** The format of a state in which, besides, no pool has a rule of qualification and no node has to qualify. */
const FORMAT_WITHOUT_QUALIFICATIONS = 25;

/** The format of a state without proposals to remediate nodes, besides. */
const FORMAT_WITHOUT_REMEDIATIONS = 24;

/** The format of a state in which no node has reported inputs in its cache. */
const FORMAT_WITHOUT_CACHES = 23;

/** The format of a state without proposals of capacity orders or advice, besides. */
const FORMAT_WITHOUT_ADVICE = 22;

/** The format of a state without pipelines that metrics start, besides. */
const FORMAT_WITHOUT_METRICS = 21;

/** The format of a state in which no workload names a container image. */
const FORMAT_WITHOUT_IMAGES = 20;

/** The format of a state without pipelines that files start. */
const FORMAT_WITHOUT_FILES = 19;

/** The format of a state without proposals to resume, restart, or change spares or requests. */
const FORMAT_WITHOUT_REMEDIES = 18;

/** The format of a state in which no endpoint has an overflow. */
const FORMAT_WITHOUT_OVERFLOWS = 17;

/** The format of a state without orders that have an id of their own for their provisioner, or that failed in part. */
const FORMAT_WITHOUT_ORDER_IDS = 16;

/** The format of a state without pipelines that artifacts start or that set aliases. */
const FORMAT_WITHOUT_TRIGGERS = 15;

/** The format of a state in which, besides, no endpoint ever changed its revision. */
const FORMAT_WITHOUT_ROLLOUTS = 14;

/** The format of a state in which, besides, the engine never ordered nodes. */
const FORMAT_WITHOUT_BURSTS = 13;

/** The format of a state without pipelines, besides. */
const FORMAT_WITHOUT_PIPELINES = 12;

/** The format of a state in which, besides, no endpoint ever followed its load. */
const FORMAT_WITHOUT_LOAD = 11;

/** The format of a state with proposals, and without registered artifacts, besides. */
const FORMAT_WITHOUT_ARTIFACTS = 10;

/** The format of a state in which nothing was ever proposed, besides. */
const FORMAT_WITHOUT_PROPOSALS = 9;

/** The format of a state without foreign use of nodes, besides. */
const FORMAT_WITHOUT_FOREIGN_USE = 8;

/** The format of a state with executors that were declared or silent, and without endpoints, besides. */
const FORMAT_WITHOUT_ENDPOINTS = 7;

/** The format of a state in which, besides, no executor was ever declared or silent: that of the previous release. */
const FORMAT_WITHOUT_EXECUTOR_STATES = 6;

/** The format of a state without capacity orders, besides. An older release reads it, so an upgrade can be undone until then. */
const FORMAT_WITHOUT_ORDERS = 5;

/** The format of a state in which, besides, no node was ever removed and none is leaving: that of the release before. */
const FORMAT_WITHOUT_REMOVALS = 4;

function formatOf(state: State): number {
  if (state.importedHistories.size > 0) return SNAPSHOT_FORMAT;
  if (followsMetrics(state)) return FORMAT_WITHOUT_HISTORIES;
  if (hasStores(state)) return FORMAT_WITHOUT_FOLLOWED_METRICS;
  if (hasQualifications(state)) return FORMAT_WITHOUT_STORES;
  if (hasRemediations(state)) return FORMAT_WITHOUT_QUALIFICATIONS;
  if (hasCaches(state)) return FORMAT_WITHOUT_REMEDIATIONS;
  if (hasPlanningProposals(state)) return FORMAT_WITHOUT_CACHES;
  if (hasTrigger(state, "metric")) return FORMAT_WITHOUT_ADVICE;
  if (hasImages(state)) return FORMAT_WITHOUT_METRICS;
  if (hasTrigger(state, "file")) return FORMAT_WITHOUT_IMAGES;
  if (hasRemedies(state)) return FORMAT_WITHOUT_FILES;
  if (hasOverflows(state)) return FORMAT_WITHOUT_REMEDIES;
  if (hasOrderIds(state)) return FORMAT_WITHOUT_OVERFLOWS;
  if (isTriggered(state)) return FORMAT_WITHOUT_ORDER_IDS;
  if (hasRollouts(state)) return FORMAT_WITHOUT_TRIGGERS;
  if (state.burstAccounts.size > 0) return FORMAT_WITHOUT_ROLLOUTS;
  if (state.pipelines.size + state.pipelineRunCount > 0) return FORMAT_WITHOUT_BURSTS;
  if (followsLoad(state)) return FORMAT_WITHOUT_PIPELINES;
  if (state.artifacts.size > 0) return FORMAT_WITHOUT_LOAD;
  if (state.proposals.size + state.proposalRules.size > 0) return FORMAT_WITHOUT_ARTIFACTS;
  if (hasForeignUse(state)) return FORMAT_WITHOUT_PROPOSALS;
  if (hasEndpoints(state)) return FORMAT_WITHOUT_FOREIGN_USE;
  if (state.executorStates.size > 0) return FORMAT_WITHOUT_ENDPOINTS;
  if (state.capacityOrders.size > 0) return FORMAT_WITHOUT_EXECUTOR_STATES;
  return hasRemovals(state) ? FORMAT_WITHOUT_ORDERS : FORMAT_WITHOUT_REMOVALS;
}

function hasOverflows({ workloads }: State): boolean {
  for (const { spec } of workloads.values()) if (spec.kind === "serve" && spec.overflow !== undefined) return true;
  return false;
}

const hasImages = ({ workloads }: State): boolean => {
  for (const { spec } of workloads.values()) if (spec.image !== undefined) return true;
  return false;
};

const hasOrderIds = ({ capacityOrders }: State): boolean =>
  [...capacityOrders.values()].some(
    ({ automatic }) => automatic?.requestId !== undefined || automatic?.missingCount !== undefined,
  );

function hasRemediations({ proposals, proposalRules }: State): boolean {
  for (const { change } of proposals.values()) if (isRemediationKind(change.kind)) return true;
  for (const kind of proposalRules.keys()) if (isRemediationKind(kind)) return true;
  return false;
}

function hasRemedies({ proposals, proposalRules, attempts }: State): boolean {
  for (const { change } of proposals.values()) if (isLaterProposalKind(change.kind)) return true;
  for (const kind of proposalRules.keys()) if (isLaterProposalKind(kind)) return true;
  for (const { stop } of attempts.values()) if (stop?.reason === "restarted") return true;
  return false;
}

function hasPlanningProposals({ proposals, proposalRules }: State): boolean {
  for (const { change } of proposals.values()) if (isPlanningProposalKind(change.kind)) return true;
  for (const kind of proposalRules.keys()) if (isPlanningProposalKind(kind)) return true;
  return false;
}

function hasTrigger({ pipelines, pipelineRuns }: State, wanted: "file" | "metric"): boolean {
  const isNewer = ({ triggers = [] }: PipelineSpec): boolean => triggers.some(({ kind }) => kind === wanted);
  for (const { pipeline } of pipelines.values()) if (isNewer(pipeline)) return true;
  for (const { pipeline, trigger } of pipelineRuns.values())
    if (isNewer(pipeline) || trigger.kind === wanted) return true;
  return false;
}

/** Whether a pipeline has a trigger, or a step, that an older release would take for another one. */
function isTriggered({ pipelines, pipelineRuns }: State): boolean {
  const isNewer = ({ triggers = [], steps }: PipelineSpec): boolean =>
    triggers.some(({ kind }) => kind === "artifact" || kind === "alias") ||
    steps.some(({ setAlias }) => setAlias !== undefined);
  for (const { pipeline } of pipelines.values()) if (isNewer(pipeline)) return true;
  for (const { pipeline, trigger } of pipelineRuns.values())
    if (isNewer(pipeline) || (trigger.kind === "webhook" && trigger.key !== undefined)) return true;
  return false;
}

function hasStores({ stores, attempts }: State): boolean {
  if (stores.size > 0) return true;
  for (const { stagingMs } of attempts.values()) if (stagingMs !== undefined) return true;
  return false;
}

function hasQualifications({ pools, nodes }: State): boolean {
  for (const { qualification } of pools.values()) if (qualification !== undefined) return true;
  for (const { qualification } of nodes.values()) if (qualification !== undefined) return true;
  return false;
}

const hasCaches = ({ nodes }: State): boolean => {
  for (const { cachedInputs } of nodes.values()) if (cachedInputs !== undefined) return true;
  return false;
};

const hasForeignUse = ({ nodes }: State): boolean =>
  [...nodes.values()].some(({ foreignUse }) => foreignUse !== undefined);

/** Whether an endpoint has targets, or its last change had a ground that an older release cannot show. */
function followsLoad({ workloads }: State): boolean {
  for (const { spec, scale } of workloads.values())
    if (scale?.ground.kind === "load" || (spec.kind === "serve" && spec.scale !== undefined)) return true;
  return false;
}

function followsMetrics({ workloads }: State): boolean {
  for (const { spec, scale } of workloads.values()) {
    if (scale?.ground.kind === "load" && scale.ground.metric !== undefined) return true;
    if (spec.kind === "serve" && spec.scale?.metrics !== undefined) return true;
  }
  return false;
}

function hasRollouts({ workloads }: State): boolean {
  for (const { spec, rollout, revisionNumber } of workloads.values())
    if (rollout !== undefined || revisionNumber !== undefined || (spec.kind === "serve" && spec.rollout !== undefined))
      return true;
  return false;
}

function hasEndpoints({ workloads }: State): boolean {
  for (const { scale } of workloads.values()) if (scale !== undefined) return true;
  return false;
}

const hasRemovals = ({ nodes, joinedNodeCount, poolRemovals, siteRemovals }: State): boolean =>
  joinedNodeCount !== nodes.size ||
  poolRemovals.size + siteRemovals.size > 0 ||
  [...nodes.values()].some(({ removal }) => removal !== undefined);

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
    sites: [...state.sites.values()],
    executors: someOf(state.executors.values()),
    executorStates: someOf(state.executorStates.values()),
    pools: [...state.pools.values()],
    nodes: [...state.nodes.values()].map(store),
    poolRemovals: someOf(state.poolRemovals),
    siteRemovals: someOf(state.siteRemovals),
    capacityOrders: someOf(state.capacityOrders.values()),
    burstAccounts: someOf(state.burstAccounts),
    proposals: someOf(state.proposals.values()),
    proposalRules: someOf(state.proposalRules.values()),
    artifacts: someOf([...state.artifacts.values()].map(store)),
    artifactVersions: someOf([...state.artifactVersions.values()].map(store)),
    stores: someOf(state.stores.values()),
    importedHistories: someOf(state.importedHistories.values()),
    teams: [...state.teams.values()],
    workloads: [...state.workloads.values()].map(storeWorkload),
    attempts: [...state.attempts.values()].map(store),
    nominations: [...state.nominations.values()],
    accounts: someOf(state.accounts),
    migrated: someOf(state.migrated),
    decayedUsage: someOf(state.decayedUsage),
    runTimes: someOf(state.runTimes),
    schedules: someOf(state.schedules.values()),
    pipelines: someOf(state.pipelines.values()),
    pipelineRuns: someOf(Array.from(state.pipelineRuns.values(), storeRun)),
    pipelineRunCount: state.pipelineRunCount === 0 ? undefined : state.pipelineRunCount,
    cachedSteps: someOf(state.cachedSteps),
    calendar: someOf(state.calendar.values()),
    endedEntries: someOf(state.endedEntries),
    demand: state.demand?.stored(),
    answers: [...state.answers],
  });
}

const isReadable = (format: number): boolean => format >= FORMAT_WITHOUT_REMOVALS && format <= SNAPSHOT_FORMAT;

/** Tables whose entities contain their keys are stored as lists of entities, the others as lists of entries. */
type ListedTable =
  | "sites"
  | "executors"
  | "executorStates"
  | "pools"
  | "teams"
  | "nominations"
  | "schedules"
  | "pipelines"
  | "calendar"
  | "capacityOrders"
  | "proposals"
  | "proposalRules"
  | "stores"
  | "importedHistories";

/** Stored form of the tables. Empty tables are left out. */
type StoredTables = {
  readonly [Name in keyof PlainTables]?: PlainTables[Name] extends Map<infer Key, infer Value>
    ? readonly (Name extends ListedTable ? Value : readonly [Key, Value])[]
    : never;
};

interface StoredState
  extends Omit<Scalars, "joinedNodeCount" | "pipelineRunCount">, Omit<StoredTables, "pipelineRuns"> {
  readonly format: number;
  /** Absent: no node was ever removed. */
  readonly joinedNodeCount?: number;
  readonly pipelineRuns?: readonly StoredRun[];
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
  else if (stored === null || !isReadable(stored.format))
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
    sites: keyed(stored.sites, ({ name }) => name),
    executors: keyed(stored.executors, ({ id }) => id),
    executorStates: keyed(stored.executorStates, ({ executor }) => executor),
    pools: keyed(stored.pools, ({ name }) => name),
    nodes: keyed(nodes, ({ id }) => id),
    poolRemovals: new Map(stored.poolRemovals),
    siteRemovals: new Map(stored.siteRemovals),
    capacityOrders: keyed(stored.capacityOrders, ({ name }) => name),
    burstAccounts: new Map(stored.burstAccounts),
    proposals: keyed(stored.proposals, ({ id }) => id),
    proposalRules: keyed(stored.proposalRules, ({ kind }) => kind),
    artifacts: keyed(artifacts, artifactKey),
    artifactVersions: keyed(versions, ({ id }) => id),
    stores: keyed(stored.stores, ({ name }) => name),
    importedHistories: keyed(stored.importedHistories, ({ executor }) => executor),
    teams: keyed(stored.teams, ({ name }) => name),
    workloads: new IdMap(workloads.map((workload) => [workload.id, workload])),
    attempts: new IdMap(attempts.map((attempt) => [attempt.id, attempt])),
    nominations: keyed(stored.nominations, ({ attemptId }) => attemptId),
    calendar: keyed(stored.calendar, ({ entry }) => entry.name),
    endedEntries: new Map(stored.endedEntries),
    accounts: new Map(stored.accounts),
    decayedUsage: new Map(stored.decayedUsage),
    migrated: new Map(stored.migrated),
    runTimes: new Map(stored.runTimes),
    schedules: keyed(stored.schedules, ({ schedule }) => schedule.name),
    pipelines: keyed(stored.pipelines, ({ pipeline }) => pipeline.name),
    pipelineRuns: keyed(stored.pipelineRuns?.map(restoreRun), ({ id }) => id),
    cachedSteps: new Map(stored.cachedSteps),
    answers: new Map(stored.answers),
    demand: stored.demand === undefined ? null : DemandMix.restored(stored.demand),
  };
  return state;
}
