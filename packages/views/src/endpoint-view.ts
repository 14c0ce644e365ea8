/** Endpoints with their replicas and load, for gateways, the command line and the console. */
import {
  isBudgetSpent,
  parseArtifactRef,
  replicaBounds,
  revisionNumberOf,
  rolloutShare,
  shadowShare,
} from "@headroom/model";
import type { Attempt, Rollout, Workload } from "@headroom/model";
import { endpointsOf } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { ENDPOINTS_LISTED_MAX } from "@headroom/protocol";
import type {
  Endpoint,
  EndpointList,
  EndpointLoad,
  OverflowReading,
  RolloutState,
  ScalingState,
} from "@headroom/protocol";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { endpointBudgetView } from "./endpoint-budget-view.ts";
import { overflowSentence } from "./overflow-text.ts";
import { rolloutSentence } from "./rollout-text.ts";
import { exitSentence, isServing } from "./workload-view.ts";

/** The load of endpoints as gateways report it. It is not part of the engine's state. */
export interface EndpointReadings {
  load(workloadId: string): EndpointLoad | null;
  scaling(workloadId: string): ScalingState | null;
  /** Requests in progress at an address; `null`: unknown. */
  requestsAt(workloadId: string, address: string): number | null;
  /** Requests that left the endpoint, over all gateways; `null`: none reported. */
  overflow(workloadId: string): OverflowReading | null;
  /** The verdict on the rollout with this number, as far as gateways reported. */
  rollout(workload: Workload): RolloutJudged | null;
}

export interface RolloutJudged {
  readonly verdict: RolloutState["verdict"];
  readonly requests: RolloutState["requests"];
  readonly figures: RolloutState["figures"];
}

const noReadings: EndpointReadings = {
  load: () => null,
  scaling: () => null,
  requestsAt: () => null,
  overflow: () => null,
  rollout: () => null,
};

export interface EndpointListOptions {
  readonly nowMs: number;
  readonly readable?: ReadableTeams;
  readonly readings?: EndpointReadings;
}

export function endpointListView(
  engine: Engine,
  { nowMs, readable = null, readings = noReadings }: EndpointListOptions,
): EndpointList {
  const { state } = engine;
  const items: Endpoint[] = [];
  for (const workload of endpointsOf(engine)) {
    if (!isReadable(readable, workload.spec.team)) continue;
    const item = endpointView(state, workload, { nowMs, readings });
    if (item !== null && items.push(item) === ENDPOINTS_LISTED_MAX) break;
  }
  return { sequence: state.sequence, nowMs, items };
}

function endpointView(
  state: ReadonlyState,
  workload: Workload,
  { nowMs, readings }: { readonly nowMs: number; readonly readings: EndpointReadings },
): Endpoint | null {
  const { attempts } = state;
  const { id, spec, scale, phase, activeAttempts } = workload;
  if (spec.kind !== "serve" || scale === undefined) return null;
  const active = activeAttempts.flatMap((each) => attempts.get(each) ?? []);
  const { replicas: wanted, from, atMs, actor, ground } = scale;
  return {
    workloadId: id,
    name: spec.name,
    team: spec.team,
    model: servedName(spec),
    phase,
    replicas: {
      ...spec.replicas,
      wanted,
      running: active.filter(({ stop }) => stop === null).length,
      ready: active.filter(isServing).length,
    },
    lastChange: { from, atMs, actor, ground: { ...ground } },
    autoscaled: spec.scale !== undefined,
    load: readings.load(id),
    scaling: spec.scale === undefined ? null : readings.scaling(id),
    revision: revisionNumberOf(workload),
    rollout: rolloutView(workload, active, readings),
    overflow: overflowView(workload, readings),
    failure: failureView(workload, active),
    budget: endpointBudgetView(state, workload, nowMs),
    list: active.map((attempt) => replicaView(attempt, readings)),
  };
}

