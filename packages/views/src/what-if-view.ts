/** Two courses of the next hours side by side, with names and a sentence: one answer, wherever it is computed. */
import type { Engine, WorkloadId } from "@headroom/engine";
import type { WhatIfAnswer } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";
import type { TriedChange, TriedNodes } from "./tried-change.ts";
import { meanOf } from "./what-if-figures.ts";

type Course = WhatIfAnswer["present"];

/** What the simulator gives. */
interface PlayedWhatIf {
  readonly present: PlayedCourse;
  readonly changed: PlayedCourse;
  readonly moved: readonly {
    readonly workloadId: WorkloadId;
    readonly presentAtMs: number | null;
    readonly changedAtMs: number | null;
  }[];
}

interface PlayedCourse {
  readonly samples: readonly Readonly<
    Omit<Course["samples"][number], "heldByTeam"> & { readonly heldByTeam: Readonly<Record<string, number>> }
  >[];
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
export type WhatIfPlayer = (
  engine: Engine,
  change: TriedChange & TriedNodes,
  options: Span & { readonly seed: number },
) => PlayedWhatIf;

/** Enough for a chart across a page. */
const SAMPLES = 96;

export function whatIfView(
  { engine, sequence, nowMs }: Present,
  { change, horizonMs }: { readonly change: TriedChange & TriedNodes; readonly horizonMs: number },
  play: WhatIfPlayer,
): WhatIfAnswer {
  const span = { nowMs, horizonMs, stepMs: Math.ceil(horizonMs / SAMPLES) };
  return { sequence, ...playedView(engine, play(engine, change, { ...span, seed: 1 }), span) };
}

const MOVED_SHOWN_MAX = 500;
const NEVER = Number.POSITIVE_INFINITY;

function playedView(
  { state }: Engine,
  { present, changed, moved }: PlayedWhatIf,
  { nowMs, horizonMs, stepMs }: Span,
): Omit<WhatIfAnswer, "sequence"> {
  const earlierCount = moved.filter(
    ({ presentAtMs, changedAtMs }) => (changedAtMs ?? NEVER) < (presentAtMs ?? NEVER),
  ).length;
  const laterCount = moved.length - earlierCount;
  const named = moved.slice(0, MOVED_SHOWN_MAX).map((each) => {
    const spec = state.workloads.get(each.workloadId)?.spec;
    return { ...each, name: spec?.name ?? each.workloadId, team: spec?.team ?? "" };
  });
  const counts = `${plural(earlierCount, "waiting workload")} would start earlier and ${grouped(laterCount)} later`;
  const use = `${meanText(present)} accelerators in use on average as things are, ${meanText(changed)} with the change`;
  const evictions = `${plural(present.evictions, "eviction")} as things are, ${grouped(changed.evictions)} with the change`;
  return {
    fromMs: nowMs,
    horizonMs,
    stepMs,
    present: courseView(present),
    changed: courseView(changed),
    earlierCount,
    laterCount,
    moved: named,
    sentence: `In the next ${durationText(horizonMs)}, if nobody submits anything more: ${counts}; ${use}; ${evictions}.`,
  };
}

const courseView = ({ samples, evictions }: PlayedCourse): Course => ({
  samples: samples.map((sample) => ({ ...sample, heldByTeam: { ...sample.heldByTeam } })),
  evictions,
});

const meanText = (course: PlayedCourse): string =>
  grouped(Math.round(meanOf(course, ({ heldAccelerators }) => heldAccelerators)));
