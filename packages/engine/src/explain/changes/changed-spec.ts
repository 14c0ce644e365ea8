/** The workload's spec with a change that the submitter can make; the workload would be resubmitted with it. */
import type { AntiAffinitySpec } from "../../model/anti-affinity.ts";
import { gangOfGroups, groupAt, specOfGroup } from "../../model/gang.ts";
import type { FabricSpec, TaskGroup, GangSpec, StartWindowCondition, WorkloadSpec } from "../../model/workload.ts";
import { canonicalJson } from "../../base/canonical.ts";
import { unreachable } from "../../base/unreachable.ts";
import type { AntiAffinityTerm, Change } from "./change.ts";

export type OwnChange = Extract<
  Change,
  {
    readonly kind:
      | "release"
      | "dropNotBefore"
      | "dropStartWindow"
      | "otherType"
      | "dropSelector"
      | "widerFabric"
      | "widerSpread"
      | "preemptible"
      | "dropAntiAffinity"
      | "shorterWalltime"
      | "fewerWorkers"
      | "fewerAccelerators"
      | "fewerCores"
      | "lessMemory"
      | "higherPriority";
  }
>;

export function changedSpec(spec: WorkloadSpec, change: OwnChange): WorkloadSpec {
  if (!("group" in change) || change.group === undefined) return changedAlone(spec, change);
  const index = spec.gang.taskGroups?.findIndex(({ name }) => name === change.group) ?? -1;
  const { group: _group, ...same } = change;
  return withGroup(spec, index, changedAlone(specOfGroup(spec, index), same));
}

/** The spec with one task group replaced. */
function withGroup(spec: WorkloadSpec, index: number, { gang, acceleratorTypes, fabric }: WorkloadSpec): WorkloadSpec {
  const { taskGroups = [] } = spec.gang;
  const { antiAffinity, ...own } = gang;
  const group: TaskGroup = {
    name: groupAt(spec.gang, index).name,
    ...own,
    ...(acceleratorTypes === spec.acceleratorTypes ? {} : { acceleratorTypes }),
    ...(fabric === undefined ? {} : { fabric }),
  };
  return {
    ...spec,
    gang: { ...gangOfGroups(taskGroups.with(index, group)), ...(antiAffinity === undefined ? {} : { antiAffinity }) },
  };
}

function changedAlone(spec: WorkloadSpec, change: OwnChange): WorkloadSpec {
  switch (change.kind) {
    case "release": {
      const { hold: _hold, ...rest } = spec;
      return rest;
    }
    case "dropNotBefore": {
      const { notBeforeMs: _notBefore, ...rest } = spec;
      return rest;
    }
    case "dropStartWindow":
      return withoutConditions(spec, change.conditions);
    case "otherType":
      return { ...spec, acceleratorTypes: [...spec.acceleratorTypes, change.acceleratorType] };
    case "dropSelector":
      return withoutLabels(spec, change.labels);
    case "widerFabric":
      return widened(spec, change);
    case "widerSpread":
      return { ...spec, spread: { topologyKey: change.topologyKey, maxPerDomain: change.to } };
    case "preemptible":
      return { ...spec, preemptible: true };
    case "dropAntiAffinity":
      return lessAntiAffinity(spec, change.terms);
    case "shorterWalltime":
      return { ...spec, walltimeMs: change.toMs };
    case "fewerWorkers": {
      const { minWorkers } = spec.gang;
      return withGang(spec, minWorkers === undefined ? { workers: change.to } : { minWorkers: change.to });
    }
    case "fewerAccelerators":
      return withGang(spec, { accelerators: change.to });
    case "fewerCores":
      return withGang(spec, { coresMilli: change.toMilli });
    case "lessMemory":
      return withGang(spec, { memoryMib: change.toMib });
    case "higherPriority":
      return { ...spec, priority: change.to };
    default:
      return unreachable(change);
  }
}

const withGang = (spec: WorkloadSpec, changes: Partial<GangSpec>): WorkloadSpec => ({
  ...spec,
  gang: { ...spec.gang, ...changes },
});

/** All anti-affinity terms of a spec: exclusive nodes, excluded sets, and membership in sets that others exclude. */
export const antiAffinityTerms = ({
  sets = [],
  from = [],
  exclusive,
}: AntiAffinitySpec): readonly AntiAffinityTerm[] => [
  ...(exclusive === undefined ? [] : [{ exclusive }]),
  ...from,
  ...sets.map((of) => ({ of })),
];

function lessAntiAffinity(spec: WorkloadSpec, dropped: readonly AntiAffinityTerm[]): WorkloadSpec {
  const { antiAffinity = {}, ...gang } = spec.gang;
  const gone = new Set(dropped.map((term) => canonicalJson(term)));
  const kept = antiAffinityTerms(antiAffinity).filter((term) => !gone.has(canonicalJson(term)));
  const sets = kept.flatMap((term) => ("of" in term ? [term.of] : []));
  const from = kept.flatMap((term) => ("set" in term ? [term] : []));
  const left: AntiAffinitySpec = {
    ...(sets.length === 0 ? {} : { sets }),
    ...(from.length === 0 ? {} : { from }),
    ...(kept.some((term) => "exclusive" in term) ? { exclusive: true } : {}),
  };
  return { ...spec, gang: kept.length === 0 ? gang : { ...gang, antiAffinity: left } };
}

/** A start window without conditions is removed, together with its latest start. */
function withoutConditions(spec: WorkloadSpec, conditions: readonly StartWindowCondition[]): WorkloadSpec {
  const { startWindow = {}, ...rest } = spec;
  const kept = Object.entries(startWindow).filter(([field]) => !conditions.some((each) => each === field));
  const isLeft = kept.some(([field]) => field !== "latestStartMs");
  return isLeft ? { ...rest, startWindow: Object.fromEntries(kept) } : rest;
}

function withoutLabels(spec: WorkloadSpec, labels: readonly string[]): WorkloadSpec {
  const { nodeSelector, ...rest } = spec;
  const kept = Object.entries(nodeSelector ?? {}).filter(([label]) => !labels.includes(label));
  return kept.length === 0 ? rest : { ...rest, nodeSelector: Object.fromEntries(kept) };
}

/** Only required fabric levels change; preferred levels stay. */
function widened(
  spec: WorkloadSpec,
  { to, slices: isSlices }: OwnChange & { readonly kind: "widerFabric" },
): WorkloadSpec {
  const { fabric = {}, ...rest } = spec;
  const { within, slices, ...constraints } = fabric;
  const required = isSlices ? (within ?? null) : to;
  const antiAffinity = isSlices ? slicesWithin(slices, to) : slices;
  const wider: FabricSpec = {
    ...constraints,
    ...(required === null ? {} : { within: required }),
    ...(antiAffinity === undefined ? {} : { slices: antiAffinity }),
  };
  return Object.keys(wider).length === 0 ? rest : { ...rest, fabric: wider };
}

function slicesWithin(slices: FabricSpec["slices"], to: string | null): FabricSpec["slices"] {
  return to === null ? undefined : slices?.map((slice) => ({ ...slice, within: to }));
}
