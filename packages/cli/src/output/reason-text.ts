/** The numbers behind a reason, each with its unit, for people; programs take them from `--json`. */
import { writeCarbon, writeEnergyPrice } from "@headroom/protocol";
import type { BlockedReason } from "@headroom/protocol";
import { amountText, durationText, predictionText, spentText } from "@headroom/views";
import { coresText, instant, memoryText } from "./amounts.ts";

/** Name and value of every field that the sentence of the reason is made of. */
export function reasonPairs(reason: BlockedReason): [string, string][] {
  const shown: [string, string][] = [["reason", reason.kind]];
  for (const [field, value] of Object.entries(reason)) {
    if (field === "kind" || field === "sentence") continue;
    if (field === "acceleratorTypes" && Array.isArray(value) && value.length === 0) continue;
    shown.push([words(field), typeof value === "number" ? numberText(reason, field, value) : valueText(reason, value)]);
  }
  return shown;
}

function valueText(reason: BlockedReason, value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "string") return value;
  return reason.kind === "reservation" && reason.prediction !== undefined
    ? predictionText(reason.prediction, null)
    : JSON.stringify(value);
}

/** What is a span and not an instant, of the fields in ms. */
const spans: ReadonlySet<string> = new Set(["cheapestMs", "cleanestMs"]);

function numberText(reason: BlockedReason, field: string, value: number): string {
  if (field.startsWith("microUsdPerKwh")) return writeEnergyPrice(value);
  if (field.startsWith("gramsPerKwh")) return writeCarbon(value);
  if (spans.has(field)) return durationText(value);
  if (field.endsWith("Ms")) return instant(value);
  if (reason.kind === "budget" && (field === "spent" || field === "limit")) return spentText(reason.resource, value);
  if (reason.kind === "teamLimit") return amountText(reason.resource, value);
  if (reason.kind === "workerShortfall" && field === "neededPerWorker") {
    if (reason.binding === "cores") return `${coresText(value)} ${value === 1_000 ? "core" : "cores"}`;
    if (reason.binding === "memory") return memoryText(value);
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
