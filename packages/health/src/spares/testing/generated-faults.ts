/** Traces of faults with known properties. */
import type { FaultEvent } from "../fault-trace.ts";
import { uniformDraws } from "../uniform-draws.ts";

export interface GeneratedFaults {
  readonly days: number;
  readonly seed: number;
  /** Causes that start on a day. */
  causesPerDay(day: number): number;
  /** Mean number of faults of a cause. */
  readonly faultsPerCause: number;
  readonly repairDays: number;
}

export function generatedFaults(of: GeneratedFaults): readonly FaultEvent[] {
  const draw = uniformDraws(of.seed);
  const exponential = (mean: number): number => -mean * Math.log(1 - draw());
  const events: FaultEvent[] = [];
  let node = 0;
  for (let at = 0; at < of.days;) {
    at += exponential(1 / Math.max(1e-6, of.causesPerDay(at)));
    // Geometric: most causes hit few nodes, some hit many.
    const count =
      of.faultsPerCause <= 1 ? 1 : 1 + Math.floor(Math.log(1 - draw()) / Math.log(1 - 1 / of.faultsPerCause));
    for (let each = 0; each < count; each += 1) {
      node += 1;
      const startDays = at + draw() * 0.2;
      const endDays = startDays + exponential(of.repairDays);
      const common = { nodeId: `n${node}`, kind: "k" };
      if (startDays < of.days) events.push({ ...common, isStart: true, atDays: startDays });
      if (endDays < of.days) events.push({ ...common, isStart: false, atDays: endDays });
    }
  }
  return events;
}
