/**
 * Enumerates every change of a kind that is smaller than a stated one, or every change of the kind if none is stated.
 */
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { minWorkersOf } from "@headroom/model";
import type { NodeId, StartWindowCondition, Team, Workload, WorkloadSpec } from "@headroom/model";
import type { AntiAffinityTerm, Change, LargerBudget } from "../../src/index.ts";

/** Whole numbers between both bounds, exclusive. */
const between = (low: number, high: number): readonly number[] =>
  Array.from({ length: Math.max(0, high - low - 1) }, (_, index) => low + 1 + index);

const GIB_MIB = 1024;
const MICRO_USD = 1_000_000;
const FAR_MS = 2000 * 3_600_000;
const SAMPLES = 12;
const ENDS = 8;

/** All subsets except the empty one. */
const setsOf = <Of>(all: readonly Of[]): readonly (readonly Of[])[] =>
  all.reduce<readonly (readonly Of[])[]>((sets, each) => [...sets, [each], ...sets.map((set) => [...set, each])], []);

const drainedOf = ({ nodes }: Engine["state"]): readonly NodeId[] =>
  [...nodes.values()].filter(({ draining }) => draining).map(({ id }) => id);

/** Smaller increases of a budget: none, and every whole GPU-hour or dollar below the reported one. */
const raises = (from: number, to: number, resource: LargerBudget["resource"]): readonly number[] => {
  const unit = resource === "gpuHours" ? 1 : MICRO_USD;
  return [from, ...between(Math.floor(from / unit), to / unit).map((units) => units * unit)];
};

export function smallerThan({ state }: Engine, change: Change): readonly Change[] {
  switch (change.kind) {
    case "fewerWorkers":
    case "fewerHotSpares":
    case "fewerAccelerators":
      return between(change.to, change.from).map((to) => ({ ...change, to }));
    case "fewerCores":
      return between(change.toMilli / 1000, change.fromMilli / 1000).map((cores) => ({
        ...change,
        toMilli: cores * 1000,
      }));
    case "lessMemory":
      return between(change.toMib / GIB_MIB, change.fromMib / GIB_MIB).map((gib) => ({
        ...change,
        toMib: gib * GIB_MIB,
      }));
    case "lessNetwork":
      return between(change.toGbps, change.fromGbps).map((toGbps) => ({ ...change, toGbps }));
    case "widerSpread":
    case "higherPriority":
      return between(change.from, change.to).map((to) => ({ ...change, to }));
    case "largerLimit":
    case "largerGuarantee":
      return amountsBelow(change).map((to) => ({ ...change, to }));
    case "afterEnds":
    case "moreNodes":
      return between(0, change.count).map((count) => ({ ...change, count }));
    case "shorterWalltime": {
      const most = change.fromMs ?? 24 * 3_600_000;
      const longer = [
        change.toMs + 1,
        ...between(0, SAMPLES).map((part) => change.toMs + Math.floor(((most - change.toMs) * part) / SAMPLES)),
      ];
      return longer.filter((toMs) => toMs > change.toMs && toMs < most).map((toMs) => ({ ...change, toMs }));
    }
    case "largerBudget":
      return change.budgets.flatMap(({ from, to, resource }, index) =>
        raises(from, to, resource).map((less) => ({
          ...change,
          budgets: change.budgets.with(index, { ...(change.budgets[index] as LargerBudget), to: less }),
        })),
      );
    case "dropAntiAffinity":
      return setsOf(change.terms)
        .filter((terms) => terms.length < change.terms.length)
        .map((terms) => ({ ...change, terms }));
    case "resumeNodes":
      return setsOf(drainedOf(state))
        .filter((nodes) => nodes.length < change.nodes.length)
        .map((nodes) => ({ ...change, nodes }));
    case "admitData":
      return setsOf(change.pools)
        .filter((pools) => pools.length < change.pools.length)
        .map((pools) => ({ ...change, pools }));
    case "laterWindow":
      return [change.fromMs + 60_000, (change.fromMs + change.toMs) / 2, change.toMs - 60_000]
        .filter((toMs) => toMs > change.fromMs && toMs <= change.toMs - 60_000)
        .map((toMs) => ({ ...change, toMs: Math.floor(toMs) }));
    case "dropStartWindow":
      return change.conditions.map((condition) => ({
        ...change,
        conditions: change.conditions.filter((each) => each !== condition),
      }));
    case "dropSelector":
      return change.labels.length < 2 ? [] : change.labels.map((label) => ({ ...change, labels: [label] }));
    case "widerFabric": {
      const levels = [null, ...([...state.sites.values()][0]?.fabricLevels ?? []), "node"];
      return levels.slice(levels.indexOf(change.to) + 1, levels.indexOf(change.from)).map((to) => ({ ...change, to }));
    }
    default:
      return [];
  }
}

