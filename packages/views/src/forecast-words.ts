/** Phrases about start estimates, shared by all places that show estimates. */
import { writeInstant, type StartEstimate } from "@headroom/protocol";

export const anyOneStartsIt = "Each of these changes alone starts it now, as a trial run of the scheduler showed:";
export const noneStartsIt = "No single change starts it now.";

/** Text if there is no instant: the start is after the simulated period, if there was one. */
export function beyondPlayed({ playedUntilMs, because }: Pick<StartEstimate, "playedUntilMs" | "because">): string {
  if (because.scenarioCount === 0) return "never under present conditions";
  return playedUntilMs === undefined ? "beyond the horizon" : `after ${writeInstant(playedUntilMs)}`;
}

export interface EstimateBound {
  readonly name: string;
  /** The instant as text; `null`: after the simulated period, as `beyondPlayed` says. */
  readonly atMs: number | null;
}

/** The range of an estimate, from the early to the late end. */
export const estimateBounds = ({ p10AtMs, p50AtMs, p90AtMs }: StartEstimate): readonly EstimateBound[] => [
  { name: "1 in 10 before", atMs: p10AtMs },
  { name: "half before", atMs: p50AtMs },
  { name: "9 in 10 before", atMs: p90AtMs },
];
