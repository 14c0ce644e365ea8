/** Wakeups of a phase that looks at the clock itself. Each instant is scheduled once. */
import type { Batch } from "../batch/batch.ts";
import { Slot } from "../cluster/scratch.ts";

/** Instants that are scheduled. A restored engine has none and schedules them again in its first round. */
const scheduled = new Slot<Set<number>>(() => new Set(), { survivesUndo: false });

const SCHEDULED_MAX = 10_000;

export function wakeAt({ world, nowMs }: Batch, atMs: number): void {
  const known = world.scratch.get(scheduled);
  if (known.has(atMs)) return;
  if (known.size >= SCHEDULED_MAX) for (const past of known) if (past <= nowMs) known.delete(past);
  known.add(atMs);
  world.timers.add({ kind: "calendar", atMs });
}
