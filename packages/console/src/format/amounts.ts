/** Short amounts for narrow table columns. Sentences use longer forms, which the package views defines. */
import { durationText, grouped, partForm, resourceTexts } from "@headroom/views";
import type { GangSpec } from "@headroom/protocol";

/**
 * Size of a workload such as `4 × 8` or `2–8 × 1`: workers by accelerators; `1 × CPU` for work without accelerators.
 */
export function gangText({ workers, minWorkers, accelerators, taskGroups: groups, ...shape }: GangSpec): string {
  if (groups !== undefined) return groups.map((group) => gangText(group)).join(" + ");
  const count = minWorkers === undefined ? grouped(workers) : `${grouped(minWorkers)}–${grouped(workers)}`;
  return accelerators === 0 ? `${count} × CPU` : `${count} × ${partForm(shape)?.short ?? accelerators}`;
}

/** Size of a workload in words, for screen readers. */
export function gangSentence({ workers, minWorkers, taskGroups: groups, ...shape }: GangSpec): string {
  if (groups !== undefined) return groups.map((group) => `${group.name}: ${gangSentence(group)}`).join("; ");
  const each = shape.accelerators === 0 ? "no accelerators" : `${acceleratorsText(shape)} each`;
  const least = minWorkers === undefined ? "" : `${minWorkers} to `;
  return `${least}${workers} worker${workers === 1 ? "" : "s"} with ${each}`;
}

/** Resources of one worker: `8 accelerators, 96 cores, 1.5 TiB`. */
export const workerNeedText = (shape: GangSpec): string =>
  [acceleratorsText(shape), ...resourceTexts(shape)].join(", ");

const acceleratorsText = ({
  accelerators,
  ...shape
}: Pick<GangSpec, "accelerators" | "shareMilli" | "profile">): string =>
  partForm(shape)?.of("an accelerator") ?? `${accelerators} accelerator${accelerators === 1 ? "" : "s"}`;

/** The duration is never negative, even if two clocks differ a little. */
export const spanText = (spanMs: number): string =>
  spanMs < 1_000 ? "0 s" : durationText(Math.floor(spanMs / 1000) * 1000);

/** A share such as `81%`. It is rounded down, so that only a full share shows 100%. */
export function percentText(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  return `${percent < 100 ? Math.min(99, Math.round(percent)) : 100}%`;
}
