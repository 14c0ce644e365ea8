/** The terms of a workload other than the size of its gang, in words: placement, start, preemption. */
import type { TaskGroup, WorkloadSpec } from "@headroom/protocol";
import { writeCarbon, writeEnergyPrice, writeInstant } from "@headroom/protocol";
import { acceleratorNoun, durationText, partForm, plural, resourceTexts } from "./plain-text.ts";

export interface SpecTerm {
  readonly name: string;
  readonly text: string;
}

/** Only stated fields are contained; empty for a workload without constraints and terms. */
export function specTerms(spec: WorkloadSpec): readonly SpecTerm[] {
  return [...placementTerms(spec), ...timeTerms(spec), ...evictionTerms(spec)];
}

function placementTerms({ gang, fabric, nodeSelector, spread, data }: WorkloadSpec): SpecTerm[] {
  const terms: SpecTerm[] = [];
  for (const group of gang.taskGroups ?? []) terms.push({ name: `Group ${group.name}`, text: groupText(group) });
  if (gang.minWorkers !== undefined) {
    const gains = gang.throughputMilli === undefined ? "" : `, with which it is ${fasterText(gang)} as fast`;
    terms.push({
      name: "Elastic",
      text: `runs with ${plural(gang.minWorkers, "worker")}, grows to ${gang.workers}${gains}`,
    });
  }
  const part = partForm(gang);
  if (part !== null) terms.push({ name: part.term, text: `${part.of("an accelerator")} for each worker` });
  const levels = fabricTexts(fabric);
  if (levels.length > 0) terms.push({ name: "Fabric", text: levels.join(", ") });
  const labels = Object.entries(nodeSelector ?? {}).map(([label, value]) => `${label}=${value}`);
  if (labels.length > 0) terms.push({ name: "Nodes", text: `only on nodes with ${labels.join(", ")}` });
  if (gang.antiAffinity !== undefined) terms.push(...antiAffinityTerms(gang.antiAffinity));
  if (data?.inputs !== undefined) terms.push({ name: "Reads", text: data.inputs.join(", ") });
  if (data?.store !== undefined) terms.push({ name: "Uploads to", text: data.store });
  if (data?.rule !== undefined)
    terms.push({ name: "Data rule", text: `${data.rule}: runs only where this data rule is admitted` });
  if (spread !== undefined) {
    terms.push({
      name: "Spread",
      text: `at most ${plural(spread.maxPerDomain, "worker")} for each ${spread.topologyKey}`,
    });
  }
  return terms;
}

/** Throughput of each size, relative to that of the minimum size. */
function fasterText({ minWorkers = 1, workers, throughputMilli: curve = [] }: WorkloadSpec["gang"]): string {
  const least = curve[minWorkers - 1] ?? 0;
  return least === 0 ? "many times" : `${((curve[workers - 1] ?? 0) / least).toFixed(1)} times`;
}

function antiAffinityTerms({
  sets,
  from = [],
  exclusive,
}: NonNullable<WorkloadSpec["gang"]["antiAffinity"]>): SpecTerm[] {
  const away = from.map((rule) =>
    "within" in rule ? `${rule.set} by ${rule.within}` : `${rule.set} by ${rule.topologyKey}`,
  );
  if (exclusive === true) away.push("all other work");
  return [
    ...(sets === undefined ? [] : [{ name: "Sets", text: sets.join(", ") }]),
    ...(away.length === 0 ? [] : [{ name: "Anti-affinity", text: `from ${away.join(", ")}` }]),
  ];
}

type Fabric = WorkloadSpec["fabric"];

function fabricTexts({ within, prefer, slices = [] }: NonNullable<Fabric> = {}): readonly string[] {
  return [
    within === undefined ? "" : `all in one ${within}`,
    prefer === undefined ? "" : `preferably in one ${prefer}`,
    ...slices.map((slice) => `${slice.workers} at a time in one ${slice.within}`),
  ].filter((part) => part !== "");
}

/** `2 to 4 workers, each 8 H100, 16 cores and 64 GiB; all in one leaf`. */
function groupText({ workers, minWorkers, acceleratorTypes = [], fabric, ...shape }: TaskGroup): string {
  const count = minWorkers === undefined ? plural(workers, "worker") : `${minWorkers} to ${plural(workers, "worker")}`;
  const needs = [acceleratorsText(shape, acceleratorTypes), ...resourceTexts(shape)];
  return [`${count}, each ${needs.join(", ")}`, ...fabricTexts(fabric)].join("; ");
}

