/**
 * The next actions of a run: a pure function of its state and of facts about its workloads. All actions that are possible now
 * come at once, in an order in which they can be recorded; after them nothing is left to do until a fact changes.
 */
import { RUN_STEPS_MAX, STEP_ARTIFACTS_MAX, isProposalOpen, isStepSettled, stepKey } from "@headroom/model";
import type {
  ProducedArtifact,
  PipelineRun,
  PipelineStep,
  Proposal,
  StepPhase,
  StepReason,
  StepRun,
  WorkloadId,
  WorkloadSpec,
} from "@headroom/model";
import { orderedSteps } from "./graph.ts";
import { conditionHolds, foundBy, itemsOf, outcomeOf } from "./results.ts";
import { reuseOf } from "./step-cache.ts";
import type { CacheFacts } from "./step-cache.ts";
import { artifactsFor, versionMade, workloadOfStep } from "./step-workload.ts";

/** The end of a step's workload. */
export interface WorkloadOutcome {
  readonly phase: "succeeded" | "failed" | "cancelled";
  readonly endedAtMs: number;
  readonly artifacts: readonly ProducedArtifact[];
}

/** The part of a proposal that decides how the step which waits for it ends. */
export type AwaitedProposal = Pick<Proposal, "phase" | "change" | "steps">;

export interface PipelineFacts extends CacheFacts {
  readonly nowMs: number;
  /** `null`: the workload has not ended. */
  outcomeOf(id: WorkloadId): WorkloadOutcome | null;
  /** Whether the workload has been asked to stop. */
  isStopping(id: WorkloadId): boolean;
  /** `null`: it is not kept any more. */
  proposalOf(id: string): AwaitedProposal | null;
}

export interface StepEnd {
  readonly phase: StepPhase & ("succeeded" | "cached" | "skipped" | "failed" | "cancelled");
  readonly reason: StepReason | null;
  readonly artifacts: readonly ProducedArtifact[];
  /** The workload whose artifacts are reused. */
  readonly workloadId?: WorkloadId;
  readonly cacheKey?: string;
}

export type StepAction =
  /** The items of a step with a fan-out are known. */
  | { readonly kind: "expand"; readonly step: string; readonly items: readonly string[] }
  | {
      readonly kind: "submit";
      readonly key: string;
      readonly spec: WorkloadSpec;
      readonly artifacts: readonly ProducedArtifact[];
      readonly cacheKey: string | null;
    }
  | { readonly kind: "requestApproval"; readonly key: string }
  /** The step ends when the alias points to the version, or when that is refused. */
  | { readonly kind: "setAlias"; readonly key: string; readonly alias: string; readonly version: string }
  | { readonly kind: "stop"; readonly key: string; readonly workloadId: WorkloadId }
  | ({ readonly kind: "settle"; readonly key: string } & StepEnd)
  /** All steps have ended. */
  | { readonly kind: "end"; readonly phase: "succeeded" | "failed" | "cancelled" };

export function nextActions(run: PipelineRun, facts: PipelineFacts): readonly StepAction[] {
  if (run.phase !== "running") return [];
  return new Advance(run, facts).actions();
}

/** The state of a run with the actions that were chosen so far. */
class Advance {
  readonly #run: PipelineRun;
  readonly #facts: PipelineFacts;
  readonly #actions: StepAction[] = [];
  readonly #byStep: Map<string, StepRun[]>;
  readonly #expanded: Set<string>;
  readonly #timeouts: ReadonlyMap<string, number>;
  #stepCount: number;
  #runningCount = 0;

