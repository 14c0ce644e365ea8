/**
 * Qualification: nodes of a pool with a rule take no work until a suite of tests has passed on them. The engine records
 * who must qualify and what became of it; a driver runs the suite.
 */

/** `quick`: minutes, before each return to service. `full`: the long suite of the site. */
export const QUALIFICATION_SUITES = ["quick", "full"] as const;
export type QualificationSuite = (typeof QUALIFICATION_SUITES)[number];

/** Rule of a pool. A pool without one takes its nodes unproven. */
export interface QualificationRule {
  readonly suite: QualificationSuite;
  /** A run that takes longer is ended, and proves nothing. */
  readonly limitMs: number;
  /** Most nodes of the pool on which the suite runs at a time. */
  readonly atOnce: number;
}

/**
 * Why a node has to qualify. `joined`: it is new. `returned`: it was lost. `resumed`: it was drained, for example for a
 * repair. `changed`: it has other amounts or accelerators. `requested`: a user asked for it.
 */
export type QualificationCause = "joined" | "returned" | "resumed" | "changed" | "requested";

/** A node that has to qualify. It takes no new work. */
export interface NodeQualification {
  /** Sequence of the event that made the node qualify. With `run` it identifies one run of the suite for ever. */
  readonly id: number;
  readonly suite: QualificationSuite;
  readonly cause: QualificationCause;
  readonly sinceMs: number;
  /** `waiting` for a run, `running`, or `failed`: no further run begins by itself. */
  readonly phase: "waiting" | "running" | "failed";
  /** Number of runs that have begun. */
  readonly run: number;
  /** Start and expected duration of the run in progress. */
  readonly startedAtMs?: number;
  readonly expectedMs?: number;
  /** Why the last run proved nothing. */
  readonly detail?: string;
}

/** Runs of one qualification: one, and one retry. */
export const QUALIFICATION_RUNS_MAX = 2;
/** Characters of a detail that are recorded. */
export const QUALIFICATION_DETAIL_MAX = 500;
