/**
 * The plan of a run before it starts: which steps will run, how many items they have, and when they start and end after the
 * start of the run. A plan is a forecast: it knows conditions and items as far as parameters and the cache tell them.
 */
import { stepKey } from "@headroom/model";
import type { PipelineRun, PipelineStep, StepRun } from "@headroom/model";
import { orderedSteps } from "./graph.ts";
import { conditionHolds, foundBy, itemsOf, outcomeOf } from "./results.ts";
import { waitingStep } from "./run-state.ts";
import { reuseOf } from "./step-cache.ts";
import type { CacheFacts } from "./step-cache.ts";

export interface StepDuration {
  readonly durationMs: number;
  readonly basis: "runs" | "walltime";
}

export interface PlanFacts extends CacheFacts {
  /** `null`: nothing is known about it. */
  durationOf(step: PipelineStep): StepDuration | null;
}

export interface StepPlan {
  readonly step: PipelineStep;
  /** `open`: whether it runs depends on results of steps before it. */
  readonly outcome: "runs" | "cached" | "skipped" | "approval" | "open";
  /** Number of items that run; `null`: results of steps before it tell. */
  readonly items: number | null;
  readonly duration: StepDuration | null;
  /** After the start of the run; `null`: not known. The wait for a person is not known. */
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** `run`: a run with these parameters that has not started. */
export function runPlan(run: PipelineRun, facts: PlanFacts): readonly StepPlan[] {
  const planner = new Planner(run, facts);
  return orderedSteps(run.pipeline).map((step) => planner.plan(step));
}

class Planner {
  readonly #run: PipelineRun;
  readonly #facts: PlanFacts;
  readonly #ends = new Map<string, number | null>();
  /** Steps whose ends are known before the start: they are skipped, or reused. */
  readonly #settled = new Map<string, readonly StepRun[]>();

  constructor(run: PipelineRun, facts: PlanFacts) {
    this.#run = run;
    this.#facts = facts;
  }

  plan(step: PipelineStep): StepPlan {
    const startMs = this.#startOf(step);
    const planned = this.#planned(step, startMs);
    this.#ends.set(step.name, planned.endMs);
    return planned;
  }

  #startOf({ after }: PipelineStep): number | null {
    const ends = after.map((name) => this.#ends.get(name) ?? null);
    return ends.includes(null) ? null : Math.max(0, ...ends.map((end) => end ?? 0));
  }

  #planned(step: PipelineStep, startMs: number | null): StepPlan {
    const base = { step, duration: null, startMs, endMs: startMs } as const;
    const skips = this.#skips(step);
    if (skips === true) {
      this.#settled.set(step.name, [{ ...waitingStep(step.name), phase: "skipped" }]);
      return { ...base, outcome: "skipped", items: 0 };
    }
    if (step.setAlias !== undefined) return { ...base, outcome: skips === null ? "open" : "runs", items: 1 };
    if (step.spec === null) return { ...base, outcome: "approval", items: 1, endMs: null };
    const items = this.#items(step);
    const reused = items === null ? null : this.#reused(step, items);
    if (skips === false && reused !== null && reused.length === items?.length) {
      this.#settled.set(step.name, reused);
      return { ...base, outcome: "cached", items: 0 };
    }
    const count = items === null ? null : items.length - (reused?.length ?? 0);
    const duration = this.#facts.durationOf(step);
    const lengthMs = duration === null || count === null ? null : duration.durationMs * this.#waves(step, count);
    const endMs = startMs === null || lengthMs === null ? null : startMs + lengthMs;
    return { ...base, outcome: skips === null ? "open" : "runs", items: count, duration, endMs };
  }

  /** `null`: results of steps before it tell whether it is skipped. */
  #skips({ after, upstream, when }: PipelineStep): boolean | null {
    const runsOf = (name: string): readonly StepRun[] => this.#settled.get(name) ?? [];
    if (upstream === "succeeded")
      for (const name of after) if (this.#settled.has(name) && outcomeOf(runsOf(name)) !== "succeeded") return true;
    let isOpen = false;
    for (const condition of when)
      if (condition.kind !== "param" && !this.#settled.has(condition.step)) isOpen = true;
      else if (!conditionHolds(condition, foundBy(condition, this.#run, runsOf))) return true;
    return isOpen ? null : false;
  }

  /** The items as steps that wait; `null`: not known yet. */
  #items({ name, forEach }: PipelineStep): readonly StepRun[] | null {
    if (forEach === undefined) return [waitingStep(name)];
    if ("step" in forEach && !this.#settled.has(forEach.step)) return null;
    const found = itemsOf(forEach, this.#run, (other) => this.#settled.get(other) ?? []);
    return found.kind === "unknown" ? null : found.items.map((item, index) => waitingStep(name, index, item));
  }

  #reused(step: PipelineStep, items: readonly StepRun[]): readonly StepRun[] {
    if (!step.after.every((name) => this.#settled.has(name))) return [];
    const upstream = step.after.flatMap((name) => this.#settled.get(name) ?? []);
    return items.flatMap((own): StepRun[] => {
      const cached = reuseOf(this.#run, step, own, { upstream, facts: this.#facts })?.cached;
      if (cached === undefined || cached === null) return [];
      const { workloadId, artifacts } = cached;
      return [{ ...own, phase: "cached", workloadId, artifacts }];
    });
  }

  /** Rounds in which its items run, by its limits alone: the fleet is taken as idle. */
  #waves({ atOnce = Number.POSITIVE_INFINITY }: PipelineStep, count: number): number {
    const { stepsAtOnce = Number.POSITIVE_INFINITY } = this.#run.pipeline;
    return Math.ceil(count / Math.min(Math.max(1, count), atOnce, stepsAtOnce));
  }
}

/** A run that does not exist, with these parameters, for a plan. */
export const plannedRun = (
  run: Pick<PipelineRun, "id" | "pipeline" | "params" | "actor" | "force">,
  nowMs: number,
): PipelineRun => ({
  ...run,
  trigger: { kind: "manual" },
  phase: "waiting",
  createdAtMs: nowMs,
  startedAtMs: null,
  endedAtMs: null,
  cancelRequested: false,
  retryCount: 0,
  expanded: [],
  steps: new Map(run.pipeline.steps.map(({ name }) => [stepKey(name, null), waitingStep(name)])),
});
