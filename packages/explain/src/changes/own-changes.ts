/**
 * Changes that the submitter can make: for each kind the values to try, smallest change first. Each value comes with
 * the spec with which the workload would be submitted again.
 */
import { gangOfGroups, groupAt, specOfGroup, minWorkersOf, compareText, isPreemptible } from "@headroom/model";
import type { AntiAffinitySpec, FabricSpec, GangSpec, TaskGroup, Workload, WorkloadSpec } from "@headroom/model";
import { longestDurationMs, roundedDownMs, NODE_LEVEL, reservationsOf } from "@headroom/engine/internals";
import type { World } from "@headroom/engine/internals";
import type { AntiAffinityTerm, Change } from "./change.ts";
import { everySet, growing, listed } from "./values.ts";
import type { Values } from "./values.ts";

export interface OwnChange {
  readonly change: Change;
  readonly spec: WorkloadSpec;
}

/**
 * Values of each kind for this spec. A kind that does not apply has no values. `waiting` is the submitted workload, or
 * `undefined` if it is not submitted yet.
 */
export function ownChanges(
  world: World,
  spec: WorkloadSpec,
  waiting: Workload | undefined,
  nowMs: number,
): readonly Values<OwnChange>[] {
  const { taskGroups } = spec.gang;
  const hasRunningTasks = waiting !== undefined && waiting.activeAttempts.length > 0;
  return [
    fewerLabels(spec),
    widerSpread(spec),
    preemptible(world, spec),
    lessAntiAffinity(spec),
    shorterWalltime(world, spec, nowMs),
    // A priority applies to the whole workload, so a larger one does not let waiting tasks of an array pass its running
    // tasks.
    ...(hasRunningTasks ? [] : [higherPriority(world, spec)]),
    ...(taskGroups === undefined ? changesOfGang(world, spec) : [widerFabric(world, spec)]),
    ...(taskGroups ?? []).flatMap((_, index) =>
      changesOfGang(world, specOfGroup(spec, index)).map((values) => ofGroup(spec, index, values)),
    ),
  ];
}

const changesOfGang = (world: World, spec: WorkloadSpec): readonly Values<OwnChange>[] => [
  otherTypes(world, spec),
  widerFabric(world, spec),
  fewerWorkers(spec),
  fewerAccelerators(spec),
  fewerCores(spec),
  lessMemory(spec),
  lessNetwork(spec),
];

/** Values for one task group, converted to changes of the whole workload. */
function ofGroup(spec: WorkloadSpec, index: number, { at, ...values }: Values<OwnChange>): Values<OwnChange> {
  const { name } = groupAt(spec.gang, index);
  const { taskGroups = [], antiAffinity } = spec.gang;
  const withGroup = ({ gang, acceleratorTypes, fabric }: WorkloadSpec): WorkloadSpec => {
    const { antiAffinity: _ofGang, ...own } = gang;
    const group: TaskGroup = {
      name,
      ...own,
      ...(acceleratorTypes === spec.acceleratorTypes ? {} : { acceleratorTypes }),
      ...(fabric === undefined ? {} : { fabric }),
    };
    const whole = gangOfGroups(taskGroups.with(index, group));
    return { ...spec, gang: antiAffinity === undefined ? whole : { ...whole, antiAffinity } };
  };
  return {
    ...values,
    at: (position) => {
      const own = at(position);
      return { change: { ...own.change, group: name } as Change, spec: withGroup(own.spec) };
    },
  };
}

function otherTypes({ capacity }: World, spec: WorkloadSpec): Values<OwnChange> {
  const { acceleratorTypes } = spec;
  if (acceleratorTypes.length === 0) return listed([]);
  const accepted = new Set(capacity.acceptable(acceleratorTypes).map(({ type }) => type));
  const others = capacity.allTypes.map(({ type }) => type).filter((type) => type !== "" && !accepted.has(type));
  return listed(
    others.map((acceleratorType) => ({
      change: { kind: "otherType", acceleratorType },
      spec: { ...spec, acceleratorTypes: [...acceleratorTypes, acceleratorType] },
    })),
  );
}

/**
 * Maximum number of labels or anti-affinity terms for which every subset is tried. With more, only the set of all of
 * them is tried.
 */
const SEPARATED_MAX = 6;

const subsetsOf = <Of>(all: readonly Of[]): readonly (readonly Of[])[] =>
  all.length > SEPARATED_MAX ? [all] : everySet(all);

