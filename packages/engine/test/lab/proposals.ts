/** Inputs about proposals for tests. */
import type { Command, SimulatedStart } from "@headroom/model";
import { command } from "./make.ts";

/** A simulated effect that moves these starts. */
export const simulated = (
  id: string,
  atMs: number,
  starts: readonly SimulatedStart[] = [],
  horizonMs = 3_600_000,
): Command => {
  const counts = { earlierCount: starts.length, laterCount: 0, interruptedCount: 0, lostAcceleratorMs: 0 };
  const effect = { atMs, horizonMs, ...counts, presentUsedMilli: 0, changedUsedMilli: 0, teams: [], starts };
  return command({ kind: "simulateProposal", id, effect });
};