/** Replicas that fail start again for ever, so an endpoint without a ready one says why. */
function failureView({ endedAttempts }: Workload, active: readonly Attempt[]): Endpoint["failure"] {
  const last = endedAttempts.at(-1);
  if (last?.outcome !== "failed" || active.some(isServing)) return null;
  const how = last.exit === null ? last.detail : exitSentence(last.exit);
  return { attemptId: last.id, atMs: last.endedAtMs, sentence: how === "" ? "it failed" : how };
}

const BUDGET_SPENT = "The budget of the endpoint is spent, so no request leaves that costs money.";

/** Gateways follow this view. Where a spent budget leaves no replica, the overflow has nothing to spend, or all traffic would go there. */
function overflowView({ id, spec, account }: Workload, readings: EndpointReadings): Endpoint["overflow"] {
  if (spec.kind !== "serve" || spec.overflow === undefined) return null;
  const { budget, dataRules, ...policy } = spec.overflow;
  const declared = {
    ...policy,
    ...(budget === undefined ? {} : { budget: { ...budget } }),
    dataRules: [...dataRules],
    reading: readings.overflow(id),
  };
  const sentence = overflowSentence(declared);
  const budgeted = { spec, ...(account === undefined ? {} : { account }) };
  if (!isBudgetSpent(budgeted) || replicaBounds(budgeted).max > 0) return { ...declared, sentence };
  const closed = { microUsd: 0, period: budget?.period ?? "day" };
  return { ...declared, budget: closed, sentence: `${sentence} ${BUDGET_SPENT}` };
}

const replicaView = (
  { id, workloadId, task, phase, ready, stop, ...attempt }: Attempt,
  readings: EndpointReadings,
): Endpoint["list"][number] => ({
  attemptId: id,
  task,
  phase,
  address: ready?.address ?? null,
  draining: stop !== null,
  readySinceMs: ready?.atMs ?? null,
  revision: revisionNumberOf(attempt),
  requests: ready === undefined ? null : readings.requestsAt(workloadId, ready.address),
});

function rolloutView(workload: Workload, active: readonly Attempt[], readings: EndpointReadings): Endpoint["rollout"] {
  const { rollout, spec } = workload;
  if (rollout === undefined || spec.kind !== "serve") return null;
  const isNew = (attempt: Attempt): boolean => revisionNumberOf(attempt) === rollout.number;
  const ready = active.filter(isServing);
  const canaryReady = ready.filter(isNew).length;
  const {
    number,
    changes,
    cause,
    actor,
    startedAtMs,
    deadlineAtMs,
    steps = null,
    step,
    stepAtMs,
    stable,
    canary,
  } = rollout;
  const judged = steps === null ? null : readings.rollout(workload);
  const moving = rollout.isFinal === true ? "finishing" : "running";
  const state = {
    number,
    fromNumber: revisionNumberOf(workload),
    cause,
    actor,
    changed: Object.keys(changes),
    startedAtMs,
    deadlineAtMs,
    steps: steps === null ? null : [...steps],
    step,
    stepAtMs,
    phase: rollout.isReversed === true ? "turningBack" : rollout.isPaused === true ? "paused" : moving,
    weightMilli: weightMilliOf(rollout, canaryReady),
    shadowMilli: shadowMilliOf(rollout),
    replicas: { stable, canary, stableReady: ready.length - canaryReady, canaryReady },
    verdict: judged?.verdict ?? null,
    requests: judged?.requests ?? null,
    figures: judged?.figures ?? [],
  } as const;
  return { ...state, sentence: rolloutSentence(state, spec.rollout?.everyMs ?? null) };
}

/** With some of the new replicas, the new revision gets as much less. */
function weightMilliOf(rollout: Rollout, canaryReady: number): number | null {
  const share = rolloutShare(rollout);
  if (share === null) return null;
  return Math.floor((10 * share * Math.min(canaryReady, rollout.canary)) / Math.max(1, rollout.canary));
}

function shadowMilliOf(rollout: Rollout): number | null {
  const share = shadowShare(rollout);
  return share === null ? null : 10 * share;
}

/** The name in requests: of an artifact, its name. */
function servedName({ name, servedModel }: { readonly name: string; readonly servedModel?: string }): string {
  return servedModel === undefined ? name : (parseArtifactRef(servedModel)?.name ?? servedModel);
}