function fewerLabels({ nodeSelector = {}, ...rest }: WorkloadSpec): Values<OwnChange> {
  return listed(
    subsetsOf(Object.keys(nodeSelector).toSorted(compareText)).map((labels) => {
      const kept = Object.entries(nodeSelector).filter(([label]) => !labels.includes(label));
      const spec = kept.length === 0 ? rest : { ...rest, nodeSelector: Object.fromEntries(kept) };
      return { change: { kind: "dropSelector", labels }, spec };
    }),
  );
}

/**
 * Wider fabric levels: first for the gang's slices, then for the whole gang. Only required levels change; preferred
 * levels stay.
 */
function widerFabric(world: World, { fabric = {}, ...rest }: WorkloadSpec): Values<OwnChange> {
  const { within, slices = [], ...preferences } = fabric;
  const widened = (required: string | null, parts: NonNullable<FabricSpec["slices"]>): WorkloadSpec => {
    const wider: FabricSpec = {
      ...preferences,
      ...(required === null ? {} : { within: required }),
      ...(parts.length === 0 ? {} : { slices: parts }),
    };
    return Object.keys(wider).length === 0 ? rest : { ...rest, fabric: wider };
  };
  const wider: OwnChange[] = [];
  const slicesWithin = slices[0]?.within;
  if (slicesWithin !== undefined)
    for (const to of widerLevels(world, slicesWithin)) {
      const parts = to === null ? [] : slices.map((slice) => ({ ...slice, within: to }));
      const change = { kind: "widerFabric", from: slicesWithin, to, slices: true } as const;
      wider.push({ change, spec: widened(within ?? null, parts) });
    }
  if (within !== undefined)
    for (const to of widerLevels(world, within))
      wider.push({ change: { kind: "widerFabric", from: within, to, slices: false }, spec: widened(to, slices) });
  return listed(wider);
}

/** Fabric levels above `level`, the nearest first. The list ends with `null`, which allows any nodes. */
function widerLevels({ state }: World, level: string): readonly (string | null)[] {
  for (const { fabricLevels } of state.sites.values()) {
    const levels = [...fabricLevels, NODE_LEVEL];
    const depth = levels.indexOf(level);
    if (depth >= 0) return [...levels.slice(0, depth).toReversed(), null];
  }
  return [null];
}

function widerSpread(spec: WorkloadSpec): Values<OwnChange> {
  if (spec.spread === undefined) return listed([]);
  const { topologyKey, maxPerDomain: from } = spec.spread;
  return growing(spec.gang.workers - from, (index) => {
    const to = from + index + 1;
    const change = { kind: "widerSpread", topologyKey, from, to } as const;
    return { change, spec: { ...spec, spread: { topologyKey, maxPerDomain: to } } };
  });
}

const preemptible = ({ rules }: World, spec: WorkloadSpec): Values<OwnChange> =>
  listed(isPreemptible(rules, spec) ? [] : [{ change: { kind: "preemptible" }, spec: { ...spec, preemptible: true } }]);

function lessAntiAffinity(spec: WorkloadSpec): Values<OwnChange> {
  const { antiAffinity = {}, ...gang } = spec.gang;
  const { sets = [], from = [], exclusive } = antiAffinity;
  const all: readonly AntiAffinityTerm[] = [
    ...(exclusive === undefined ? [] : [{ exclusive }]),
    ...from,
    ...sets.map((of) => ({ of })),
  ];
  return listed(
    subsetsOf(all).map((terms) => {
      const kept = all.filter((term) => !terms.includes(term));
      const keptSets = kept.flatMap((term) => ("of" in term ? [term.of] : []));
      const keptFrom = kept.flatMap((term) => ("set" in term ? [term] : []));
      const less: AntiAffinitySpec = {
        ...(keptSets.length === 0 ? {} : { sets: keptSets }),
        ...(keptFrom.length === 0 ? {} : { from: keptFrom }),
        ...(kept.some((term) => "exclusive" in term) ? { exclusive: true } : {}),
      };
      const change = { kind: "dropAntiAffinity", terms } as const;
      return { change, spec: { ...spec, gang: kept.length === 0 ? gang : { ...gang, antiAffinity: less } } };
    }),
  );
}

/**
 * Walltimes with which the work ends before a protected start or a calendar window, or moves ahead in shortest-first
 * order. The longest is tried first.
 */