  constructor(run: PipelineRun, facts: PipelineFacts) {
    this.#run = run;
    this.#facts = facts;
    this.#expanded = new Set(run.expanded);
    this.#timeouts = new Map(
      run.pipeline.steps.flatMap(({ name, timeoutMs }) => (timeoutMs === undefined ? [] : [[name, timeoutMs]])),
    );
    this.#byStep = Map.groupBy(run.steps.values(), ({ step }) => step);
    this.#stepCount = run.steps.size;
  }

  actions(): readonly StepAction[] {
    const { pipeline, cancelRequested } = this.#run;
    for (const own of this.#run.steps.values())
      if (own.phase === "running") this.#follow(own);
      else if (own.phase === "awaitingApproval" && own.proposalId !== undefined)
        this.#heed(own, this.#facts.proposalOf(own.proposalId));
    for (const step of orderedSteps(pipeline)) {
      if (cancelRequested) this.#cancel(step);
      else this.#advance(step);
    }
    const all = [...this.#byStep.values()].flat();
    if (all.every(({ phase }) => isStepSettled(phase))) this.#actions.push({ kind: "end", phase: this.#phaseOf(all) });
    return this.#actions;
  }

  #phaseOf(all: readonly StepRun[]): "succeeded" | "failed" | "cancelled" {
    if (outcomeOf(all) !== "failed") return "succeeded";
    return this.#run.cancelRequested ? "cancelled" : "failed";
  }

  /** Settles a running step whose workload has ended, or stops the workload. */
  #follow(own: StepRun): void {
    const { workloadId, startedAtMs } = own;
    if (workloadId === null) return;
    const timeoutMs = this.#timeouts.get(own.step);
    const untilMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : (startedAtMs ?? 0) + timeoutMs;
    const outcome = this.#facts.outcomeOf(workloadId);
    if (outcome === null) {
      this.#runningCount++;
      const isOver = this.#run.cancelRequested || this.#facts.nowMs >= untilMs;
      if (isOver && !this.#facts.isStopping(workloadId))
        this.#actions.push({ kind: "stop", key: stepKey(own.step, own.index), workloadId });
      return;
    }
    const { phase, artifacts } = outcome;
    if (phase === "succeeded") this.#settle(own, { phase, reason: null, artifacts });
    else if (this.#run.cancelRequested)
      this.#settle(own, { phase: "cancelled", reason: { kind: "cancelled" }, artifacts });
    else if (timeoutMs !== undefined && outcome.endedAtMs >= untilMs)
      this.#settle(own, { phase: "failed", reason: { kind: "timedOut", timeoutMs }, artifacts });
    else this.#settle(own, { phase, reason: { kind: "workload", phase }, artifacts });
  }

  /** Settles a step whose proposal was decided and, if approved, made. */
  #heed(own: StepRun, proposal: AwaitedProposal | null): void {
    if (proposal !== null && isProposalOpen(proposal)) return;
    const settled = proposal === null ? refusedBy("unknownProposal") : endOfProposal(proposal);
    this.#settle(own, { ...settled, artifacts: [] });
  }

  /** Steps that wait do not run any more. Running ones end with their workloads. */
  #cancel({ name }: PipelineStep): void {
    for (const own of this.#runsOf(name))
      if (own.phase === "waiting" || own.phase === "awaitingApproval")
        this.#settle(own, { phase: "cancelled", reason: { kind: "cancelled" }, artifacts: [] });
  }

  #advance(step: PipelineStep): void {
    const waiting = this.#runsOf(step.name).filter(({ phase }) => phase === "waiting");
    if (waiting.length === 0) return;
    const upstream = step.after.flatMap((name) => this.#runsOf(name));
    if (!upstream.every(({ phase }) => isStepSettled(phase))) return;
    const skip = this.#skipReason(step);
    if (skip !== null) {
      for (const own of waiting) this.#settle(own, { phase: "skipped", reason: skip, artifacts: [] });
      return;
    }
    if (step.setAlias !== undefined) {
      for (const own of waiting) this.#setAlias(step.setAlias, own, upstream);
      return;
    }
    if (step.spec === null) {
      for (const own of waiting) this.#requestApproval(own);
      return;
    }
    const ready = this.#items(step, waiting);
    let room = this.#roomOf(step);
    for (const own of ready) {
      const started = this.#start(step, own, { upstream, room });
      if (started === "waits") return;
      if (started === "submitted") room--;
    }
  }

  #skipReason({ after, upstream, when }: PipelineStep): StepReason | null {
    if (upstream === "succeeded")
      for (const name of after)
        if (outcomeOf(this.#runsOf(name)) !== "succeeded") return { kind: "upstream", step: name };
    for (const [index, condition] of when.entries()) {
      const found = foundBy(condition, this.#run, (name) => this.#runsOf(name));
      if (!conditionHolds(condition, found)) return { kind: "condition", index, found };
    }
    return null;
  }

  /** The runs of a step that can start, after its fan-out was resolved. */
  #items({ name, forEach }: PipelineStep, waiting: readonly StepRun[]): readonly StepRun[] {
    if (forEach === undefined || this.#expanded.has(name)) return waiting;
    const [only] = waiting;
    if (only === undefined) return [];
    const found = itemsOf(forEach, this.#run, (other) => this.#runsOf(other));
    const fail = (cause: "missing" | "notAList" | "tooMany"): readonly StepRun[] => {
      this.#settle(only, { phase: "failed", reason: { kind: "fanOut", cause }, artifacts: [] });
      return [];
    };
    if (found.kind === "unknown") return fail(found.cause);
    const { items } = found;
    if (this.#stepCount - 1 + items.length > RUN_STEPS_MAX) return fail("tooMany");
    const runs = items.map((item, index): StepRun => ({ ...only, index, item }));
    this.#stepCount += items.length - 1;
    this.#expanded.add(name);
    this.#byStep.set(name, runs);
    this.#actions.push({ kind: "expand", step: name, items });
    return [...runs];
  }

  /** Number of workloads that the step may start now. */
  #roomOf({ name, atOnce }: PipelineStep): number {
    const { stepsAtOnce = Number.POSITIVE_INFINITY } = this.#run.pipeline;
    const room = stepsAtOnce - this.#runningCount;
    if (atOnce === undefined) return room;
    return Math.min(room, atOnce - this.#runsOf(name).filter(({ phase }) => phase === "running").length);
  }

  /** Starts a step, or reuses an earlier one. `waits`: as many run as may, so the following ones wait too. */
  #start(
    step: PipelineStep,
    own: StepRun,
    { upstream, room }: { readonly upstream: readonly StepRun[]; readonly room: number },
  ): "submitted" | "settled" | "waits" {
    const reuse = reuseOf(this.#run, step, own, { upstream, facts: this.#facts });
    const cacheKey = reuse?.cacheKey ?? null;
    if (reuse !== null && reuse.cached !== null) {
      const { artifacts, workloadId, runId } = reuse.cached;
      this.#settle(own, {
        phase: "cached",
        reason: { kind: "cached", runId },
        artifacts,
        workloadId,
        cacheKey: reuse.cacheKey,
      });
      return "settled";
    }
    if (room <= 0) return "waits";
    const artifacts = artifactsFor(upstream);
    if (artifacts.length > STEP_ARTIFACTS_MAX) {
      const reason = { kind: "tooManyArtifacts", count: artifacts.length } as const;
      this.#settle(own, { phase: "failed", reason, artifacts: [] });
      return "settled";
    }
    this.#runningCount++;
    const key = stepKey(own.step, own.index);
    this.#actions.push({ kind: "submit", key, spec: workloadOfStep(this.#run, step, own), artifacts, cacheKey });
    this.#replace(own, { ...own, phase: "running" });
    return "submitted";
  }

  #setAlias(alias: string, own: StepRun, upstream: readonly StepRun[]): void {
    const version = versionMade(alias, upstream);
    if (version === null) {
      this.#settle(own, { phase: "failed", reason: { kind: "noVersion", artifact: alias }, artifacts: [] });
      return;
    }
    this.#actions.push({ kind: "setAlias", key: stepKey(own.step, own.index), alias, version });
    // The steps after it wait for the record: the registry can refuse the move.
    this.#replace(own, { ...own, phase: "running" });
  }

  #requestApproval(own: StepRun): void {
    this.#actions.push({ kind: "requestApproval", key: stepKey(own.step, own.index) });
    this.#replace(own, { ...own, phase: "awaitingApproval" });
  }

  #settle(own: StepRun, end: StepEnd): void {
    this.#actions.push({ kind: "settle", key: stepKey(own.step, own.index), ...end });
    const { phase, reason, artifacts, workloadId = own.workloadId } = end;
    this.#replace(own, { ...own, phase, reason, artifacts, workloadId });
  }

  #runsOf(step: string): readonly StepRun[] {
    return this.#byStep.get(step) ?? [];
  }

  #replace(own: StepRun, next: StepRun): void {
    const runs = this.#byStep.get(own.step);
    if (runs === undefined) return;
    // Items lie at their numbers, so that none is searched.
    runs[own.index ?? 0] = next;
  }
}

const refusedBy = (code: string): Pick<StepEnd, "phase" | "reason"> => ({
  phase: "failed",
  reason: { kind: "refused", code },
});

function endOfProposal({ phase, change, steps }: AwaitedProposal): Pick<StepEnd, "phase" | "reason"> {
  const last = steps.findLast((step) => step.phase === phase);
  if ((phase === "acted" || phase === "scored") && change.kind === "alias") {
    const { artifact, alias, number } = change;
    const reason = { kind: "aliasSet", alias: `${artifact}@${alias}`, version: `${artifact}@${number}` } as const;
    return { phase: "succeeded", reason };
  }
  if (phase === "rejected" || phase === "withdrawn")
    return { phase: "failed", reason: { kind: "rejected", actor: last?.actor ?? "", reason: last?.reason ?? "" } };
  return refusedBy(phase === "expired" ? "proposalExpired" : (last?.reason ?? phase));
}
