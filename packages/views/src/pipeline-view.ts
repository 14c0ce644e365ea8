/** Pipelines, their runs and the steps of a run as resources of the API. */
import type { Engine, ReadonlyState } from "@headroom/engine";
import { isRunOpen, nextDueMs, pipelineClock, pipelineRunId, stepKey } from "@headroom/model";
import type {
  PipelineItem as EngineItem,
  PipelineRun as EngineRun,
  PipelineSpec,
  StepPhase,
  StepRun,
} from "@headroom/model";
import { orderedSteps, stepWait } from "@headroom/pipelines";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type {
  PageRequest,
  PipelineItem,
  PipelineGraphStep,
  PipelinePage,
  PipelineRun,
  PipelineRunItem,
  QueryFor,
  PipelineRunPage,
  PipelineStepPage,
  PipelineStepRun,
} from "@headroom/protocol";
import { refusedCursor } from "./page-cursor.ts";
import { stepReasonSentence, stepWaitSentence } from "./pipeline-text.ts";
import { isReadable } from "./readable-teams.ts";
import type { ReadableTeams } from "./readable-teams.ts";
import { verdictView } from "./verdict-view.ts";

type PipelineState = Pick<ReadonlyState, "pipelines" | "pipelineRuns" | "workloads">;
type Counts = Partial<Record<StepPhase, number>>;

/** A copy, because results never share objects with the state. Definitions consist of plain JSON values. */
const plain = <Wire>(value: unknown): Wire => JSON.parse(JSON.stringify(value)) as Wire;

/** Pipelines in the order of definition. The cursor is the name of the last one of a page. */
export function pipelineList(
  { state }: Engine,
  { cursor, limit = PAGE_ITEMS_DEFAULT, team }: PageRequest & { readonly team?: string | undefined },
  readable: ReadableTeams = null,
): PipelinePage {
  const start = typeof cursor === "string" ? positionIn(cursor) : 0;
  const runs = runsByPipeline(state);
  const items: PipelineItem[] = [];
  let position = 0;
  for (const item of state.pipelines.values()) {
    const own = item.pipeline.team;
    if (++position <= start || !isReadable(readable, own) || (team !== undefined && own !== team)) continue;
    if (items.length === limit) return { items, nextCursor: String(position - 1) };
    items.push(pipelineResource(item, runs.get(item.pipeline.name) ?? []));
  }
  return { items, nextCursor: null };
}

function positionIn(cursor: string): number {
  if (!/^[0-9]{1,9}$/.test(cursor)) throw refusedCursor(cursor);
  return Number(cursor);
}

const runsByPipeline = ({ pipelineRuns }: Pick<PipelineState, "pipelineRuns">): ReadonlyMap<string, EngineRun[]> =>
  Map.groupBy(pipelineRuns.values(), ({ pipeline }) => pipeline.name);

/** `null`: there is no such pipeline. */
export function pipelineView({ state }: Engine, name: string): PipelineItem | null {
  const item = state.pipelines.get(name);
  return item === undefined ? null : pipelineResource(item, runsByPipeline(state).get(name) ?? []);
}

function pipelineResource({ pipeline, actor, lookedAtMs, left }: EngineItem, runs: readonly EngineRun[]): PipelineItem {
  const clock = pipelineClock(pipeline);
  const last = runs.at(-1);
  return {
    pipeline: plain(pipeline),
    actor,
    nextAtMs: clock === null ? null : nextDueMs(clock.times, lookedAtMs),
    ...(left === undefined ? {} : { left }),
    openRuns: runs.filter(isRunOpen).length,
    lastRun: last === undefined ? null : runSummary(last),
  };
}

/** The number in the id of a run; `null`: the text is no such id. */
function ordinalOf(id: string): number | null {
  const digits = /^p([1-9][0-9]{0,14})$/.exec(id)?.[1];
  return digits === undefined ? null : Number(digits);
}

/**
 * Runs, newest first. A page begins after a number, whether its run exists or not: a cursor must not tell which runs of other
 * teams exist, and a run may be forgotten between two pages.
 */
export function pipelineRunList(
  { state }: Engine,
  { cursor, limit = PAGE_ITEMS_DEFAULT, pipeline, phase }: QueryFor<"listPipelineRuns">,
  readable: ReadableTeams = null,
): PipelineRunPage {
  const before = typeof cursor === "string" ? ordinalOf(cursor) : Number.POSITIVE_INFINITY;
  if (before === null) throw refusedCursor(String(cursor));
  const chosen = [...state.pipelineRuns.values()]
    .filter(
      (run) =>
        (ordinalOf(run.id) ?? 0) < before &&
        isReadable(readable, run.pipeline.team) &&
        (pipeline === undefined || run.pipeline.name === pipeline) &&
        (phase === undefined || run.phase === phase),
    )
    .toReversed();
  const page = chosen.slice(0, limit);
  return { items: page.map(runSummary), nextCursor: chosen.length > page.length ? (page.at(-1)?.id ?? null) : null };
}