const manyTimes = ({ name, budget }: Team): readonly LargerBudget[] => {
  const bound = (resource: LargerBudget["resource"], from: number | undefined): readonly LargerBudget[] =>
    from === undefined ? [] : [{ team: name, resource, from, to: from + 1000 * MICRO_USD }];
  return [...bound("gpuHours", budget?.gpuHours), ...bound("money", budget?.microUsd)];
};

function lineOf(state: Engine["state"], name: Team["name"]): readonly Team[] {
  const team = state.teams.get(name);
  if (team === undefined) return [];
  return team.parent === null ? [team] : [team, ...lineOf(state, team.parent)];
}

const CERTAINLY_SIMULATED = 24;

type Amount = Change & { readonly kind: "largerLimit" | "largerGuarantee" };

/**
 * Amounts below the reported one that the search tries one by one. Larger amounts are not compared, because work ahead
 * in the queue may start with them and take the capacity.
 */
function amountsBelow({ from, to }: Amount): readonly number[] {
  return between(from ?? 0, to).filter((each) => each - (from ?? 0) <= CERTAINLY_SIMULATED);
}

/** Increments of an amount, up to the need of all waiting work ahead. */
const MORE = [1, 2, 3, 4, 5, 6, 8, 12, 20, 40];

type State = Engine["state"];

/**
 * Accelerators of a type, or of any type, that work of the team and of all teams below it holds or is nominated for.
 */
function heldUnder(state: State, name: Team["name"], type: string): number {
  const held = [...state.attempts.values(), ...state.nominations.values()].map(
    ({ workloadId, acceleratorType, workers }) => {
      const { team, gang } = (state.workloads.get(workloadId) as Workload).spec;
      const isUnder = lineOf(state, team).some((each) => each.name === name);
      return isUnder && (type === "accelerators" || acceleratorType === type) ? workers.length * gang.accelerators : 0;
    },
  );
  return held.reduce((sum, each) => sum + each, 0);
}

/**
 * Larger values of reached limits, up to the need of work ahead in the queue, and larger values of stated guarantees,
 * up to the need of the request.
 */
function largerAmounts(state: State, { team: own, gang }: WorkloadSpec): readonly Change[] {
  const asked = minWorkersOf(gang) * gang.accelerators;
  const grown = (amounts: Team["limit"]): readonly { resource: string; from: number; to: number }[] =>
    Object.entries(amounts).flatMap(([resource, from]) => MORE.map((more) => ({ resource, from, to: from + more })));
  const isForIt = (team: Team["name"], { resource, to }: { resource: string; to: number }): boolean =>
    to <= heldUnder(state, team, resource) + asked;
  return lineOf(state, own).flatMap(({ name: team, limit, guarantee = {} }) => [
    ...grown(limit)
      .filter(({ resource, from }) => heldUnder(state, team, resource) + asked > from)
      .map((each): Change => ({ kind: "largerLimit", team, ...each })),
    ...grown(guarantee)
      .filter((each) => isForIt(team, each))
      .map((each): Change => ({ kind: "largerGuarantee", team, ...each })),
  ]);
}

const isUsedUp =
  ({ accounts }: Engine["state"]) =>
  ({ name }: Team): boolean =>
    accounts.get(name)?.crossed?.percent === 100;

/** The first expected ends one by one, as far as the search tries each, and then all of them. */
function firstEnds({ attempts, nowMs }: Engine["state"]): readonly Change[] {
  const [any] = attempts.values();
  if (any === undefined) return [];
  const counts = new Set([...between(0, Math.min(ENDS + 1, attempts.size)), attempts.size]);
  return [...counts].map((count) => ({ kind: "afterEnds", count, workloadId: any.workloadId, expectedAtMs: nowMs }));
}

