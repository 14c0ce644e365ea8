/**
 * Conclusions about one attempt from its pods and their nodes. Pure. Kubernetes' word alone ends nothing: a pod that is missing from the
 * copy may be in the cluster, and one on a node that is not ready may run. So an attempt is lost only if that lasts.
 */
import type { ExitRecord } from "../../job-protocol/attempt-records.ts";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodState } from "./pod-state.ts";
import { adoptedStateOf, isOver, podStateOf } from "./pod-state.ts";

/** `gone`: the cluster has no such node. */
export type NodeHealth =
  | { readonly kind: "ready" }
  | { readonly kind: "notReady"; readonly detail: string }
  | { readonly kind: "gone" };

export interface GangRules {
  readonly startTimeoutMs: number;
  readonly lostAfterMs: number;
  readonly nodeLostAfterMs: number;
}

/** The pods of an attempt by rank. `null`: the copy of the cluster has none of that name. */
export interface GangFacts {
  readonly pods: readonly (KubernetesPod | null)[];
  readonly nodes: readonly NodeHealth[];
  /** Whether Headroom has requested a stop. */
  readonly isStopped: boolean;
  /** The rank that failed first; `null`: none has. */
  readonly failedRank: number | null;
  /** False: the copies of pods or nodes may be out of date, so what they lack says nothing. */
  readonly isUpToDate: boolean;
  /** The pods belong to others: their owners decide what a failed worker means, and how long a start may take. */
  readonly isAdopted: boolean;
}

/** Since when something is so, by `performance.now()`. Kept between calls. */
export interface GangMemory {
  readonly missingSinceMs: Map<number, number>;
  readonly badNodeSinceMs: Map<number, number>;
  startedWaitingAtMs: number | null;
  /** Answers in a row that denied a pod or a node. */
  denials: number;
}

/** Answers in a row that must deny a pod or a node, because a single one may be wrong. */
export const DENIALS_MIN = 3;

export const newMemory = (): GangMemory => ({
  missingSinceMs: new Map(),
  badNodeSinceMs: new Map(),
  startedWaitingAtMs: null,
  denials: 0,
});

export type GangConclusion =
  | { readonly kind: "wait" }
  /** Pods of these ranks have no node yet. */
  | { readonly kind: "bind"; readonly ranks: readonly number[] }
  /** A worker failed: the others are stopped. */
  | { readonly kind: "fail"; readonly rank: number }
  /** All workers are over, with exits of their own. */
  | { readonly kind: "end"; readonly ends: readonly Extract<PodState, { kind: "exited" }>[] }
  /** The workload cannot start as it is. */
  | { readonly kind: "refuse"; readonly detail: string }
  /** It counts as lost once the cluster confirms that there is no such pod. */
  | { readonly kind: "confirmMissing"; readonly rank: number }
  | { readonly kind: "nodeLost"; readonly rank: number; readonly detail: string }
  | { readonly kind: "lost"; readonly detail: string };

const wait: GangConclusion = { kind: "wait" };

export function statesOf({ pods, isAdopted }: Pick<GangFacts, "pods" | "isAdopted">): readonly (PodState | null)[] {
  const stateOf = isAdopted ? adoptedStateOf : podStateOf;
  return pods.map((pod, rank) => (pod === null ? null : stateOf(pod, rank)));
}

/** `states`: those of the pods (`statesOf`). */
export function judge(
  facts: GangFacts,
  states: readonly (PodState | null)[],
  memory: GangMemory,
  rules: GangRules,
): GangConclusion {
  const nowMs = performance.now();
  noteMissing(facts, memory, nowMs);
  noteNodes(facts, states, memory, nowMs);
  if (memory.missingSinceMs.size === 0 && memory.badNodeSinceMs.size === 0) memory.denials = 0;
  if (states.every((state) => state !== null && isOver(state))) return judgeEnd(facts, states as readonly PodState[]);
  const failed = states.findIndex((state) => state !== null && hasFailed(state));
  if (!facts.isAdopted && failed >= 0 && facts.failedRank === null && !facts.isStopped)
    return { kind: "fail", rank: failed };
  const gone = judgeNodes(facts, memory, rules, nowMs) ?? judgeMissing(memory, rules, nowMs);
  if (gone !== null) return gone;
  if (facts.isStopped || facts.failedRank !== null) return wait;
  if (facts.isAdopted) return bindUnbound(states);
  return judgeStart(states, memory, rules, nowMs);
}

const bindUnbound = (states: readonly (PodState | null)[]): GangConclusion => {
  const ranks = ranksOf(states, "unbound");
  return ranks.length === 0 ? wait : { kind: "bind", ranks };
};

const ranksOf = (states: readonly (PodState | null)[], kind: PodState["kind"]): readonly number[] =>
  states.flatMap((state, rank) => (state?.kind === kind ? [rank] : []));

const hasFailed = (state: PodState): boolean =>
  state.kind === "failed" || (state.kind === "exited" && !(state.exit.kind === "exited" && state.exit.code === 0));