function shorterWalltime(world: World, spec: WorkloadSpec, nowMs: number): Values<OwnChange> {
  const fromMs = spec.walltimeMs;
  const durationMs = longestDurationMs(world.rules, spec);
  const thresholds = new Set(reservationsOf(world).map(({ startMs }) => roundedDownMs(startMs - nowMs)));
  for (const { window } of world.calendar.windows)
    thresholds.add(roundedDownMs(window.startMs - nowMs - spec.graceTimeoutMs));
  if (world.rules.order.includes("walltime"))
    for (const { walltimeMs } of waitingSpecs(world)) {
      // In shortest-first order, work with a walltime goes ahead of work without one.
      if (walltimeMs !== null) thresholds.add(walltimeMs - 1);
      else if (fromMs === null) thresholds.add(durationMs - 1);
    }
  const shorter = [...thresholds]
    .filter((toMs) => toMs > 0 && toMs < durationMs)
    .toSorted((left, right) => right - left);
  return listed(
    shorter.map((toMs) => ({ change: { kind: "shorterWalltime", fromMs, toMs }, spec: { ...spec, walltimeMs: toMs } })),
  );
}

function* waitingSpecs({ queue }: World): Generator<WorkloadSpec> {
  for (const { waiting } of queue.waitingClasses()) for (const { spec } of waiting.from(0)) yield spec;
}

const withGang = (spec: WorkloadSpec, changes: Partial<GangSpec>): WorkloadSpec => ({
  ...spec,
  gang: { ...spec.gang, ...changes },
});

/** The multiples of `unit` below an amount, the largest first. 0 is left out. */
function below(from: number, unit: number, at: (to: number) => OwnChange): Values<OwnChange> {
  const most = Math.ceil(from / unit) - 1;
  return growing(most, (index) => at((most - index) * unit));
}

function fewerWorkers(spec: WorkloadSpec): Values<OwnChange> {
  const from = minWorkersOf(spec.gang);
  const field = spec.gang.minWorkers === undefined ? "workers" : "minWorkers";
  return below(from, 1, (to) => ({
    change: { kind: "fewerWorkers", from, to },
    spec: withGang(spec, { [field]: to }),
  }));
}

function fewerAccelerators(spec: WorkloadSpec): Values<OwnChange> {
  const from = spec.gang.accelerators;
  return below(from, 1, (to) => ({
    change: { kind: "fewerAccelerators", from, to },
    spec: withGang(spec, { accelerators: to }),
  }));
}

/**
 * Amounts of more than one core or one GiB decrease by whole cores and whole GiB. Smaller amounts decrease by tenths of
 * a core and by 64 MiB.
 */
const CORE_MILLI = 1000;
const SMALL_CORE_MILLI = 100;
const GIB_MIB = 1024;
const SMALL_MIB = 64;

function fewerCores(spec: WorkloadSpec): Values<OwnChange> {
  const fromMilli = spec.gang.coresMilli;
  return below(fromMilli, fromMilli > CORE_MILLI ? CORE_MILLI : SMALL_CORE_MILLI, (toMilli) => ({
    change: { kind: "fewerCores", fromMilli, toMilli },
    spec: withGang(spec, { coresMilli: toMilli }),
  }));
}

function lessMemory(spec: WorkloadSpec): Values<OwnChange> {
  const fromMib = spec.gang.memoryMib;
  return below(fromMib, fromMib > GIB_MIB ? GIB_MIB : SMALL_MIB, (toMib) => ({
    change: { kind: "lessMemory", fromMib, toMib },
    spec: withGang(spec, { memoryMib: toMib }),
  }));
}

function lessNetwork(spec: WorkloadSpec): Values<OwnChange> {
  const fromGbps = spec.gang.networkGbps ?? 0;
  return below(fromGbps, 1, (toGbps) => ({
    change: { kind: "lessNetwork", fromGbps, toGbps },
    spec: withGang(spec, { networkGbps: toGbps }),
  }));
}

/**
 * Priorities that exceed waiting or running work of the same or higher priority, or that reach a threshold of the
 * policy.
 */
function higherPriority({ state, rules }: World, spec: WorkloadSpec): Values<OwnChange> {
  const { priority: from } = spec;
  const above = new Set<number>();
  for (const other of state.workloads.values())
    if (other.endedAtMs === null && other.spec.priority >= from) above.add(other.spec.priority + 1);
  const bound = rules.eviction.preemptibleBelowPriority;
  if (bound !== null && bound > from) above.add(bound);
  const higher = [...above].filter((to) => to <= PRIORITY_SIMULATED_MAX).toSorted((left, right) => left - right);
  return listed(
    higher.map((to) => ({ change: { kind: "higherPriority", from, to }, spec: { ...spec, priority: to } })),
  );
}

/** The highest priority that a submission may state (`PRIORITY_MAX` of the protocol). */
const PRIORITY_SIMULATED_MAX = 1_000_000;