function countsOf(steps: Iterable<StepRun>): Counts {
  const counts: Counts = {};
  for (const { phase } of steps) counts[phase] = (counts[phase] ?? 0) + 1;
  return counts;
}

function runSummary(run: EngineRun): PipelineRunItem {
  const { id, pipeline, phase, trigger, actor, params, force, steps } = run;
  const { createdAtMs, startedAtMs, endedAtMs, retryCount } = run;
  return {
    id,
    pipeline: pipeline.name,
    team: pipeline.team,
    phase,
    trigger: { ...trigger },
    actor,
    params: { ...params },
    force,
    createdAtMs,
    startedAtMs,
    endedAtMs,
    retryCount,
    counts: countsOf(steps.values()),
  };
}

/** `null`: there is no such run, or it is forgotten. */
export function pipelineRunView({ state }: Engine, id: string): PipelineRun | null {
  const run = state.pipelineRuns.get(pipelineRunId(id));
  return run === undefined
    ? null
    : { ...runSummary(run), graph: graphOf(run.pipeline, run.steps), stepCount: run.steps.size };
}

function graphOf(pipeline: PipelineSpec, steps: EngineRun["steps"]): PipelineGraphStep[] {
  const byStep = Map.groupBy(steps.values(), ({ step }) => step);
  const levels = new Map<string, number>();
  return orderedSteps(pipeline).map(({ name, after, spec, setAlias, forEach }) => {
    const level = Math.max(0, ...after.map((each) => (levels.get(each) ?? 0) + 1));
    levels.set(name, level);
    const kind = spec !== null ? "workload" : setAlias === undefined ? "approval" : "alias";
    const counts = countsOf(byStep.get(name) ?? []);
    return { name, after: [...after], kind, isFanOut: forEach !== undefined, level, counts };
  });
}

/** Verdicts of one page: each reads the whole queue. */
const VERDICTS_SHOWN_MAX = 20;

/** The steps of a run with their items, in the order of the graph. The cursor is a position. */
export function pipelineStepList(
  engine: Engine,
  id: string,
  { cursor, limit = PAGE_ITEMS_DEFAULT, step, phase }: QueryFor<"listPipelineSteps">,
): PipelineStepPage | null {
  const run = engine.state.pipelineRuns.get(pipelineRunId(id));
  if (run === undefined) return null;
  const start = typeof cursor === "string" ? positionIn(cursor) : 0;
  const chosen = [...run.steps.values()].filter(
    (own) => (step === undefined || own.step === step) && (phase === undefined || own.phase === phase),
  );
  const order = new Map(orderedSteps(run.pipeline).map(({ name }, at) => [name, at]));
  const sorted = chosen.toSorted(
    (left, right) =>
      (order.get(left.step) ?? 0) - (order.get(right.step) ?? 0) || (left.index ?? 0) - (right.index ?? 0),
  );
  const page = sorted.slice(start, start + limit);
  let verdicts = 0;
  const items = page.map((own) => stepResource(engine, run, own, () => ++verdicts <= VERDICTS_SHOWN_MAX));
  return { items, nextCursor: start + limit < sorted.length ? String(start + limit) : null };
}

function stepResource(engine: Engine, run: EngineRun, own: StepRun, mayExplain: () => boolean): PipelineStepRun {
  const { step, index, item, phase, workloadId, artifacts, startedAtMs, endedAtMs } = own;
  const workload = workloadId === null ? undefined : engine.state.workloads.get(workloadId);
  return {
    key: stepKey(step, index),
    step,
    index,
    item,
    phase,
    workloadId,
    ...(workload === undefined
      ? {}
      : {
          workloadPhase: workload.phase,
          attempts: workload.endedAttempts.length + workload.activeAttempts.length,
        }),
    ...(own.proposalId === undefined ? {} : { proposalId: own.proposalId }),
    sentence: sentenceOf(engine, run, own, mayExplain),
    artifacts: artifacts.map(({ name, path, version }) => ({
      name,
      path,
      ...(version === undefined ? {} : { version }),
    })),
    startedAtMs,
    endedAtMs,
  };
}

function sentenceOf(engine: Engine, run: EngineRun, own: StepRun, mayExplain: () => boolean): string {
  if (own.reason !== null) return stepReasonSentence(own.reason);
  const wait = stepWait(run, own);
  if (wait !== null) return stepWaitSentence(wait, run.id, stepKey(own.step, own.index));
  const isPending =
    own.phase === "running" &&
    own.workloadId !== null &&
    engine.state.workloads.get(own.workloadId)?.phase === "pending";
  return isPending && mayExplain() ? (verdictView(engine, own.workloadId)?.sentence ?? "") : "";
}