function judgeEnd({ pods, isStopped, failedRank, isAdopted }: GangFacts, states: readonly PodState[]): GangConclusion {
  // The pods of others end with their work, whoever ended them: Headroom cannot start them again.
  if (isAdopted) return { kind: "end", ends: states.map(endOfAdopted) };
  const failed = states.find((state) => state.kind === "failed");
  if (failed !== undefined)
    return {
      kind: "lost",
      detail: isStopped ? "It was stopped before all of its workers had started." : failed.detail,
    };
  const ends = states.filter((state) => state.kind === "exited");
  // A deletion ends containers by a signal; work that handles the signal exits with a code of its own.
  const byDeletion = states.map(
    (state, rank) => hasFailed(state) && pods[rank]?.metadata.deletionTimestamp !== undefined,
  );
  // Headroom deletes pods of attempts that it stops, and the others of a gang with a failed worker.
  const first = failedRank ?? byDeletion.indexOf(true);
  if (!isStopped && byDeletion[first] === true)
    return { kind: "lost", detail: `The pod of worker ${first} was deleted or evicted by others.` };
  return { kind: "end", ends };
}

/** A pod that was evicted or deleted before its container ended was killed. */
function endOfAdopted(state: PodState, rank: number): Extract<PodState, { kind: "exited" }> {
  if (state.kind === "exited") return state;
  const nowMs = Date.now();
  const exit = { kind: "signalled", worker: rank, signal: "SIGKILL" } as const;
  return { kind: "exited", exit, startedAtMs: nowMs, endedAtMs: nowMs };
}

function judgeNodes(
  { nodes, pods }: GangFacts,
  memory: GangMemory,
  rules: GangRules,
  nowMs: number,
): GangConclusion | null {
  for (const [rank, sinceMs] of memory.badNodeSinceMs) {
    const health = nodes[rank];
    if (health === undefined || health.kind === "ready") continue;
    const forMs = nowMs - sinceMs;
    if (forMs < (health.kind === "gone" ? rules.lostAfterMs : rules.nodeLostAfterMs)) continue;
    const node = pods[rank]?.spec?.nodeName ?? "";
    const detail = health.kind === "gone" ? "it is no longer in the cluster" : health.detail;
    return {
      kind: "nodeLost",
      rank,
      detail: `The node ${node} is lost: ${detail}, for ${Math.round(forMs / 1_000)} s.`,
    };
  }
  return null;
}

function judgeMissing(
  { missingSinceMs }: GangMemory,
  { lostAfterMs }: GangRules,
  nowMs: number,
): GangConclusion | null {
  for (const [rank, sinceMs] of missingSinceMs)
    if (nowMs - sinceMs >= lostAfterMs) return { kind: "confirmMissing", rank };
  return null;
}

function judgeStart(
  states: readonly (PodState | null)[],
  memory: GangMemory,
  { startTimeoutMs }: GangRules,
  nowMs: number,
): GangConclusion {
  const unbound = ranksOf(states, "unbound");
  const waiting = states.find((state) => state?.kind === "waiting");
  if (unbound.length === 0 && waiting === undefined) {
    memory.startedWaitingAtMs = null;
    return wait;
  }
  memory.startedWaitingAtMs ??= nowMs;
  if (nowMs - memory.startedWaitingAtMs < startTimeoutMs)
    return unbound.length > 0 ? { kind: "bind", ranks: unbound } : wait;
  const seconds = Math.round(startTimeoutMs / 1_000);
  if (waiting?.kind !== "waiting") return { kind: "lost", detail: `Its pods could not be bound within ${seconds} s.` };
  return waiting.isFault
    ? { kind: "refuse", detail: `its container could not be started within ${seconds} s: ${waiting.detail}` }
    : { kind: "lost", detail: `Its container did not start within ${seconds} s (${waiting.detail}).` };
}

function noteMissing({ pods, isUpToDate }: GangFacts, { missingSinceMs }: GangMemory, nowMs: number): void {
  for (const [rank, pod] of pods.entries()) {
    if (pod !== null || !isUpToDate) missingSinceMs.delete(rank);
    else if (!missingSinceMs.has(rank)) missingSinceMs.set(rank, nowMs);
  }
}

/** A silent API server says nothing about nodes, so the time begins again when it answers. */
function noteNodes(
  { nodes, isUpToDate }: GangFacts,
  states: readonly (PodState | null)[],
  { badNodeSinceMs }: GangMemory,
  nowMs: number,
): void {
  for (const [rank, health] of nodes.entries()) {
    const state = states[rank] ?? null;
    const isHere = state !== null && !isOver(state) && state.kind !== "unbound";
    if (!isUpToDate || !isHere || health.kind === "ready") badNodeSinceMs.delete(rank);
    else if (!badNodeSinceMs.has(rank)) badNodeSinceMs.set(rank, nowMs);
  }
}

/** The end records of the workers, one part for each. */
export const endRecords = (ends: readonly Extract<PodState, { kind: "exited" }>[]): readonly ExitRecord[] =>
  ends.map(({ exit, startedAtMs, endedAtMs }) => ({
    kind: "exited",
    startedAtMs,
    endedAtMs,
    exits: [{ ...exit, worker: 0 }],
    usage: [],
  }));
