/**
 * Applies a reported change by commands and observations to a separate engine, without the code that found the change.
 * Returns whether the work then starts, at once or after terminating work has ended.
 */
import { nodeId } from "@headroom/model";
import type {
  AntiAffinityFrom,
  AntiAffinitySpec,
  Attempt,
  GangSpec,
  Input,
  Pool,
  Team,
  Workload,
  WorkloadId,
  WorkloadSpec,
  Nomination,
} from "@headroom/model";
import { restoreEngine } from "@headroom/engine";
import type { Engine, Ready } from "@headroom/engine";
import { applied, command } from "@headroom/engine/testing";
import type { AntiAffinityTerm, Change, LargerBudget } from "../../src/index.ts";
import { answers } from "./pending-cases.ts";
import type { PendingCase } from "./pending-cases.ts";

export type Outcome = "starts" | "startsAfterOthersLeft" | "isNominated" | "waits";

export function madeReal({ snapshot, nowMs, workloadId }: PendingCase, change: Change): Outcome {
  const engine = restoreEngine(snapshot);
  const workload = engine.state.workloads.get(workloadId);
  if (workload === undefined) throw new Error(`no workload ${workloadId}`);
  const next = changed(stillToDo(workload), change);
  const inputs =
    next === null ? others(engine, workloadId, change) : again(workload.activeAttempts.length > 0, workloadId, next);
  const rounds = [receive(engine, inputs, nowMs)];
  const submitted = rounds[0]?.events.find((event) => event.kind === "workloadSubmitted");
  if (next !== null && submitted === undefined) return "waits";
  const target = submitted?.kind === "workloadSubmitted" ? submitted.workloadId : workloadId;
  if (isPlaced(rounds, target)) return "starts";
  const gives = ({ workloadId: id, growth, afterAttempt }: Nomination): boolean =>
    id === target && !growth && afterAttempt === undefined;
  if (![...engine.state.nominations.values()].some(gives)) return "waits";
  for (let round = 0; round < 5; round++) rounds.push(receive(engine, answers(engine), nowMs));
  return isPlaced(rounds, target) ? "startsAfterOthersLeft" : "isNominated";
}

/** A running task of the workload that is migrated does not count as a start. */
function isPlaced(rounds: readonly Ready[], id: WorkloadId): boolean {
  const events = rounds.flatMap((round) => round.events);
  const moves = new Set(
    events.flatMap((event) =>
      event.kind === "placementNominated" && event.nomination.afterAttempt !== undefined
        ? [event.nomination.attemptId]
        : [],
    ),
  );
  return events.some((event) => event.kind === "gangPlaced" && event.workloadId === id && !moves.has(event.attemptId));
}

const receive = (engine: Engine, inputs: readonly Input[], nowMs: number): Ready => {
  const ready = engine.receive(inputs, nowMs);
  engine.advance();
  return ready;
};

const again = (isRunning: boolean, workloadId: WorkloadId, spec: WorkloadSpec): readonly Input[] => [
  command({ kind: isRunning ? "holdWorkload" : "stopWorkload", workloadId }),
  command({ kind: "submitWorkload", spec }),
];

/** For an array, the spec of the tasks that have not started. */
function stillToDo({ spec, nextTask, waitingTasks }: Workload): WorkloadSpec {
  return spec.kind === "batch" ? { ...spec, taskCount: spec.taskCount - nextTask + waitingTasks.length } : spec;
}

/** The spec to submit instead; `null`: the spec stays the same. */
function changed(spec: WorkloadSpec, change: Change): WorkloadSpec | null {
  const gang = (amounts: Partial<GangSpec>): WorkloadSpec => ({ ...spec, gang: { ...spec.gang, ...amounts } });
  switch (change.kind) {
    case "dropNotBefore": {
      const { notBeforeMs: _notBefore, ...rest } = spec;
      return rest;
    }
    case "dropStartWindow":
      return withStartWindow(spec, change.conditions);
    case "otherType":
      return { ...spec, acceleratorTypes: [...spec.acceleratorTypes, change.acceleratorType] };
    case "dropSelector":
      return {
        ...spec,
        nodeSelector: Object.fromEntries(
          Object.entries(spec.nodeSelector ?? {}).filter(([label]) => !change.labels.includes(label)),
        ),
      };
    case "widerFabric": {
      const { fabric: _fabric, ...rest } = spec;
      return change.to === null ? rest : { ...rest, fabric: { within: change.to } };
    }
    case "widerSpread":
      return { ...spec, spread: { topologyKey: change.topologyKey, maxPerDomain: change.to } };
    case "preemptible":
      return { ...spec, preemptible: true };
    case "dropAntiAffinity":
      return {
        ...spec,
        gang: { ...spec.gang, antiAffinity: withoutTerms(spec.gang.antiAffinity ?? {}, change.terms) },
      };
    case "shorterWalltime":
      return { ...spec, walltimeMs: change.toMs };
    case "fewerWorkers":
      return gang(spec.gang.minWorkers === undefined ? { workers: change.to } : { minWorkers: change.to });
    case "fewerAccelerators":
      return gang({ accelerators: change.to });
    case "fewerCores":
      return gang({ coresMilli: change.toMilli });
    case "lessMemory":
      return gang({ memoryMib: change.toMib });
    case "lessNetwork":
      return gang({ networkGbps: change.toGbps });
    case "higherPriority":
      return { ...spec, priority: change.to };
    default:
      return null;
  }
}

