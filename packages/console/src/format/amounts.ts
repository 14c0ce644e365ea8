/** Amounts in the narrow columns of a table; sentences use the longer forms of the views. */
import { coresText, durationText, grouped, memoryText } from "@headroom/views";
import type { GangSpec } from "@headroom/protocol";

/** `4 × 8`, `2–8 × 1`: workers by accelerators, `1 × CPU` for work that needs no accelerator. */
export function gangText({ workers, minWorkers, accelerators, shareMilli, groups }: GangSpec): string {
  if (groups !== undefined) return groups.map((group) => gangText(group)).join(" + ");
  const count = minWorkers === undefined ? grouped(workers) : `${grouped(minWorkers)}–${grouped(workers)}`;
  return accelerators === 0
    ? `${count} × CPU`
    : `${count} × ${shareMilli === undefined ? accelerators : shareMilli / 1000}`;
}

/** The same for someone who hears it. */
export function gangSentence({ workers, minWorkers, accelerators, shareMilli, groups }: GangSpec): string {
  if (groups !== undefined) return groups.map((group) => `${group.name}: ${gangSentence(group)}`).join("; ");
  const amount = shareMilli === undefined ? accelerators : shareMilli / 1000;
  const each = amount === 0 ? "no accelerators" : `${amount} accelerator${amount === 1 ? "" : "s"} each`;
  const least = minWorkers === undefined ? "" : `${minWorkers} to `;
  return `${least}${workers} worker${workers === 1 ? "" : "s"} with ${each}`;
}

/** Everything one worker gets: `8 accelerators, 96 cores, 1.5 TiB`. */
export function workerNeedText({ accelerators, shareMilli, coresMilli, memoryMib }: GangSpec): string {
  const amount = shareMilli === undefined ? accelerators : shareMilli / 1000;
  const parts = [`${amount} accelerator${amount === 1 ? "" : "s"}`];
  if (coresMilli > 0) parts.push(coresText(coresMilli));
  if (memoryMib > 0) parts.push(memoryText(memoryMib));
  return parts.join(", ");
}

/** Durations never run backwards on screen, even where two clocks disagree by a little. */
export const spanText = (spanMs: number): string =>
  spanMs < 1_000 ? "0 s" : durationText(Math.floor(spanMs / 1000) * 1000);

/** `81%`, and never a 100% that is not whole. */
export function percentText(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  return `${percent < 100 ? Math.min(99, Math.round(percent)) : 100}%`;
}
