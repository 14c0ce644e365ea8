/** Changes that the submitter can make: for each kind the values to try, smallest change first. */
import { specOfGroup } from "../../model/gang.ts";
import type { WorkloadSpec } from "../../model/workload.ts";
import { minWorkersOf } from "../../model/workload.ts";
import { isPreemptible } from "../../policy/preemptible.ts";
import { longestDurationMs, roundedDownMs } from "../../usage/planned-duration.ts";
import { NODE_LEVEL } from "../../cluster/fabric-index.ts";
import { compareText } from "../../base/canonical.ts";
import type { World } from "../../cluster/world.ts";
import { antiAffinityTerms } from "./changed-spec.ts";
import type { OwnChange } from "./changed-spec.ts";
import { everySet, growing, listed } from "./values.ts";
import type { Values } from "./values.ts";
import { reservationsOf } from "../../placement/backfill/reservations.ts";

/** A waiting workload. `runs`: it is an array with running tasks. */
interface AskingSpec {
  readonly spec: WorkloadSpec;
  readonly runs: boolean;
}

/** Values of each kind for this workload; kinds that do not apply have no values. */
export function ownChanges(world: World, { spec, runs }: AskingSpec, nowMs: number): readonly Values<OwnChange>[] {
  const { taskGroups } = spec.gang;
  return [
    fewerLabels(spec),
    widerSpread(spec),
    preemptible(world, spec),
    lessAntiAffinity(spec),
    shorterWalltime(world, spec, nowMs),
    // A priority applies to the whole workload, so a larger one does not let waiting tasks of an array pass its running
    // tasks.
    ...(runs ? [] : [higherPriority(world, spec)]),
    ...(taskGroups === undefined ? changesOfGang(world, spec) : [widerFabric(world, spec)]),
    ...(taskGroups ?? []).flatMap(({ name }, index) =>
      changesOfGang(world, specOfGroup(spec, index)).map((values) => ofGroup(values, name)),
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
];

const ofGroup = ({ at, ...values }: Values<OwnChange>, group: string): Values<OwnChange> => ({
  ...values,
  at: (index) => ({ ...at(index), group }) as OwnChange,
});

function otherTypes({ capacity }: World, { acceleratorTypes }: WorkloadSpec): Values<OwnChange> {
  if (acceleratorTypes.length === 0) return listed([]);
  const accepted = new Set(capacity.acceptable(acceleratorTypes).map(({ type }) => type));
  const others = capacity.allTypes.map(({ type }) => type).filter((type) => type !== "" && !accepted.has(type));
  return listed(others.map((acceleratorType) => ({ kind: "otherType", acceleratorType })));
}

/** Maximum number of labels or anti-affinity terms for which every subset is tried. */
const SEPARATED_MAX = 6;

/** Every subset of the labels, smaller subsets first. */
function fewerLabels({ nodeSelector }: WorkloadSpec): Values<OwnChange> {
  const labels = Object.keys(nodeSelector ?? {}).toSorted(compareText);
  if (labels.length > SEPARATED_MAX) return listed([{ kind: "dropSelector", labels }]);
  return listed(everySet(labels).map((set) => ({ kind: "dropSelector", labels: set })));
}

function widerFabric(world: World, { fabric }: WorkloadSpec): Values<OwnChange> {
  const within =
    fabric?.within === undefined
      ? []
      : widerLevels(world, fabric.within).map((to) => ({ from: fabric.within as string, to, slices: false }));
  const [slice] = fabric?.slices ?? [];
  const antiAffinity =
    slice === undefined ? [] : widerLevels(world, slice.within).map((to) => ({ from: slice.within, to, slices: true }));
  return listed([...antiAffinity, ...within].map((wider) => ({ kind: "widerFabric", ...wider })));
}

/** Fabric levels above `level`, the nearest first; last `null`, which allows any nodes. */
function widerLevels({ state }: World, level: string): readonly (string | null)[] {
  for (const { fabricLevels } of state.sites.values()) {
    const levels = [...fabricLevels, NODE_LEVEL];
    const depth = levels.indexOf(level);
    if (depth >= 0) return [...levels.slice(0, depth).toReversed(), null];
  }
  return [null];
}

function widerSpread({ spread, gang }: WorkloadSpec): Values<OwnChange> {
  if (spread === undefined) return listed([]);
  const { topologyKey, maxPerDomain: from } = spread;
  return growing(gang.workers - from, (index) => ({ kind: "widerSpread", topologyKey, from, to: from + index + 1 }));
}

const preemptible = ({ rules }: World, spec: WorkloadSpec): Values<OwnChange> =>
  listed(isPreemptible(rules, spec) ? [] : [{ kind: "preemptible" }]);

/** Every subset of the anti-affinity terms, smaller subsets first. */
function lessAntiAffinity({ gang: { antiAffinity = {} } }: WorkloadSpec): Values<OwnChange> {
  const terms = antiAffinityTerms(antiAffinity);
  const sets = terms.length > SEPARATED_MAX ? [terms] : everySet(terms);
  return listed(sets.map((set) => ({ kind: "dropAntiAffinity", terms: set })));
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
  return listed(shorter.map((toMs) => ({ kind: "shorterWalltime", fromMs, toMs })));
}

function* waitingSpecs({ queue }: World): Generator<WorkloadSpec> {
  for (const { waiting } of queue.waitingClasses()) for (const { spec } of waiting.from(0)) yield spec;
}

function fewerWorkers({ gang }: WorkloadSpec): Values<OwnChange> {
  const from = minWorkersOf(gang);
  return growing(from - 1, (index) => ({ kind: "fewerWorkers", from, to: from - 1 - index }));
}

function fewerAccelerators({ gang }: WorkloadSpec): Values<OwnChange> {
  const from = gang.accelerators;
  return growing(from - 1, (index) => ({ kind: "fewerAccelerators", from, to: from - 1 - index }));
}

/**
 * Amounts decrease by whole cores and whole GiB; amounts of at most one core or one GiB by tenths of a core and 64 MiB.
 */
const CORE_MILLI = 1000;
const SMALL_CORE_MILLI = 100;
const GIB_MIB = 1024;
const SMALL_MIB = 64;

function fewerCores({ gang: { coresMilli: fromMilli } }: WorkloadSpec): Values<OwnChange> {
  const unit = fromMilli > CORE_MILLI ? CORE_MILLI : SMALL_CORE_MILLI;
  const most = Math.ceil(fromMilli / unit) - 1;
  return growing(most, (index) => ({ kind: "fewerCores", fromMilli, toMilli: (most - index) * unit }));
}

function lessMemory({ gang: { memoryMib: fromMib } }: WorkloadSpec): Values<OwnChange> {
  const unit = fromMib > GIB_MIB ? GIB_MIB : SMALL_MIB;
  const most = Math.ceil(fromMib / unit) - 1;
  return growing(most, (index) => ({ kind: "lessMemory", fromMib, toMib: (most - index) * unit }));
}

/**
 * Priorities that exceed waiting or running work of the same or higher priority, or that reach a threshold of the
 * policy.
 */
function higherPriority({ state, rules }: World, { priority: from }: WorkloadSpec): Values<OwnChange> {
  const above = new Set<number>();
  for (const { spec, endedAtMs } of state.workloads.values())
    if (endedAtMs === null && spec.priority >= from) above.add(spec.priority + 1);
  const bound = rules.eviction.preemptibleBelowPriority;
  if (bound !== null && bound > from) above.add(bound);
  const higher = [...above].filter((to) => to <= PRIORITY_SIMULATED_MAX).toSorted((left, right) => left - right);
  return listed(higher.map((to) => ({ kind: "higherPriority", from, to })));
}

/** The highest priority that a submission may state (`PRIORITY_MAX` of the protocol). */
const PRIORITY_SIMULATED_MAX = 1_000_000;
