/** Figures that compare two timelines, team by team. Command line and console share them. */
import type { WhatIfAnswer } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

export interface TeamShare {
  readonly team: string;
  /** Mean number of accelerators over the horizon, including all teams below. */
  readonly presentMean: number;
  readonly changedMean: number;
}

/** Teams by name, including teams that only the change has. */
export function teamShares({ present, changed }: Pick<WhatIfAnswer, "present" | "changed">): TeamShare[] {
  const names = [present, changed].flatMap(({ samples }) => Object.keys(samples[0]?.heldByTeam ?? {}));
  return [...new Set(names)].toSorted().map((team) => ({
    team,
    presentMean: meanOf(present, ({ heldByTeam }) => heldByTeam[team] ?? 0),
    changedMean: meanOf(changed, ({ heldByTeam }) => heldByTeam[team] ?? 0),
  }));
}

/** Mean over the samples of a timeline, which are evenly spaced. */
export function meanOf<Sample>(
  { samples }: { readonly samples: readonly Sample[] },
  figure: (sample: Sample) => number,
): number {
  return samples.reduce((sum, sample) => sum + figure(sample), 0) / Math.max(1, samples.length);
}

/** Rounded to one decimal, because work can hold a fraction of an accelerator. */
export const tenths = (value: number): number => Math.round(value * 10) / 10;

type MovedStart = WhatIfAnswer["moved"][number];

/** Sorted by the start of the first task, then of the last. */
export function startsEarlier(
  moved: Pick<MovedStart, "presentAtMs" | "changedAtMs" | "presentLastAtMs" | "changedLastAtMs">,
): boolean {
  if (moved.changedAtMs !== moved.presentAtMs) return orNever(moved.changedAtMs) < orNever(moved.presentAtMs);
  return orNever(moved.changedLastAtMs) < orNever(moved.presentLastAtMs);
}

const orNever = (atMs: number | null): number => atMs ?? Number.POSITIVE_INFINITY;

/** The effect of the change on running work that it interrupts, no longer interrupts, or restarts at another time. */
export function interruptionOutcome({
  present,
  changed,
}: Pick<WhatIfAnswer["interrupted"][number], "present" | "changed">): "interrupted" | "spared" | "earlier" | "later" {
  if (present === null) return "interrupted";
  if (changed === null) return "spared";
  return orNever(changed.againAtMs) < orNever(present.againAtMs) ? "earlier" : "later";
}

/** The effect of a change on the work of one team, without the teams below it. */
export interface TeamOutcome {
  readonly team: string;
  readonly outcome: "gains" | "loses";
  /** `4 workloads start 1 h 20 min later on average; 1 interrupted, 145.6 accelerator-hours repeated`. */
  readonly sentence: string;
}

interface TeamTotals {
  movedCount: number;
  /** Sum over the starts that change; positive: they are later. */
  shiftMs: number;
  /** True: a start does not happen within the horizon, so its shift is a lower bound. */
  isBound: boolean;
  interruptedCount: number;
  sparedCount: number;
  lostAcceleratorMs: number;
  /** Time in which interrupted work does not run, less the time that work gains because it is no longer interrupted. */
  pausedMs: number;
}

/** Difference below which a team's mean use counts as unchanged. */
const NOTICEABLE = 0.05;

/**
 * Sorts teams by the effect of the change on their work, largest first. Changed starts and interruptions decide. Mean
 * accelerators decide only if there are neither, because repeated work also holds accelerators.
 */