/** Copies of each existing node, up to as many as hold the whole gang. */
function joining({ nodes }: Engine["state"], { gang, acceleratorTypes }: WorkloadSpec): readonly Change[] {
  if (gang.taskGroups !== undefined || gang.shareMilli !== undefined || gang.profile !== undefined) return [];
  const times = (there: number, asked: number): number =>
    asked === 0 ? Number.POSITIVE_INFINITY : Math.floor(there / asked);
  return [...nodes.values()].flatMap(({ id: like, acceleratorType, acceleratorCount, coresMilli, memoryMib }) => {
    const fits = Math.min(
      gang.workers,
      times(acceleratorCount, gang.accelerators),
      times(coresMilli, gang.coresMilli),
      times(memoryMib, gang.memoryMib),
    );
    const isAsked = acceleratorTypes.length === 0 || acceleratorTypes.includes(acceleratorType);
    const most = isAsked && fits > 0 ? Math.ceil(minWorkersOf(gang) / fits) : 0;
    return between(0, most + 1).map((count): Change => ({ kind: "moreNodes", count, acceleratorType, like }));
  });
}

/** Every change of the kinds of change that have only a few possible values. */
export function everyChange(engine: Engine, spec: WorkloadSpec): readonly Change[] {
  const { state } = engine;
  const { gang, spread, fabric, nodeSelector, acceleratorTypes } = spec;
  const workers = minWorkersOf(gang);
  const types = new Set([...state.nodes.values()].map(({ acceleratorType }) => acceleratorType));
  const within = fabric?.within;
  const levels = [null, ...([...state.sites.values()][0]?.fabricLevels ?? []), "node"];
  const labels = Object.keys(nodeSelector ?? {});
  const changes: Change[] = [
    { kind: "release" },
    { kind: "preemptible" },
    ...firstEnds(state),
    ...joining(state, spec),
  ];
  if (spec.notBeforeMs !== undefined) changes.push({ kind: "dropNotBefore", atMs: spec.notBeforeMs });
  const { latestStartMs: _latest, ...conditions } = spec.startWindow ?? {};
  if (spec.startWindow !== undefined)
    changes.push({ kind: "dropStartWindow", conditions: Object.keys(conditions) as StartWindowCondition[] });
  changes.push(...largerAmounts(state, spec));
  const budgets = lineOf(state, spec.team).filter(isUsedUp(state)).flatMap(manyTimes);
  if (budgets.length > 0) changes.push({ kind: "largerBudget", budgets });
  for (const nodes of setsOf(drainedOf(state))) changes.push({ kind: "resumeNodes", nodes });
  for (const { name: of, hotSpares = 0 } of state.pools.values())
    for (const to of between(-1, hotSpares)) changes.push({ kind: "fewerHotSpares", pool: of, from: hotSpares, to });
  const { rule } = spec.data ?? {};
  if (rule !== undefined)
    for (const pools of setsOf([...state.pools.keys()])) changes.push({ kind: "admitData", rule, pools });
  const { exclusive, from = [], sets = [] } = gang.antiAffinity ?? {};
  for (const terms of setsOf<AntiAffinityTerm>([
    ...(exclusive === undefined ? [] : [{ exclusive }]),
    ...from,
    ...sets.map((of) => ({ of })),
  ]))
    changes.push({ kind: "dropAntiAffinity", terms });
  for (const { entry } of state.calendar.values())
    if (entry.kind !== "tariff" && entry.startMs > clockOf(engine)) {
      const { name, kind: window, startMs: fromMs } = entry;
      changes.push({ kind: "laterWindow", name, window, fromMs, toMs: fromMs + FAR_MS });
    }
  for (const to of between(0, workers)) changes.push({ kind: "fewerWorkers", from: workers, to });
  for (const to of between(0, gang.accelerators))
    changes.push({ kind: "fewerAccelerators", from: gang.accelerators, to });
  if (acceleratorTypes.length > 0)
    for (const type of types)
      if (!acceleratorTypes.includes(type)) changes.push({ kind: "otherType", acceleratorType: type });
  if (spread !== undefined)
    for (const to of between(spread.maxPerDomain, gang.workers + 1))
      changes.push({ kind: "widerSpread", topologyKey: spread.topologyKey, from: spread.maxPerDomain, to });
  if (within !== undefined)
    for (const to of levels.slice(0, levels.indexOf(within)))
      changes.push({ kind: "widerFabric", from: within, to, slices: false });
  if (labels.length > 0)
    for (const set of [labels, ...labels.map((label) => [label])]) changes.push({ kind: "dropSelector", labels: set });
  return changes;
}