function withStartWindow({ startWindow = {}, ...spec }: WorkloadSpec, dropped: readonly string[]): WorkloadSpec {
  const kept = Object.fromEntries(Object.entries(startWindow).filter(([field]) => !dropped.includes(field)));
  return Object.keys(kept).length === 0 ? spec : { ...spec, startWindow: kept };
}

function withoutTerms(
  { exclusive, from = [], sets = [] }: AntiAffinitySpec,
  terms: readonly AntiAffinityTerm[],
): AntiAffinitySpec {
  const isAlone = exclusive === true && !terms.some((term) => "exclusive" in term);
  const isKept = (rule: AntiAffinityFrom): boolean =>
    !terms.some((term) => "set" in term && JSON.stringify(term) === JSON.stringify(rule));
  return {
    ...(isAlone ? { exclusive: true } : {}),
    from: from.filter(isKept),
    sets: sets.filter((set) => !terms.some((term) => "of" in term && term.of === set)),
  };
}

function raised(known: Team, { resource, to }: LargerBudget): Team {
  if (known.budget === undefined) throw new Error(`team ${known.name} has no budget`);
  const bound = resource === "gpuHours" ? { gpuHours: to } : { microUsd: to };
  return { ...known, budget: { ...known.budget, ...bound } };
}

function others(engine: Engine, workloadId: WorkloadId, change: Change): readonly Input[] {
  const { state } = engine;
  switch (change.kind) {
    case "release":
      return [command({ kind: "releaseWorkload", workloadId })];
    case "largerBudget": {
      const teams = new Map(state.teams);
      for (const budget of change.budgets) teams.set(budget.team, raised(teams.get(budget.team) as Team, budget));
      return [applied({ teams: [...teams.values()] })];
    }
    case "largerLimit":
    case "largerGuarantee": {
      const known = state.teams.get(change.team) as Team;
      const field = change.kind === "largerGuarantee" ? "guarantee" : change.user === undefined ? "limit" : "userLimit";
      return [applied({ teams: [{ ...known, [field]: { ...known[field], [change.resource]: change.to } }] })];
    }
    case "resumeNodes":
      return change.nodes.map((nodeId) => command({ kind: "resumeNode", nodeId }));
    case "laterWindow": {
      const entry = state.calendar.get(change.name)?.entry;
      if (entry === undefined || entry.kind === "tariff") throw new Error(`no window ${change.name}`);
      const endMs = change.toMs + entry.endMs - entry.startMs;
      return [applied({ calendar: [{ ...entry, startMs: change.toMs, endMs }] })];
    }
    case "fewerHotSpares":
      return [applied({ pools: [{ ...(state.pools.get(change.pool) as Pool), hotSpares: change.to }] })];
    case "admitData": {
      const pools = change.pools.map((name) => state.pools.get(name) as Pool);
      return [applied({ pools: pools.map((known) => ({ ...known, data: { rules: [change.rule] } })) })];
    }
    case "afterEnds":
      return firstToEnd(engine, change.count).map(({ id }) => ({
        kind: "attemptExited",
        attemptId: id,
        exits: [{ kind: "exited", worker: 0, code: 0 }],
      }));
    case "moreNodes": {
      const like = state.nodes.get(change.like);
      if (like === undefined) throw new Error(`no node ${change.like}`);
      const { pool, fabric, acceleratorCount, coresMilli, memoryMib, labels = {} } = like;
      return Array.from({ length: change.count }, (_, index): Input => {
        const id = nodeId(`${change.like}+${index + 1}`);
        return { kind: "nodeSeen", node: { id, pool, fabric, acceleratorCount, coresMilli, memoryMib, labels } };
      });
    }
    default:
      throw new Error(`${change.kind} is no change of others`);
  }
}

const DAY_MS = 24 * 3_600_000;

function firstToEnd({ state }: Engine, count: number): readonly Attempt[] {
  const endMs = ({ workloadId, startedAtMs, placedAtMs }: Attempt): number =>
    Math.max(state.nowMs, (startedAtMs ?? placedAtMs) + (state.workloads.get(workloadId)?.spec.walltimeMs ?? DAY_MS));
  return [...state.attempts.values()]
    .toSorted((left, right) => endMs(left) - endMs(right) || left.placedSequence - right.placedSequence)
    .slice(0, count);
}
