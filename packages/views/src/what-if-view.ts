/** Two timelines side by side, with names and a sentence. The answer is the same wherever it is computed. */
import type { Engine } from "@headroom/engine";
import type { WorkloadId } from "@headroom/model";
import type { StartEstimate, WhatIfAnswer } from "@headroom/protocol";
import type {
  Interruption,
  Present,
  RecurringArrivals,
  Timeline,
  WhatIf,
  WhatIfChange,
  WhatIfOptions,
} from "@headroom/sim";
import { durationText, grouped, plural } from "./plain-text.ts";
import { meanOf, startsEarlier, tenths } from "./what-if-figures.ts";

type TimelineView = WhatIfAnswer["present"];
type ArrivalsView = NonNullable<WhatIfAnswer["arrivals"]>;

/**
 * The simulator's function `whatIf`, which the caller passes. The package imports only its types, so that other pages
 * do not load the simulator.
 */
export type WhatIfPlayer = (engine: Engine, change: WhatIfChange, options: WhatIfOptions) => WhatIf;

/** The forecast of the state. The answer states starts on the time scale of this forecast. */
type ForecastStart = Pick<StartEstimate, "workloadId" | "p50AtMs">;

/** Number of samples of a timeline: enough for a chart as wide as a page. */
const SAMPLES = 96;

export function whatIfView(
  { engine, sequence, nowMs }: Present,
  { change, horizonMs, arrivals }: Pick<WhatIfOptions, "horizonMs" | "arrivals"> & { readonly change: WhatIfChange },
  play: WhatIfPlayer,
  starts: readonly ForecastStart[] = [],
): WhatIfAnswer {
  const forecast = new Map(starts.map(({ workloadId, p50AtMs }) => [workloadId, p50AtMs]));
  const span = { nowMs, horizonMs, stepMs: Math.ceil(horizonMs / SAMPLES), arrivals, forecast };
  return { sequence, ...playedView(engine, play(engine, change, span), span) };
}

const SHOWN_MAX = 500;

function playedView(
  { state }: Engine,
  { arrivals, present, changed, moved, interrupted }: WhatIf,
  { nowMs, horizonMs, stepMs }: WhatIfOptions,
): Omit<WhatIfAnswer, "sequence"> {
  const named = (workloadId: WorkloadId): { workloadId: string; name: string; team: string } => {
    const spec = state.workloads.get(workloadId)?.spec;
    return { workloadId, name: spec?.name ?? workloadId, team: spec?.team ?? "" };
  };
  const earlierCount = moved.filter(startsEarlier).length;
  const laterCount = moved.length - earlierCount;
  const counts = `${plural(earlierCount, "waiting workload")} would start earlier and ${grouped(laterCount)} later`;
  return {
    fromMs: nowMs,
    horizonMs,
    stepMs,
    arrivals: arrivals === null ? null : arrivalsView(arrivals),
    present: timelineView(present),
    changed: timelineView(changed),
    earlierCount,
    laterCount,
    moved: moved.slice(0, SHOWN_MAX).map((each) => ({ ...each, ...named(each.workloadId) })),
    interruptedCount: interrupted.length,
    interrupted: interrupted.slice(0, SHOWN_MAX).map((each) => ({
      ...named(each.workloadId),
      present: interruptionView(each.present),
      changed: interruptionView(each.changed),
    })),
    sentence: `In the next ${durationText(horizonMs)}, ${assumptionText(arrivals, { nowMs, horizonMs })}: ${counts}; ${useText(present, changed)}.`,
  };
}

const arrivalsView = ({ recordedFromMs, recordedCount, arrivals, untilMs }: RecurringArrivals): ArrivalsView => ({
  recordedFromMs,
  recordedCount,
  recurringCount: arrivals.length,
  untilMs,
});

/** `if the 40 submissions of the last 1 d recur (20 in this time)`, or `without further submissions`. */
function assumptionText(
  of: RecurringArrivals | null,
  { nowMs, horizonMs }: Pick<WhatIfOptions, "nowMs" | "horizonMs">,
): string {
  if (of === null) return "without further submissions";
  const { recordedFromMs, recordedCount, arrivals, untilMs } = of;
  const past = `the last ${durationText(nowMs - recordedFromMs)}`;
  if (recordedCount === 0) return `without further submissions, as ${past} had none`;
  const recorded = recordedCount === 1 ? "the one submission" : `the ${grouped(recordedCount)} submissions`;
  const isCut = untilMs < nowMs + horizonMs;
  const when = isCut ? `the first ${durationText(untilMs - nowMs)}, which is the maximum` : "this time";
  return `if ${recorded} of ${past} recur${recordedCount === 1 ? "s" : ""} (${grouped(arrivals.length)} in ${when})`;
}

const timelineView = ({ samples, arrived, interruptions, evictions }: Timeline): TimelineView => ({
  arrived: { ...arrived },
  samples: samples.map((sample) => ({ ...sample, heldByTeam: { ...sample.heldByTeam } })),
  evictions,
  interruptions: interruptions.size,
  lostAcceleratorMs: [...interruptions.values()].reduce((sum, { lostAcceleratorMs }) => sum + lostAcceleratorMs, 0),
});

const interruptionView = (of: Interruption | null): WhatIfAnswer["interrupted"][number]["changed"] =>
  of === null
    ? null
    : { taskCount: of.taskCount, atMs: of.atMs, againAtMs: of.againAtMs, lostAcceleratorMs: of.lostAcceleratorMs };

function useText(present: Timeline, changed: Timeline): string {
  const inUse = (timeline: Timeline): number => tenths(meanOf(timeline, ({ heldAccelerators }) => heldAccelerators));
  const waits = ({ arrived: { meanWaitMs } }: Timeline): string =>
    meanWaitMs === 0 ? "0 s" : durationText(meanWaitMs);
  const arrivedWaits =
    present.arrived.count === 0
      ? []
      : ([[`submissions wait ${waits(present)}`, "on average ", waits(changed)]] as const);
  const pairs = [
    ...arrivedWaits,
    [plural(inUse(present), "accelerator"), "in use on average ", grouped(inUse(changed))],
    [plural(present.interruptions.size, "running workload"), "interrupted ", grouped(changed.interruptions.size)],
    [plural(present.evictions, "eviction"), "", grouped(changed.evictions)],
  ] as const;
  return pairs.map(([before, what, after]) => `${before} ${what}without the change, ${after} with it`).join("; ");
}