function acceleratorsText(
  { accelerators, ...shape }: Pick<TaskGroup, "accelerators" | "shareMilli" | "profile">,
  types: readonly string[],
): string {
  const part = partForm(shape);
  if (part !== null) return part.of(`one ${acceleratorNoun(types, 1)}`);
  return accelerators === 0 ? "no accelerator" : `${accelerators} ${acceleratorNoun(types, accelerators)}`;
}

const outcomeWords = { ok: "has succeeded", failed: "has failed", any: "has ended" } as const;

function timeTerms({ after = [], produces = [], notBeforeMs, deadlineMs, startWindow }: WorkloadSpec): SpecTerm[] {
  const terms: SpecTerm[] = [];
  const waits = after.map((each) => {
    if (!("artifact" in each)) return `${each.workload} ${outcomeWords[each.on]}`;
    return `${each.artifact} is produced${each.workload === undefined ? "" : ` by ${each.workload}`}`;
  });
  if (waits.length > 0) terms.push({ name: "After", text: waits.join(", ") });
  if (produces.length > 0) terms.push({ name: "Produces", text: produces.join(", ") });
  if (notBeforeMs !== undefined) terms.push({ name: "Not before", text: writeInstant(notBeforeMs) });
  if (deadlineMs !== undefined) terms.push({ name: "Deadline", text: writeInstant(deadlineMs) });
  if (startWindow !== undefined) {
    const { microUsdPerKwhMax, gramsPerKwhMax, cheapestMs, cleanestMs, latestStartMs } = startWindow;
    const most = [
      ...(microUsdPerKwhMax === undefined ? [] : [writeEnergyPrice(microUsdPerKwhMax)]),
      ...(gramsPerKwhMax === undefined ? [] : [writeCarbon(gramsPerKwhMax)]),
    ];
    const latest = latestStartMs === undefined ? "" : `, at the latest ${writeInstant(latestStartMs)}`;
    const wanted = [
      ...(most.length === 0 ? [] : [`while power is at most ${most.join(" and ")}`]),
      ...(cheapestMs === undefined ? [] : [`in the cheapest ${durationText(cheapestMs)}`]),
      ...(cleanestMs === undefined ? [] : [`in the cleanest ${durationText(cleanestMs)}`]),
    ];
    terms.push({ name: "Off-peak", text: `${wanted.join(", ")}${latest}` });
  }
  return terms;
}

function evictionTerms({
  preemptible,
  minRuntimeMs,
  restartCostMs,
  checkpointOnRequest,
  checkpointEvery,
  checkpointCostMs,
  checkpointStore,
  onNodeLoss,
}: WorkloadSpec): SpecTerm[] {
  const terms: SpecTerm[] = [];
  const least = minRuntimeMs === undefined ? "" : `, not before it has run ${durationText(minRuntimeMs)}`;
  if (preemptible === false) terms.push({ name: "Preemptible", text: "no" });
  else if (preemptible === true) terms.push({ name: "Preemptible", text: `yes${least}` });
  else if (preemptible === "aboveGuarantee")
    terms.push({ name: "Preemptible", text: `above the guarantee of its team${least}` });
  else if (least !== "") terms.push({ name: "Preemptible", text: `as the policy says${least}` });
  if (onNodeLoss === "replace") terms.push({ name: "When a node is lost", text: "its workers are replaced" });
  if (checkpointOnRequest === true) terms.push({ name: "Checkpoint", text: "written on request" });
  if (checkpointEvery !== undefined) {
    const cost = checkpointCostMs === undefined ? "" : `, each stops the work for ${durationText(checkpointCostMs)}`;
    const every = checkpointEvery === "auto" ? "auto" : durationText(checkpointEvery);
    terms.push({ name: "Checkpoint every", text: `${every}${cost}` });
  }
  if (checkpointStore !== undefined) terms.push({ name: "Checkpoints in store", text: checkpointStore });
  if (restartCostMs !== undefined) {
    terms.push({
      name: "Restart costs",
      text: `${durationText(restartCostMs)} beyond the work since its last checkpoint`,
    });
  }
  return terms;
}
