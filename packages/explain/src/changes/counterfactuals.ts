/**
 * Counterfactual runs. A fork of the live state gets ordinary inputs, and the live engine's code decides one round on
 * it. The answer is whether the workload starts in that round. There is no second formula, so an answer cannot disagree
 * with the scheduler.
 */
import {
  takeInForNow,
  takeInOnly,
  tryFor,
  tryInputs,
  worldOf,
  evictionLoss,
  placeGiven,
  activeAttempt,
  workloadOf,
  QueueBucket,
} from "@headroom/engine/internals";
import type { Batch, CounterfactualRun, Reservation, World } from "@headroom/engine/internals";
import { clockOf, forkEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { acceleratorsIn, partsOf, commandId, invariant } from "@headroom/model";
import type {
  Event,
  PlannedVictim,
  Command,
  Input,
  TimeWindow,
  Pool,
  Team,
  WorkloadId,
  WorkloadSpec,
} from "@headroom/model";
import { acceleratorsMissing, couldStart } from "./probe.ts";
import type { Displaced, WouldStart } from "./change.ts";
import { OtherLowerBound } from "./other-lower-bound.ts";

/** One counterfactual run on a fork. */
interface ChangeStep {
  /** Id of the waiting workload on the fork before the run. */
  readonly before: WorkloadId | null;
  readonly simulated: CounterfactualRun;
}

/** A stage: a fork of the live engine for counterfactual runs of one workload. */
export interface Stage {
  readonly engine: Engine;
  /** User who submitted the workload. If it is not submitted yet, the user who asks. */
  readonly actor: string;
  /** Id of that workload on the fork. `null` if it is not submitted yet, or was refused. */
  target: WorkloadId | null;
  /** Whether the runs recorded more events than can be undone. The fork is then discarded. */
  isUsed: boolean;
  /** Undo records of the runs on this stage, in order. */
  readonly steps: ChangeStep[];
}

/** The result of a run. */
export interface Outcome {
  readonly start: WouldStart | null;
  /** Estimated number of accelerators that are still missing if the workload does not start (`acceleratorsMissing`). */
  readonly missing: number;
}

export interface Question {
  readonly counterfactuals: Counterfactuals;
  /** The state of the fork after a round without a change. */
  readonly undisturbed: Stage;
  readonly spec: WorkloadSpec;
  /** The workload that waits in the live engine. `null` if it is not submitted yet. */
  readonly target: WorkloadId | null;
}

type Body = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, "commandId" | "actor" | "idempotencyKey">
    : never
  : never;

/**
 * The actor of counterfactual commands. Submissions are an exception: their actor is the user who asks, or the
 * submitter of the workload that is replaced.
 */
const COUNTERFACTUAL = "counterfactual";

/** A command of the counterfactual run's actor. */
export const counterfactualCommand = (body: Body): Command => ({
  commandId: commandId("counterfactual"),
  actor: COUNTERFACTUAL,
  idempotencyKey: null,
  ...body,
});

/** The command that applies these documents. */
export const appliedDocuments = (documents: {
  readonly pools?: readonly Pool[];
  readonly teams?: readonly Team[];
  readonly calendar?: readonly TimeWindow[];
}): Command => counterfactualCommand({ kind: "apply", sites: [], pools: [], teams: [], workloads: [], ...documents });

/** Above this number of events, a new fork is faster than undoing. */
const UNDO_MAX = 512;

export class Counterfactuals {
  readonly #live: Engine;
  readonly #asker: string;
  readonly nowMs: number;
  /** An unchanged fork that the next question can reuse, if there is one. */
  #spare: Stage | null = null;

  /** `asker` is the user who would submit a workload that is not submitted yet. */
  constructor(live: Engine, asker: string = COUNTERFACTUAL) {
    this.#live = live;
    this.#asker = asker;
    this.nowMs = clockOf(live);
  }

  /**
   * A fork on which the workload waits as in the live engine. If `target` is `null`, the fork has no such workload, or
   * it submits one with `spec`. No round is run.
   */
  stage(target: WorkloadId | null, spec: WorkloadSpec | null = null): Stage {
    const spare = this.#spare;
    this.#spare = null;
    const stage = spare?.target === target ? spare : this.#forked(target);
    if (target === null && spec !== null) this.takeIn(stage, this.#inPlaceOf(stage, spec));
    return stage;
  }

  #forked(target: WorkloadId | null): Stage {
    const { actor = this.#asker } = target === null ? {} : (this.#live.state.workloads.get(target) ?? {});
    return { engine: forkEngine(this.#live), actor, target, isUsed: false, steps: [] };
  }

  /** Returns the fork for reuse. Either its runs are undone, or the inputs `before` restore it. */
  giveBack(stage: Stage, before: readonly Input[] | null = null): void {
    if (before !== null) {
      this.takeIn(stage, before);
      stage.steps.length = 0;
    }
    const count = stage.steps.reduce((sum, { simulated }) => sum + simulated.taken.length, 0);
    stage.isUsed ||= count > UNDO_MAX;
    while (stage.steps.length > 0 && !stage.isUsed) this.goBack(stage);
    if (!stage.isUsed) this.#spare = stage;
  }

  /** Undoes the last run and its inputs. */
  goBack(stage: Stage): void {
    const last = stage.steps.pop();
    if (last === undefined || stage.isUsed || !last.simulated.undoInputs()) stage.isUsed = true;
    else stage.target = last.before;
  }

  /** Whether the workload could start at all with another spec (`probe.ts`); no round is run. */
  couldSubmit(stage: Stage, spec: WorkloadSpec, reservations: readonly Reservation[]): boolean {
    const { batch, undo } = takeInForNow(stage.engine, this.#inPlaceOf(stage, spec), this.nowMs);
    const submitted = submittedIn(batch.events);
    const bucket = classOf(submitted, batch);
    const could = bucket !== null && couldStart(batch, bucket, reservations);
    if (undo()) return could;
    // The submission could not be undone, so the stage is discarded.
    stage.isUsed = true;
    stage.target = submitted ?? stage.target;
    return could;
  }

  /**
   * A lower bound for changes by others, computed on a fork that is used for nothing else. `null` if the workload is
   * not eligible.
   */
  lowerBound(stage: Stage): OtherLowerBound | null {
    const bucket = classOf(stage.target, takeInOnly(stage.engine, [], this.nowMs));
    return bucket === null
      ? null
      : new OtherLowerBound(worldOf(stage.engine), bucket, (inputs) => void this.takeIn(stage, inputs));
  }

  /** Applies inputs without a round. They cannot be undone. */
  takeIn(stage: Stage, inputs: readonly Input[]): Batch {
    const batch = takeInOnly(stage.engine, inputs, this.nowMs);
    stage.target = submittedIn(batch.events) ?? stage.target;
    return batch;
  }

  /**
   * Whether the workload starts in a round after these inputs. The round is undone; the inputs stay for the next run.
   */
  run(stage: Stage, inputs: readonly Input[]): Outcome {
    return this.#outcome(stage, tryFor(stage.target, stage.engine, inputs, this.nowMs), stage.target);
  }

  /**
   * Resubmits the workload with another spec, after the inputs `before`, and reports whether it starts. The round is
   * undone; the submission stays until the fork is reset.
   */
  submit(stage: Stage, spec: WorkloadSpec, before: readonly Input[] = []): Outcome {
    const simulated = tryFor(null, stage.engine, [...before, ...this.#inPlaceOf(stage, spec)], this.nowMs);
    return this.#outcome(stage, simulated, submittedIn(simulated.taken));
  }

  #outcome(stage: Stage, simulated: CounterfactualRun, target: WorkloadId | null): Outcome {
    stage.steps.push({ simulated, before: stage.target });
    stage.target = target;
    const { batch } = simulated;
    const start = this.#startOf(stage, batch.events);
    const bucket = start === null ? classOf(target, batch) : null;
    const missing = bucket === null ? 0 : acceleratorsMissing(batch, bucket);
    stage.isUsed ||= !simulated.undo();
    return { start, missing };
  }

  /** Whether the workload starts in one round without a change. The round is not undone. */
  undisturbed(stage: Stage, spec: WorkloadSpec | null): WouldStart | null {
    const inputs = spec === null ? [] : this.#inPlaceOf(stage, spec);
    const { events } = tryInputs(stage.engine, inputs, this.nowMs);
    stage.target = submittedIn(events) ?? stage.target;
    stage.isUsed ||= events.length > 0;
    return this.#startOf(stage, events);
  }

  /**
   * Inputs that replace the waiting workload by one with another spec. If tasks of an array are running, only the
   * waiting tasks are replaced and the running tasks continue.
   */
  #inPlaceOf({ engine, target, actor }: Stage, spec: WorkloadSpec): readonly Input[] {
    const replaced = target === null ? undefined : engine.state.workloads.get(target);
    const submission = { ...counterfactualCommand({ kind: "submitWorkload", spec }), actor };
    if (replaced === undefined || replaced.endedAtMs !== null) return [submission];
    const kind = replaced.activeAttempts.length > 0 ? "holdWorkload" : "stopWorkload";
    return [counterfactualCommand({ kind, workloadId: replaced.id }), submission];
  }

  #startOf({ engine, target }: Stage, events: readonly Event[]): WouldStart | null {
    if (target === null) return null;
    const event = events.find((each) => placeGiven(each)?.workloadId === target);
    const place = event === undefined ? null : placeGiven(event);
    if (place === null) return null;
    const plan = events.find((each) => each.kind === "evictionPlanned" && each.workloadId === target);
    const victims = plan?.kind === "evictionPlanned" ? plan.victims : [];
    return {
      acceleratorType: place.acceleratorType,
      nodes: [...new Set(place.workers.map(({ node }) => node))],
      atOnce: event?.kind === "gangPlaced",
      displaced: victims.map((victim) => this.#displaced(worldOf(engine), victim)),
    };
  }

  /** Read from the fork, where the victim is already terminating. */
  #displaced(world: World, { attemptId, keeps }: PlannedVictim): Displaced {
    const attempt = activeAttempt(world, attemptId);
    invariant(attempt !== undefined, `a trial evicts ${attemptId}, which does not run`);
    const workload = workloadOf(world, attempt.workloadId);
    const { gang, restartCostMs } = workload.spec;
    const terminating = keeps === 0 ? attempt.workers : (attempt.terminating ?? []);
    const lostAcceleratorMs =
      keeps === 0
        ? evictionLoss(world, attempt, this.nowMs)
        : (restartCostMs ?? 0) * acceleratorsIn(partsOf(gang, terminating));
    return { workloadId: workload.id, workers: terminating.length, keeps, lostAcceleratorMs };
  }
}

/** The workload's bucket. `null` if the workload is not in the queue. */
function classOf(target: WorkloadId | null, { world }: Batch): QueueBucket | null {
  const workload = target === null ? undefined : world.state.workloads.get(target);
  return workload === undefined || workload.endedAtMs !== null ? null : world.queue.bucketIn(workload);
}

const submittedIn = (events: readonly Event[]): WorkloadId | null =>
  events.findLast((event) => event.kind === "workloadSubmitted")?.workloadId ?? null;
