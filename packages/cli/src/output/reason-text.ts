/** The numbers of a reason, each with its unit. Programs use `--json`. */
import { writeCarbon, writeEnergyPrice } from "@headroom/protocol";
import type { BlockedReason } from "@headroom/protocol";
import {
  amountText,
  closedPlacesText,
  durationText,
  grouped,
  predictionText,
  resourceForm,
  spentText,
} from "@headroom/views/text";
import { coresText, instant } from "./amounts.ts";

/** Name and value of every field that the sentence of the reason uses. */
type FleetLack = NonNullable<(BlockedReason & { readonly kind: "exceedsFleet" })["lack"]>;

export function reasonPairs(reason: BlockedReason): [string, string][] {
  const shown: [string, string][] = [["reason", reason.kind]];
  for (const [field, value] of Object.entries(reason)) {
    if (field === "kind" || field === "sentence") continue;
    if (field === "acceleratorTypes" && Array.isArray(value) && value.length === 0) continue;
    // Work without accelerators has no such field.
    if (reason.kind === "exceedsFleet" && reason.neededCount === 0 && field.endsWith("Count")) continue;
    if (field === "lack" && reason.kind === "exceedsFleet" && reason.lack !== undefined) {
      shown.push(...lackPairs(reason.lack));
      continue;
    }
    if (field === "closed" && "closed" in reason && reason.closed !== undefined) {
      shown.push(["not counted", `${grouped(reason.closed.freeCount)} free on ${closedPlacesText(reason.closed)}`]);
      continue;
    }
    shown.push([words(field), typeof value === "number" ? numberText(reason, field, value) : valueText(reason, value)]);
  }
  return shown;
}

/** The capacity that the fleet lacks: the amount that one worker needs, and the amount of the largest node. */
function lackPairs(lack: FleetLack): [string, string][] {
  if (lack.of === "part") return [["lacks", `a ${lack.profile} part`]];
  const lacks: [string, string] = ["lacks", words(lack.of)];
  if (!("perWorker" in lack)) return [lacks];
  const text = (amount: number): string => {
    if (lack.of === "cores") return coresAmount(amount);
    return lack.of === "accelerators" ? String(amount) : amountText(lack.of, amount);
  };
  return [lacks, ["needed per worker", text(lack.perWorker)], ["most on a node", text(lack.perNodeMax)]];
}

const coresAmount = (coresMilli: number): string =>
  `${coresText(coresMilli)} ${coresMilli === 1_000 ? "core" : "cores"}`;

function valueText(reason: BlockedReason, value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "string") return value;
  return reason.kind === "reservation" && reason.prediction !== undefined
    ? predictionText(reason.prediction, null)
    : JSON.stringify(value);
}

/** Fields in ms that are durations. Other fields in ms are instants. */
const spans: ReadonlySet<string> = new Set(["cheapestMs", "cleanestMs"]);

function numberText(reason: BlockedReason, field: string, value: number): string {
  if (field.startsWith("microUsdPerKwh")) return writeEnergyPrice(value);
  if (field.startsWith("gramsPerKwh")) return writeCarbon(value);
  if (spans.has(field)) return durationText(value);
  if (field.endsWith("Ms")) return instant(value);
  if (reason.kind === "budget" && (field === "spent" || field === "limit")) return spentText(reason.resource, value);
  if (reason.kind === "teamLimit") return amountText(reason.resource, value);
  if (reason.kind === "workerShortfall" && field === "neededPerWorker") {
    if (reason.binding === "cores") return coresAmount(value);
    if (resourceForm(reason.binding) !== undefined) return amountText(reason.binding, value);
  }
  return String(value);
}

const names: Readonly<Record<string, string>> = {
  freeCount: "free accelerators",
  microUsdPerKwh: "price",
  microUsdPerKwhMax: "price at most",
  gramsPerKwh: "carbon",
  gramsPerKwhMax: "carbon at most",
};

/** `neededCount` → `needed`, `limitCount` → `limit`, `placeableWorkers` → `placeable workers`. */
const words = (field: string): string =>
  names[field] ?? field.replace(/(?:Count|Ms|Id)$/, "").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
