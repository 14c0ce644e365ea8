/**
 * Trying: a fork of the live state is given ordinary inputs, decides a round as the live engine would, and is asked whether
 * the work in question starts in it. Nothing is concluded from a formula that the engine itself does not apply.
 */
import type { Batch } from "../../batch/batch.ts";
import { clockOf, forkEngine, takeInForNow, takeInOnly, tryFor, tryInputs, worldOf } from "../../engine/engine.ts";
import type { CounterfactualRun } from "../../engine/engine.ts";
import type { Event, PlannedVictim } from "../../contract/events.ts";
import type { Command, Input } from "../../contract/inputs.ts";
import { acceleratorsIn, partsOf } from "../../model/gang.ts";
import { commandId } from "../../model/ids.ts";
import type { WorkloadId } from "../../model/ids.ts";
import type { WorkloadSpec } from "../../model/workload.ts";
import type { Engine } from "../../engine/ready.ts";
import type { Reservation } from "../../placement/backfill/reservations.ts";
import { evictionLoss } from "../../preemption/cost.ts";
import { placeGiven } from "../../transitions/start.ts";
import { activeAttempt, workloadOf } from "../../cluster/entities.ts";
import { invariant } from "../../base/invariant.ts";
import { classIn, QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { acceleratorsMissing } from "../reasons/accelerators-missing.ts";
import type { Displaced, WouldStart } from "./change.ts";
import { OtherLowerBound } from "./other-lower-bound.ts";
import { couldStart } from "./probe.ts";

/** One trial on a stage. */
interface ChangeStep {
  /** The work in question before it. */
  readonly before: WorkloadId | null;
  readonly simulated: CounterfactualRun;
}

/** A fork with the work in question in it. */
export interface Stage {
  readonly engine: Engine;
  /** Whose work it is. */
  readonly actor: string;
  /** The work in question; `null` while it is not submitted, or was refused. */
  target: WorkloadId | null;
  /** Whether more was recorded than could be taken back: then the stage is of no more use. */
  isUsed: boolean;
  /** What the inputs of each trial brought about, to be taken back from the last one on. */
  readonly steps: ChangeStep[];
}

/** What came of a trial. */
export interface Outcome {
  readonly start: WouldStart | null;
  /** About how many accelerators the work in question still lacks where it does not start (`accelerators-missing.ts`). */
  readonly missing: number;
}

export interface Question {
  readonly counterfactuals: Counterfactuals;
  /** Where it waits after a round in which nothing else happened. */
  readonly undisturbed: Stage;
  readonly spec: WorkloadSpec;
  /** The work as it waits live; `null`: it is not submitted yet. */
  readonly target: WorkloadId | null;
}

type Body = Command extends infer Each
  ? Each extends Command
    ? Omit<Each, "commandId" | "actor" | "idempotencyKey">
    : never
  : never;

/** Whoever tries something; what is submitted is of whoever asks, and in place of other work of whoever submitted that. */
const COUNTERFACTUAL = "counterfactual";

/** A command of somebody who tries something. */
export const counterfactualCommand = (body: Body): Command => ({
  commandId: commandId("counterfactual"),
  actor: COUNTERFACTUAL,
  idempotencyKey: null,
  ...body,
});

/** A new fork is quicker than to take back more events than this. */
const UNDO_MAX = 512;

export class Counterfactuals {
  readonly #live: Engine;
  readonly #asker: string;
  readonly nowMs: number;
  /** On which nothing has come about; `null`: there is none at hand. */
  #hotSpare: Stage | null = null;
  /** Rounds decided so far: what the answer cost. */
  count = 0;

  /** `asker`: whose the work is that is not submitted yet. */
  constructor(live: Engine, asker: string = COUNTERFACTUAL) {
    this.#live = live;
    this.#asker = asker;
    this.nowMs = clockOf(live);
  }

  /** A stage on which the work waits as it does live; `null`: on which it is not submitted yet, or as of this spec, without a round. */
  stage(target: WorkloadId | null, spec: WorkloadSpec | null = null): Stage {
    const hotSpare = this.#hotSpare;
    this.#hotSpare = null;
    const stage = hotSpare?.target === target ? hotSpare : this.#forked(target);
    if (target === null && spec !== null) this.takeIn(stage, this.#inPlaceOf(stage, spec));
    return stage;
  }

  #forked(target: WorkloadId | null): Stage {
    const { actor = this.#asker } = target === null ? {} : (this.#live.state.workloads.get(target) ?? {});
    return { engine: forkEngine(this.#live), actor, target, isUsed: false, steps: [] };
  }

  /**
   * Nobody uses the stage any more: the next one who asks has it, with all taken back that came about on it, or stated as it was by
   * `before`.
   */
  giveBack(stage: Stage, before: readonly Input[] | null = null): void {
    if (before !== null) {
      this.takeIn(stage, before);
      stage.steps.length = 0;
    }
    const count = stage.steps.reduce((sum, { simulated }) => sum + simulated.taken.length, 0);
    stage.isUsed ||= count > UNDO_MAX;
    while (stage.steps.length > 0 && !stage.isUsed) this.goBack(stage);
    if (!stage.isUsed) this.#hotSpare = stage;
  }

  /** To before the inputs of the last trial. */
  goBack(stage: Stage): void {
    const last = stage.steps.pop();
    if (last === undefined || stage.isUsed || !last.simulated.undoInputs()) stage.isUsed = true;
    else stage.target = last.before;
  }

  /** Whether other work in place of the work in question could start at all (`probe.ts`); no round is decided. */
  couldSubmit(stage: Stage, spec: WorkloadSpec, reservations: readonly Reservation[]): boolean {
    const { batch, undo } = takeInForNow(stage.engine, this.#inPlaceOf(stage, spec), this.nowMs);
    const submitted = submittedIn(batch.events);
    const bucket = classOf(submitted, batch);
    const could = bucket !== null && couldStart(batch, bucket, reservations);
    if (undo()) return could;
    // It is still good for being asked.
    stage.isUsed = true;
    stage.target = submitted ?? stage.target;
    return could;
  }

  /** What others could bring on a stage that is used for nothing else; `null`: the work in question does not wait to be asked. */
  lowerBound(stage: Stage): OtherLowerBound | null {
    const bucket = classOf(stage.target, takeInOnly(stage.engine, [], this.nowMs));
    return bucket === null
      ? null
      : new OtherLowerBound(worldOf(stage.engine), bucket, (inputs) => void this.takeIn(stage, inputs));
  }

  /** What stays, without a round. */
  takeIn(stage: Stage, inputs: readonly Input[]): Batch {
    const batch = takeInOnly(stage.engine, inputs, this.nowMs);
    stage.target = submittedIn(batch.events) ?? stage.target;
    return batch;
  }

  /**
   * Whether the work in question starts in a round after these inputs. The round is taken back, and what the inputs brought
   * about stays: the next trial goes on from there.
   */
  run(stage: Stage, inputs: readonly Input[]): Outcome {
    return this.#outcome(stage, this.#round(stage, stage.target, inputs), stage.target);
  }

  /**
   * Submits other work in place of the work in question, after these inputs, and tries whether that starts. The round is taken
   * back; what was submitted stays until the stage goes back.
   */
  submit(stage: Stage, spec: WorkloadSpec, before: readonly Input[] = []): Outcome {
    const simulated = this.#round(stage, null, [...before, ...this.#inPlaceOf(stage, spec)]);
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

  /** The same where nothing is different: a whole round, after which things are as they would be. */
  undisturbed(stage: Stage, spec: WorkloadSpec | null): WouldStart | null {
    const inputs = spec === null ? [] : this.#inPlaceOf(stage, spec);
    const { events } = tryInputs(stage.engine, inputs, this.nowMs);
    stage.target = submittedIn(events) ?? stage.target;
    stage.isUsed ||= events.length > 0;
    return this.#startOf(stage, events);
  }

  /** What runs of an array goes on: only what waits of it gives way. */
  #inPlaceOf({ engine, target, actor }: Stage, spec: WorkloadSpec): readonly Input[] {
    const replaced = target === null ? undefined : engine.state.workloads.get(target);
    const submission = { ...counterfactualCommand({ kind: "submitWorkload", spec }), actor };
    if (replaced === undefined || replaced.endedAtMs !== null) return [submission];
    const kind = replaced.activeAttempts.length > 0 ? "holdWorkload" : "stopWorkload";
    return [counterfactualCommand({ kind, workloadId: replaced.id }), submission];
  }

  #round(stage: Stage, sought: WorkloadId | null, inputs: readonly Input[]): CounterfactualRun {
    this.count++;
    return tryFor(sought, stage.engine, inputs, this.nowMs);
  }

  #startOf({ engine, target }: Stage, events: readonly Event[]): WouldStart | null {
    if (target === null) return null;
    const place = events.find((event) => placeGiven(event)?.workloadId === target);
    const bucket = place === undefined ? null : placeGiven(place);
    if (bucket === null) return null;
    const plan = events.find((event) => event.kind === "evictionPlanned" && event.workloadId === target);
    const victims = plan?.kind === "evictionPlanned" ? plan.victims : [];
    const { acceleratorType, workers } = bucket;
    const displaced = victims.map((victim) => this.#displaced(worldOf(engine), victim));
    return {
      acceleratorType,
      nodes: [...new Set(workers.map(({ node }) => node))],
      atOnce: place?.kind === "gangPlaced",
      displaced,
    };
  }

  /** Read off the fork, where it was asked to leave and is still there. */
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

/** `null`: the work in question does not wait to be asked. */
function classOf(target: WorkloadId | null, { world }: Batch): QueueBucket | null {
  const workload = target === null ? undefined : world.state.workloads.get(target);
  return workload === undefined || workload.endedAtMs !== null ? null : classIn(workload);
}

const submittedIn = (events: readonly Event[]): WorkloadId | null =>
  events.findLast((event) => event.kind === "workloadSubmitted")?.workloadId ?? null;
