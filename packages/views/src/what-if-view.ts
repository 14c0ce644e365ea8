/** Two courses of the next hours side by side, with names and a sentence: one answer, wherever it is computed. */
import type { Engine, WorkloadId } from "@headroom/engine";
import type { WhatIfAnswer } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";
import type { TriedChange, TriedNodes } from "./tried-change.ts";
import { meanOf, startsEarlier, tenths } from "./what-if-figures.ts";

type Course = WhatIfAnswer["present"];

/** What the simulator gives. */
interface PlayedWhatIf {
  readonly present: PlayedCourse;
  readonly changed: PlayedCourse;
  readonly moved: readonly (Readonly<Omit<WhatIfAnswer["moved"][number], "name" | "team">> & {
    readonly workloadId: WorkloadId;
  })[];
  readonly interrupted: readonly {
    readonly workloadId: WorkloadId;
    readonly present: PlayedInterruption | null;
    readonly changed: PlayedInterruption | null;
  }[];
}

type PlayedInterruption = Readonly<NonNullable<WhatIfAnswer["interrupted"][number]["changed"]>>;

interface PlayedCourse {
  readonly samples: readonly Readonly<
    Omit<Course["samples"][number], "heldByTeam"> & { readonly heldByTeam: Readonly<Record<string, number>> }
  >[];
  readonly interruptions: ReadonlyMap<WorkloadId, PlayedInterruption>;
  readonly evictions: number;
}

/** A state of which things are asked, and the newest event in it when it was taken. */
interface Present {
  readonly engine: Engine;
  readonly sequence: number;
  readonly nowMs: number;
}

interface Span {
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
}

/** The simulator's `whatIf`; it is handed in, because views stand below it. */
export type WhatIfPlayer = (engine: Engine, change: TriedChange & TriedNodes, options: Span) => PlayedWhatIf;

/** Enough for a chart across a page. */
const SAMPLES = 96;

export function whatIfView(
  { engine, sequence, nowMs }: Present,
  { change, horizonMs }: { readonly change: TriedChange & TriedNodes; readonly horizonMs: number },
  play: WhatIfPlayer,
): WhatIfAnswer {
  const span = { nowMs, horizonMs, stepMs: Math.ceil(horizonMs / SAMPLES) };
  return { sequence, ...playedView(engine, play(engine, change, span), span) };
}

const SHOWN_MAX = 500;

function playedView(
  { state }: Engine,
  { present, changed, moved, interrupted }: PlayedWhatIf,
  { nowMs, horizonMs, stepMs }: Span,
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
    present: courseView(present),
    changed: courseView(changed),
    earlierCount,
    laterCount,
    moved: moved.slice(0, SHOWN_MAX).map((each) => ({ ...each, ...named(each.workloadId) })),
    interruptedCount: interrupted.length,
    interrupted: interrupted.slice(0, SHOWN_MAX).map((each) => ({
      ...named(each.workloadId),
      present: interruptionView(each.present),
      changed: interruptionView(each.changed),
    })),
    sentence: `In the next ${durationText(horizonMs)}, if nobody submits anything more: ${counts}; ${useText(present, changed)}.`,
  };
}

const courseView = ({ samples, interruptions, evictions }: PlayedCourse): Course => ({
  samples: samples.map((sample) => ({ ...sample, heldByTeam: { ...sample.heldByTeam } })),
  evictions,
  interruptions: interruptions.size,
  lostAcceleratorMs: [...interruptions.values()].reduce((sum, { lostAcceleratorMs }) => sum + lostAcceleratorMs, 0),
});

const interruptionView = (of: PlayedInterruption | null): WhatIfAnswer["interrupted"][number]["changed"] =>
  of === null
    ? null
    : { taskCount: of.taskCount, atMs: of.atMs, againAtMs: of.againAtMs, lostAcceleratorMs: of.lostAcceleratorMs };

function useText(present: PlayedCourse, changed: PlayedCourse): string {
  const inUse = (course: PlayedCourse): number => tenths(meanOf(course, ({ heldAccelerators }) => heldAccelerators));
  const pairs = [
    [plural(inUse(present), "accelerator"), "in use on average ", grouped(inUse(changed))],
    [plural(present.interruptions.size, "running workload"), "interrupted ", grouped(changed.interruptions.size)],
    [plural(present.evictions, "eviction"), "", grouped(changed.evictions)],
  ] as const;
  return pairs.map(([before, what, after]) => `${before} ${what}as things are, ${after} with the change`).join("; ");
}
