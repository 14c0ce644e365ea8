/**
 * A job with a deadline on capacity that can be taken away, and the account of one run of it. Work is measured in hours of a running
 * instance. The setting is that of "Can't Be Late: Optimizing Spot Instance Savings under Deadlines" (NSDI'24), with prices that
 * change, several zones, and checkpoints.
 */
import type { SpotSeries } from "./spot-series.ts";

export interface SpotJob {
  readonly workHours: number;
  readonly deadlineHours: number;
  /** Paid time without progress after each start of an instance: boot, image, loading the checkpoint. */
  readonly restartHours: number;
  /** Paid time without progress for each checkpoint. */
  readonly checkpointHours: number;
  /** Time between the notice of a preemption and its end. A checkpoint that fits into it loses no work. */
  readonly noticeHours: number;
}

/** Whether a preemption loses the work since the last checkpoint. */
export function losesWork(job: SpotJob): boolean {
  return job.checkpointHours > job.noticeHours;
}

/** Where the job runs: nowhere, on demand, or in the zone with this index. */
export type Place = "none" | "on-demand" | number;

/** Input of a policy: the past, the present step, and the state of the job. */
export interface SpotSituation {
  readonly series: SpotSeries;
  /** Prices of later steps are unknown. */
  readonly step: number;
  readonly leftHours: number;
  readonly workLeftHours: number;
  readonly place: Place;
}

export interface SpotDecision {
  readonly place: Place;
  /** Applies while the job runs on spot capacity. */
  readonly checkpointEveryHours: number;
}

/** Decides at the start of each step. */
export interface SpotPolicy {
  decide(situation: SpotSituation): SpotDecision;
}

export interface SpotAccount {
  readonly costUsd: number;
  readonly spotHours: number;
  readonly onDemandHours: number;
  readonly waitedHours: number;
  readonly preemptionCount: number;
  readonly restartCount: number;
  readonly lostHours: number;
  readonly finishedAtHours: number;
  readonly isMissed: boolean;
}

const EPSILON = 1e-9;

interface Run {
  place: Place;
  workLeft: number;
  /** Work since the last checkpoint. */
  unsaved: number;
  /** Paid time until the instance makes progress. */
  startingHours: number;
  costUsd: number;
  spotHours: number;
  onDemandHours: number;
  preemptions: number;
  restarts: number;
  lost: number;
  atHours: number;
}

/**
 * Runs a job under a policy. The deadline is kept whatever the policy decides: the job moves to on-demand capacity as soon as a
 * preemption at the worst moment could make it late.
 */
export function runSpotJob(series: SpotSeries, job: SpotJob, policy: SpotPolicy): SpotAccount {
  const run: Run = {
    place: "none",
    workLeft: job.workHours,
    unsaved: 0,
    startingHours: 0,
    costUsd: 0,
    spotHours: 0,
    onDemandHours: 0,
    preemptions: 0,
    restarts: 0,
    lost: 0,
    atHours: 0,
  };
  for (let step = 0; step < series.startHours.length && run.workLeft > EPSILON; step += 1) {
    preemptIfGone(series, step, job, run);
    const situation: SpotSituation = {
      series,
      step,
      leftHours: job.deadlineHours - run.atHours,
      workLeftHours: run.workLeft,
      place: run.place,
    };
    const decision = policy.decide(situation);
    runStep(series, step, job, run, decision);
  }
  return {
    costUsd: run.costUsd,
    spotHours: run.spotHours,
    onDemandHours: run.onDemandHours,
    waitedHours: Math.max(0, run.atHours - run.spotHours - run.onDemandHours),
    preemptionCount: run.preemptions,
    restartCount: run.restarts,
    lostHours: run.lost,
    finishedAtHours: run.atHours,
    isMissed: run.workLeft > EPSILON || run.atHours > job.deadlineHours + EPSILON,
  };
}

function preemptIfGone(series: SpotSeries, step: number, job: SpotJob, run: Run): void {
  if (typeof run.place !== "number" || Number.isFinite(series.spot[run.place]![step]!)) return;
  if (losesWork(job)) {
    run.workLeft += run.unsaved;
    run.lost += run.unsaved;
  }
  run.unsaved = 0;
  run.preemptions += 1;
  run.place = "none";
}

/** One step: as decided as long as that is safe for the deadline, then on demand. The last step of a series has no end. */
function runStep(series: SpotSeries, step: number, job: SpotJob, run: Run, decision: SpotDecision): void {
  const end = series.startHours[step + 1] ?? Number.POSITIVE_INFINITY;
  const onDemand = { place: "on-demand", usdPerHour: series.onDemand[step]! } as const;
  const chosen = offered(series, step, decision.place) ?? onDemand;
  const every = decision.checkpointEveryHours;
  if (chosen.place !== "on-demand") {
    const until = Math.min(end, safeUntil(job, run, chosen.place, every));
    if (until > run.atHours + EPSILON) advance(job, run, { ...chosen, until, every });
  }
  if (run.workLeft > EPSILON && run.atHours < end - EPSILON) advance(job, run, { ...onDemand, until: end, every });
}

/** The place with its price; a zone without capacity counts as nowhere, on demand as `undefined`. */
function offered(series: SpotSeries, step: number, place: Place): Pick<Stretch, "place" | "usdPerHour"> | undefined {
  if (place === "on-demand") return undefined;
  const price = place === "none" ? Number.POSITIVE_INFINITY : series.spot[place]![step]!;
  return Number.isFinite(price) ? { place, usdPerHour: price } : { place: "none", usdPerHour: 0 };
}

/** The time until which the job may wait or run on spot capacity, so that it can still finish on demand afterwards. */
function safeUntil(job: SpotJob, run: Run, place: Place, every: number): number {
  const slack = job.deadlineHours - run.atHours - run.workLeft - job.restartHours;
  if (place === "none") return run.atHours + slack;
  const starts = place === run.place ? run.startingHours : job.restartHours;
  const spare = slack - starts - (losesWork(job) ? every + job.checkpointHours : 0);
  if (spare <= 0) return run.atHours;
  const overhead = job.checkpointHours / (every + job.checkpointHours);
  return overhead === 0 ? Number.POSITIVE_INFINITY : run.atHours + starts + spare / overhead;
}

/** A part of a step at one place. */
interface Stretch {
  readonly place: Place;
  readonly usdPerHour: number;
  readonly until: number;
  /** Hours of work between checkpoints on spot capacity. */
  readonly every: number;
}

/** Runs or waits until the end of the stretch or of the work. Leaving an instance by choice saves a checkpoint first. */
function advance(job: SpotJob, run: Run, { place, usdPerHour, until, every }: Stretch): void {
  if (place !== run.place) {
    run.unsaved = 0;
    run.startingHours = job.restartHours;
    run.place = place;
    if (place !== "none") run.restarts += 1;
  }
  if (place === "none") {
    run.atHours = until;
    return;
  }
  const rate = place === "on-demand" ? 1 : every / (every + job.checkpointHours);
  const starting = Math.min(run.startingHours, until - run.atHours);
  const working = Math.min(until - run.atHours - starting, run.workLeft / rate);
  run.startingHours -= starting;
  run.workLeft -= working * rate;
  run.unsaved = place === "on-demand" ? 0 : (run.unsaved + working * rate) % every;
  run.atHours += starting + working;
  run.costUsd += usdPerHour * (starting + working);
  if (place === "on-demand") run.onDemandHours += starting + working;
  else run.spotHours += starting + working;
}
