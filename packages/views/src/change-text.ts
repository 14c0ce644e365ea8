/** Changes that would start a workload. Each is one sentence, with the command if there is one. */
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { milliIn, wholeParts } from "@headroom/model";
import type { StartWindowCondition, WorkloadSpec } from "@headroom/model";
import type { AntiAffinityTerm, Change, LargerBudget } from "@headroom/explain";
import { writeCarbon, writeEnergyPrice, writeInstant } from "@headroom/protocol";
import { spentText } from "./budget-text.ts";
import { coresText, durationText, grouped, memoryText, plural, resourceForm } from "./plain-text.ts";

/** The text of the change depends on the workload. */
type ChangeTextSpec = Pick<WorkloadSpec, "kind" | "name" | "team" | "startWindow" | "gang" | "walltimeMs">;

/** A change that concerns one task group names the group. */
export function changeSentence(engine: Engine, spec: ChangeTextSpec, change: Change): string {
  const sentence = sentenceAlone(engine, spec, change);
  return "group" in change && change.group !== undefined ? `Group ${change.group}: ${lowerFirst(sentence)}` : sentence;
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

function sentenceAlone(engine: Engine, spec: ChangeTextSpec, change: Change): string {
  switch (change.kind) {
    case "release":
      return `Release it: headroom release ${spec.team}/${spec.name}.`;
    case "dropNotBefore":
      return `Submit it without notBefore, which delays the start until ${writeInstant(change.atMs)}.`;
    case "dropStartWindow":
      return dropStartWindowSentence(spec, change);
    case "largerBudget":
      return `Raise ${change.budgets.map(budgetText).join(" and ")}.${useText(spec)}`;
    case "otherType":
      return `Also accept ${change.acceleratorType}.`;
    case "dropSelector":
      return `Accept nodes with any ${change.labels.join(" and ")}.`;
    case "widerFabric":
      return `Let ${change.slices ? "the workers of a slice" : "the workers"} lie ${change.to === null ? "anywhere" : `within one ${change.to}`} instead of within one ${change.from}.`;
    case "widerSpread":
      return `Let ${grouped(change.to)} workers share a ${change.topologyKey} instead of ${grouped(change.from)}.`;
    case "preemptible":
      return "Make it preemptible.";
    case "shorterWalltime":
      return `Set its walltime to ${durationText(change.toMs)} instead of ${change.fromMs === null ? "none" : durationText(change.fromMs)}.`;
    case "fewerWorkers":
      return `Request ${plural(change.to, "worker")} instead of ${grouped(change.from)}.`;
    case "fewerAccelerators":
      return `Request ${plural(change.to, "accelerator")} per worker instead of ${grouped(change.from)}.`;
    case "fewerCores":
      return `Request ${coresText(change.toMilli)} per worker instead of ${coresText(change.fromMilli)}.`;
    case "lessMemory":
      return `Request ${memoryText(change.toMib)} of memory per worker instead of ${memoryText(change.fromMib)}.`;
    case "lessNetwork":
      return `Request ${change.toGbps} Gbps of network bandwidth per worker instead of ${change.fromGbps}.`;
    case "higherPriority":
      return `Raise its priority from ${change.from} to ${change.to}.`;
    case "largerGuarantee":
      return `Guarantee team ${change.team} ${amountText(change.resource, change.to)} instead of ${change.from === null ? "nothing" : amountText(change.resource, change.from)}.`;
    case "largerLimit":
      if (change.user !== undefined)
        return `Raise the user limit of team ${change.team} from ${amountText(change.resource, change.from)} to ${amountText(change.resource, change.to)}.`;
      return `Raise the limit of team ${change.team} from ${amountText(change.resource, change.from)} to ${amountText(change.resource, change.to)}.`;
    case "dropAntiAffinity":
      return `Let it ${change.terms.map(antiAffinityText).join(" and ")}.`;
    case "resumeNodes":
      return `Resume drained nodes: ${change.nodes.map((node) => `headroom nodes resume ${node}`).join(", ")}.`;
    case "laterWindow": {
      const times = `at ${writeInstant(change.toMs)} instead of ${writeInstant(change.fromMs)}`;
      return `Let the ${change.window} ${change.name} begin ${times}, ${durationText(change.toMs - change.fromMs)} later.`;
    }
    case "fewerHotSpares":
      return `Keep ${plural(change.to, "hot spare")} in pool ${change.pool} instead of ${grouped(change.from)}.`;
    case "admitData":
      return `Admit work with data rule ${change.rule} to ${change.pools.length === 1 ? "the pool" : "the pools"} ${change.pools.join(" and ")}.`;
    case "afterEnds": {
      const name = engine.state.workloads.get(change.workloadId)?.spec.name ?? change.workloadId;
      const inTime = `planned for ${durationText(Math.max(0, change.expectedAtMs - clockOf(engine)))} from now (the latest time by the scheduler's bound, not the forecast)`;
      return change.count === 1
        ? `Wait until ${name} ends, ${inTime}.`
        : `Wait until ${plural(change.count, "running attempt")} have ended, the last of them ${name}, ${inTime}.`;
    }
    default:
      return `Add ${plural(change.count, "node")} like ${change.like}.`;
  }
}

function amountText(resource: string, amount: number): string {
  const accelerators = resource === "accelerators" ? plural(amount, "accelerator") : `${grouped(amount)} ${resource}`;
  return resourceForm(resource)?.quantity(amount) ?? accelerators;
}

const HOUR_MS = 3_600_000;

/** The largest part of a budget that the work can use. */
function useText({ kind, gang, walltimeMs }: ChangeTextSpec): string {
  if (walltimeMs === null) return "";
  const hours = (milliIn(wholeParts(gang)) * walltimeMs) / (1000 * HOUR_MS);
  return ` By its walltime ${kind === "train" ? "it" : kind === "batch" ? "each task" : "each replica"} uses up to ${spentText("gpuHours", hours)}.`;
}

function antiAffinityText(term: AntiAffinityTerm): string {
  if ("exclusive" in term) return "share its nodes with others (antiAffinity.exclusive)";
  if ("of" in term) return `leave the set ${term.of}, which others exclude (antiAffinity.sets)`;
  const where = "topologyKey" in term ? `where the ${term.topologyKey} is the same` : `within one ${term.within}`;
  return `lie ${where} with work of the set ${term.set} (antiAffinity.from)`;
}

const budgetText = ({ team, resource, from, to }: LargerBudget): string =>
  `the budget of team ${team} from ${spentText(resource, from)} to ${spentText(resource, to)}`;

/** The name of a field, as in a document, and the value that would be accepted. */
function dropStartWindowSentence(
  { startWindow = {} }: ChangeTextSpec,
  { conditions }: Change & { readonly kind: "dropStartWindow" },
): string {
  const { microUsdPerKwhMax = 0, gramsPerKwhMax = 0, cheapestMs = 0, cleanestMs = 0 } = startWindow;
  const texts: Readonly<Record<StartWindowCondition, string>> = {
    microUsdPerKwhMax: `power at a higher price than ${writeEnergyPrice(microUsdPerKwhMax)} (maxPrice)`,
    gramsPerKwhMax: `power of more than ${writeCarbon(gramsPerKwhMax)} (maxCarbon)`,
    cheapestMs: `power outside its cheapest ${durationText(cheapestMs)} (cheapest)`,
    cleanestMs: `power outside its cleanest ${durationText(cleanestMs)} (cleanest)`,
  };
  return `Accept ${conditions.map((condition) => texts[condition]).join(" and ")}.`;
}
