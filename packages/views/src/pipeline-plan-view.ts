/** The plan of a run before it starts: its steps with expected times, accelerator-hours and cost. */
import { findVersionOf } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { acceptedTypes, milliIn, pipelineRunId, taskCountOf, wholeParts } from "@headroom/model";
import type { PipelineSpec, PipelineStep, WorkloadSpec } from "@headroom/model";
import { BACKFILL_RUNS_MAX, backfillDates, paramValues, plannedRun, runPlan } from "@headroom/pipelines";
import type { BackfillSpan, StepDuration, StepPlan, ZoneOffsetAt } from "@headroom/pipelines";
import { ProblemError, refuse } from "@headroom/protocol";
import type { PipelineRunPlan, PlannedStep } from "@headroom/protocol";
import { rejectionProblem } from "./rejection-view.ts";

interface PlannedRequest {
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  readonly force: boolean;
  readonly actor: string;
}

const HOUR_MS = 3_600_000;
/** Earlier runs from which the duration of a step is taken, newest first. */
const RUNS_READ_MAX = 20;

/** Throws a problem if there is no such pipeline, or the parameters do not fit. `startsAtMs` is for the caller to fill in. */
export function pipelineRunPlan(
  engine: Engine,
  { name, params: stated, force, actor }: PlannedRequest,
): PipelineRunPlan {
  const { state } = engine;
  const pipeline = state.pipelines.get(name)?.pipeline;
  if (pipeline === undefined) throw new ProblemError(rejectionProblem({ code: "unknownPipeline", name }));
  const read = paramValues(pipeline, stated);
  if ("fault" in read)
    throw new ProblemError(rejectionProblem({ code: "pipelineParam", name: pipeline.name, ...read.fault }));
  const id = pipelineRunId("");
  const run = plannedRun({ id, pipeline, params: read.values, actor, force }, state.nowMs);
  const durations = durationsOf(state, pipeline);
  const plans = runPlan(run, {
    cached: (key) => state.cachedSteps.get(key) ?? null,
    versionOf: (team, text) => findVersionOf(state, team, text),
    durationOf: (step) => durations.get(step.name) ?? walltimeOf(step),
  });
  const steps = plans.map(plannedStep);
  const ends = steps.map(({ endMs }) => endMs);
  return {
    steps,
    startsAtMs: null,
    endMs: ends.includes(null) ? null : Math.max(0, ...ends.map((endMs) => endMs ?? 0)),
    acceleratorHours: sumOf(steps.map(({ acceleratorHours }) => acceleratorHours)),
    costMicroUsd: costOf(state, plans),
  };
}

/** The first workload that a run submits, for a forecast of its start; `null`: no step runs one. */
export function firstWorkload({ state }: Engine, name: string, plan: PipelineRunPlan): WorkloadSpec | null {
  const first = plan.steps.find(({ outcome, startMs }) => outcome === "runs" && startMs === 0);
  return state.pipelines.get(name)?.pipeline.steps.find((step) => step.name === first?.name)?.spec ?? null;
}

/** Median durations of the steps in earlier runs, the wait in the queue included. */
function durationsOf({ pipelineRuns }: ReadonlyState, { name }: PipelineSpec): ReadonlyMap<string, StepDuration> {
  const runs = [...pipelineRuns.values()].filter(({ pipeline }) => pipeline.name === name).slice(-RUNS_READ_MAX);
  const found = new Map<string, number[]>();
  for (const { steps } of runs)
    for (const { step, phase, startedAtMs, endedAtMs } of steps.values())
      if (phase === "succeeded" && startedAtMs !== null && endedAtMs !== null)
        found.set(step, [...(found.get(step) ?? []), endedAtMs - startedAtMs]);
  return new Map(
    [...found].map(([step, all]) => {
      const sorted = all.toSorted((left, right) => left - right);
      return [step, { durationMs: sorted[Math.floor(sorted.length / 2)] ?? 0, basis: "runs" }];
    }),
  );
}

const walltimeOf = ({ spec }: PipelineStep): StepDuration | null =>
  spec?.walltimeMs == null ? null : { durationMs: spec.walltimeMs, basis: "walltime" };

/** Thousandths of accelerators of all tasks of a workload. */
const milliOf = (spec: WorkloadSpec): number => milliIn(wholeParts(spec.gang)) * taskCountOf(spec);

function hoursOf({ step: { spec }, items, duration, outcome }: StepPlan): number | null {
  if (spec === null || outcome === "skipped" || outcome === "cached" || milliOf(spec) === 0) return 0;
  return items === null || duration === null ? null : (milliOf(spec) / 1000) * items * (duration.durationMs / HOUR_MS);
}

function plannedStep(plan: StepPlan): PlannedStep {
  const { step, outcome, items, duration, startMs, endMs } = plan;
  return {
    name: step.name,
    after: [...step.after],
    outcome,
    startMs,
    endMs,
    durationMs: duration?.durationMs ?? null,
    basis: duration?.basis ?? "none",
    accelerators: step.spec === null ? 0 : Math.ceil(milliOf(step.spec) / 1000),
    items,
    acceleratorHours: hoursOf(plan),
  };
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.includes(null) ? null : values.reduce((sum: number, value) => sum + (value ?? 0), 0);
}

/** The cost at the lowest price of a pool whose type each step accepts; `null`: not known. */
function costOf({ pools }: ReadonlyState, plans: readonly StepPlan[]): number | null {
  const costs = plans.map((plan) => {
    const hours = hoursOf(plan);
    if (hours === null || hours === 0) return hours;
    const types = plan.step.spec === null ? [] : acceptedTypes(plan.step.spec);
    const prices = [...pools.values()]
      .filter(({ acceleratorType }) => acceleratorType !== "")
      .filter(
        ({ acceleratorType, acceleratorFamily = "" }) =>
          types.length === 0 || types.includes(acceleratorType) || types.includes(acceleratorFamily),
      )
      .map(({ priceMicroUsdPerHour }) => priceMicroUsdPerHour);
    return prices.length === 0 ? null : hours * Math.min(...prices);
  });
  const sum = sumOf(costs);
  return sum === null ? null : Math.round(sum);
}

/** Offsets of a time zone from UTC; `null`: it is not known. Zones change by law, and are data of the machine. */
export type ZoneOffsets = (timeZone: string) => ZoneOffsetAt | null;

/** The dates of a backfill. Throws a problem if the span is none, or too long. */
export function backfillOf(
  { timeZone, ...span }: BackfillSpan & { readonly timeZone: string },
  offsetsOf: ZoneOffsets,
): readonly string[] {
  const offsetAt = offsetsOf(timeZone);
  const dates = offsetAt === null ? null : backfillDates(span, offsetAt);
  if (offsetAt === null) throw refusedSpan("/backfill/timeZone", `names the time zone ${timeZone}, which is not known`);
  if (dates === null || dates.length === 0)
    throw refusedSpan(
      "/backfill",
      `must be days of the calendar, at most ${BACKFILL_RUNS_MAX}, the last one not before the first one`,
    );
  if (dates.length > BACKFILL_RUNS_MAX)
    throw refusedSpan("/backfill", `has more than ${BACKFILL_RUNS_MAX} dates: use several shorter spans`);
  return dates.map(({ date }) => date);
}

function refusedSpan(pointer: string, message: string): ProblemError {
  return refuse("invalidRequest", `The request is not valid. ${pointer}: ${message}.`, {
    errors: [{ pointer, message }],
  });
}
