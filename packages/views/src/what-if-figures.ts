/** Figures of two timelines, team by team, shared by command line and console. */
import type { WhatIfAnswer } from "@headroom/protocol";

export interface TeamShare {
  readonly team: string;
  /** Mean accelerators over the horizon, including all teams below. */
  readonly presentMean: number;
  readonly changedMean: number;
}

/** By name; includes teams that only the change has. */
export function teamShares({ present, changed }: Pick<WhatIfAnswer, "present" | "changed">): TeamShare[] {
  const names = [present, changed].flatMap(({ samples }) => Object.keys(samples[0]?.heldByTeam ?? {}));
  return [...new Set(names)].toSorted().map((team) => ({
    team,
    presentMean: meanOf(present, ({ heldByTeam }) => heldByTeam[team] ?? 0),
    changedMean: meanOf(changed, ({ heldByTeam }) => heldByTeam[team] ?? 0),
  }));
}

/** Over the evenly spaced samples of a timeline. */
export function meanOf<Sample>(
  { samples }: { readonly samples: readonly Sample[] },
  figure: (sample: Sample) => number,
): number {
  return samples.reduce((sum, sample) => sum + figure(sample), 0) / Math.max(1, samples.length);
}

/** To one decimal, because work may hold a fraction of an accelerator. */
export const tenths = (value: number): number => Math.round(value * 10) / 10;

type MovedStart = WhatIfAnswer["moved"][number];

/** By the start of the first task, then of the last. */
export function startsEarlier(
  moved: Pick<MovedStart, "presentAtMs" | "changedAtMs" | "presentLastAtMs" | "changedLastAtMs">,
): boolean {
  if (moved.changedAtMs !== moved.presentAtMs) return orNever(moved.changedAtMs) < orNever(moved.presentAtMs);
  return orNever(moved.changedLastAtMs) < orNever(moved.presentLastAtMs);
}

const orNever = (atMs: number | null): number => atMs ?? Number.POSITIVE_INFINITY;

/** The effect of the change on running work that it interrupts, spares, or restarts at another time. */
export function interruptionOutcome({
  present,
  changed,
}: Pick<WhatIfAnswer["interrupted"][number], "present" | "changed">): "interrupted" | "spared" | "earlier" | "later" {
  if (present === null) return "interrupted";
  if (changed === null) return "spared";
  return orNever(changed.againAtMs) < orNever(present.againAtMs) ? "earlier" : "later";
}
