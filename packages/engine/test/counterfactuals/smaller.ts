/** Every change of a kind that is smaller than a stated one, or, where none is stated, every one there is: by counting them up. */
import { minWorkersOf } from "../../src/index.ts";
import type { Change, Engine, WorkloadSpec } from "../../src/index.ts";

/** Whole numbers from one to the other, without either. */
const between = (low: number, high: number): readonly number[] =>
  Array.from({ length: Math.max(0, high - low - 1) }, (_, index) => low + 1 + index);

const GIB_MIB = 1024;
const SAMPLES = 12;

export function smallerThan({ state }: Engine, change: Change): readonly Change[] {
  switch (change.kind) {
    case "fewerWorkers":
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
    case "widerSpread":
    case "higherPriority":
    case "largerLimit":
      return between(change.from, change.to).map((to) => ({ ...change, to }));
    case "largerGuarantee":
      return between(change.from ?? 0, change.to).map((to) => ({ ...change, to }));
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

/** All values of the kinds whose values can be counted on one hand. */
export function everyChange({ state }: Engine, spec: WorkloadSpec): readonly Change[] {
  const { gang, spread, fabric, nodeSelector, acceleratorTypes } = spec;
  const workers = minWorkersOf(gang);
  const types = new Set([...state.nodes.values()].map(({ acceleratorType }) => acceleratorType));
  const within = fabric?.within;
  const levels = [null, ...([...state.sites.values()][0]?.fabricLevels ?? []), "node"];
  const labels = Object.keys(nodeSelector ?? {});
  const changes: Change[] = [{ kind: "preemptible" }];
  for (const to of between(0, workers)) changes.push({ kind: "fewerWorkers", from: workers, to });
  for (const to of between(0, gang.accelerators))
    changes.push({ kind: "fewerAccelerators", from: gang.accelerators, to });
  if (acceleratorTypes.length > 0)
    for (const type of types)
      if (!acceleratorTypes.includes(type)) changes.push({ kind: "otherType", acceleratorType: type });
  if (spread !== undefined)
    for (const to of between(spread.maxPerDomain, gang.workers + 1))
      changes.push({ kind: "widerSpread", over: spread.over, from: spread.maxPerDomain, to });
  if (within !== undefined)
    for (const to of levels.slice(0, levels.indexOf(within)))
      changes.push({ kind: "widerFabric", from: within, to, slices: false });
  if (labels.length > 0)
    for (const set of [labels, ...labels.map((label) => [label])]) changes.push({ kind: "dropSelector", labels: set });
  return changes;
}