export function teamOutcomes(answer: WhatIfAnswer): TeamOutcome[] {
  const totals = teamTotals(answer);
  const shares = teamShares(answer);
  const isParent = (team: string): boolean => shares.some((other) => other.team.startsWith(`${team}/`));
  const byWork = [...totals].map(([team, total]) => ({
    team,
    sentence: workText(total),
    effectMs: total.shiftMs + total.pausedMs,
  }));
  const byUse = shares
    .filter(({ team }) => !totals.has(team) && !isParent(team))
    .map(({ team, presentMean, changedMean }) => ({ team, difference: changedMean - presentMean }))
    .filter(({ difference }) => Math.abs(difference) > NOTICEABLE)
    .toSorted((left, right) => Math.abs(right.difference) - Math.abs(left.difference));
  return [
    ...byWork
      .toSorted(
        (left, right) => Math.abs(right.effectMs) - Math.abs(left.effectMs) || (left.team < right.team ? -1 : 1),
      )
      .map(({ team, sentence, effectMs }): TeamOutcome => ({
        team,
        sentence,
        outcome: effectMs < 0 ? "gains" : "loses",
      })),
    ...byUse.map(({ team, difference }): TeamOutcome => ({
      team,
      outcome: difference > 0 ? "gains" : "loses",
      sentence: `${difference > 0 ? "+" : ""}${tenths(difference)} accelerators on average`,
    })),
  ];
}

function teamTotals({ moved, interrupted, fromMs, horizonMs }: WhatIfAnswer): ReadonlyMap<string, TeamTotals> {
  const totals = new Map<string, TeamTotals>();
  const endMs = fromMs + horizonMs;
  const of = (team: string): TeamTotals => {
    const known = totals.get(team) ?? {
      movedCount: 0,
      shiftMs: 0,
      isBound: false,
      interruptedCount: 0,
      sparedCount: 0,
      lostAcceleratorMs: 0,
      pausedMs: 0,
    };
    totals.set(team, known);
    return known;
  };
  for (const each of moved) {
    const [present, changed] =
      each.presentAtMs === each.changedAtMs
        ? [each.presentLastAtMs, each.changedLastAtMs]
        : [each.presentAtMs, each.changedAtMs];
    const total = of(each.team);
    total.movedCount++;
    total.isBound ||= present === null || changed === null;
    total.shiftMs += (changed ?? Math.max(endMs, present ?? endMs)) - (present ?? Math.max(endMs, changed ?? endMs));
  }
  for (const each of interrupted) {
    const total = of(each.team);
    const outcome = interruptionOutcome(each);
    if (outcome === "interrupted") total.interruptedCount++;
    if (outcome === "spared") total.sparedCount++;
    total.lostAcceleratorMs += (each.changed?.lostAcceleratorMs ?? 0) - (each.present?.lostAcceleratorMs ?? 0);
    const pauseOf = (of: typeof each.changed): number =>
      of === null ? 0 : Math.max(1, (of.againAtMs ?? endMs) - of.atMs);
    total.pausedMs += pauseOf(each.changed) - pauseOf(each.present);
  }
  return totals;
}

function workText({
  movedCount,
  shiftMs,
  isBound,
  interruptedCount,
  sparedCount,
  lostAcceleratorMs,
}: TeamTotals): string {
  const meanMs = Math.abs(shiftMs) / Math.max(1, movedCount);
  const start = `${plural(movedCount, "workload")} start${movedCount === 1 ? "s" : ""}`;
  const shift = `${isBound ? "at least " : ""}${durationText(meanMs)} ${shiftMs < 0 ? "earlier" : "later"}`;
  const hours = tenths(Math.abs(lostAcceleratorMs) / HOUR_MS);
  const parts = [
    ...(movedCount === 0 ? [] : [`${start} ${shift}${movedCount === 1 ? "" : " on average"}`]),
    ...(interruptedCount === 0 ? [] : [`${grouped(interruptedCount)} interrupted`]),
    ...(sparedCount === 0 ? [] : [`${grouped(sparedCount)} not interrupted`]),
    ...(hours === 0 ? [] : [`${plural(hours, "accelerator-hour")} ${lostAcceleratorMs > 0 ? "repeated" : "saved"}`]),
  ];
  return parts.length === 0 ? "work restarts at another time" : parts.join("; ");
}

const HOUR_MS = 3_600_000;
