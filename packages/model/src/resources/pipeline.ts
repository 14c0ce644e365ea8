/**
 * Pipelines: graphs of steps, and their runs. A step is an ordinary workload or a person's approval. `@headroom/pipelines`
 * decides what a run does next; the engine records it.
 */
import type { TeamName, WorkloadId } from "./ids.ts";
import type { ScheduleTimes } from "./schedule.ts";
import type { ProducedArtifact, WorkloadSpec } from "./workload.ts";

export interface PipelineParam {
  readonly name: string;
  /** `null`: every run must state the value. */
  readonly default: string | null;
}

/** A comparison of a text. Both sides of `lt`, `le`, `gt` and `ge` must be numbers; otherwise it does not hold. */
export interface StepTest {
  readonly operator: "eq" | "ne" | "lt" | "le" | "gt" | "ge";
  readonly value: string;
}

/** A condition under which a step runs. A result is an artifact whose location is a data URL (`data:,0.93`). */
export type StepCondition =
  | { readonly kind: "param"; readonly param: string; readonly test: StepTest }
  | { readonly kind: "result"; readonly step: string; readonly result: string; readonly test: StepTest }
  | { readonly kind: "outcome"; readonly step: string; readonly is: "succeeded" | "failed" | "skipped" };

/**
 * The items for each of which a step runs once. `param`: the parts of a parameter's value between commas. `result`: the
 * JSON list of texts in a result. `artifacts`: the locations of all artifacts of a step.
 */
export type FanOut =
  | { readonly kind: "values"; readonly values: readonly string[] }
  | { readonly kind: "param"; readonly param: string }
  | { readonly kind: "result"; readonly step: string; readonly result: string }
  | { readonly kind: "artifacts"; readonly step: string };

export interface PipelineStep {
  readonly name: string;
  /** Steps that must have ended before this one starts. Their artifacts are given to its workload. */
  readonly after: readonly string[];
  /** `succeeded`: the step is skipped unless all steps in `after` succeeded. `ended`: it runs however they ended. */
  readonly upstream: "succeeded" | "ended";
  /** The step is skipped unless all of these hold. */
  readonly when: readonly StepCondition[];
  readonly forEach?: FanOut;
  /** Maximum number of items that run at one time; absent: no limit of its own. */
  readonly atOnce?: number;
  /** Parameters that its workload gets, and on which its cache key depends; absent: all. */
  readonly params?: readonly string[];
  /** True: the step is not run again if a step with the same cache key has succeeded. */
  readonly cache?: true;
  /** Time from the submission of its workload after which the workload is stopped and the step fails. */
  readonly timeoutMs?: number;
  /**
   * Alias of an artifact of the pipeline's team (`model:chat@production`) that the step points to the version which the steps in
   * `after` made. Such a step has no workload.
   */
  readonly setAlias?: string;
  /** The workload; `null`: the step waits for a person's approval, or sets an alias. */
  readonly spec: WorkloadSpec | null;
}

export type PipelineTrigger =
  | {
      readonly kind: "clock";
      readonly times: ScheduleTimes;
      /** As in a schedule, about the last run that the clock started. */
      readonly concurrency: "allow" | "forbid" | "replace";
    }
  /** A caller with the permission to run the pipeline, such as a script of a repository. */
  | { readonly kind: "webhook" }
  /** A new version of an artifact (`dataset:text`). Without a team in the name, it is one of the pipeline's team. */
  | { readonly kind: "artifact"; readonly artifact: string }
  /** A move of an alias to another version (`model:chat@production`). */
  | { readonly kind: "alias"; readonly alias: string }
  /** A new or replaced file at or below the URI, in a declared store. */
  | { readonly kind: "file"; readonly uri: string }
  | MetricTrigger;

/**
 * A reading of a subject that has been beyond a threshold for a time. It starts one run, and the next one only after the
 * reading was within the threshold again.
 */
export interface MetricTrigger {
  readonly kind: "metric";
  /** `fleet`, `pool:NAME`, `team:NAME`, `node:ID`, or `endpoint:NAME` of the pipeline's team. */
  readonly subject: string;
  readonly metric: string;
  readonly operator: "lt" | "le" | "gt" | "ge";
  /** The threshold, a number. */
  readonly value: string;
  readonly forMs: number;
}

/** The reading that starts a run. */
export interface StartingReading {
  readonly subject: string;
  readonly metric: string;
  readonly value: string;
  /** Start of the time in which the reading was beyond the threshold. One run starts for it. */
  readonly sinceMs: number;
}

export interface PipelineSpec {
  readonly name: string;
  readonly team: TeamName;
  /** Version of the code that the steps run, such as a commit. Part of every cache key. */
  readonly version?: string;
  readonly params: readonly PipelineParam[];
  readonly steps: readonly PipelineStep[];
  /** Maximum number of workloads of a run at one time; absent: no limit. */
  readonly stepsAtOnce?: number;
  /** Maximum number of runs at one time; further ones wait in order. Absent: no limit. */
  readonly runsAtOnce?: number;
  readonly triggers?: readonly PipelineTrigger[];
}

/** A pipeline and its state. */
export interface PipelineItem {
  readonly pipeline: PipelineSpec;
  /** The user who declared the pipeline, and in whose name the clock starts it. */
  readonly actor: string;
  /** All due times of its clock up to this instant have been handled. */
  readonly lookedAtMs: number;
  /** The newest run that the clock started. */
  readonly lastClockRunId?: PipelineRunId;
  /** Reason why the last due time started no run; absent: it started one. */
  readonly left?: string;
}

export type PipelineRunId = string & { readonly ["pipelineRunId"]: true };
export const pipelineRunId = (text: string): PipelineRunId => text as PipelineRunId;

export type RunTrigger =
  | { readonly kind: "manual" }
  | { readonly kind: "clock"; readonly dueAtMs: number }
  /** `key`: the id that the caller gave the request, which starts one run however often it comes. */
  | { readonly kind: "webhook"; readonly key?: string }
  /** `version`: the id of the new version. `depth`: number of runs that started each other before this one. */
  | { readonly kind: "artifact"; readonly version: string; readonly depth: number }
  | { readonly kind: "alias"; readonly version: string; readonly alias: string; readonly depth: number }
  /** `tag`: changes when the file is replaced. One run starts for each pair of URI and tag. */
  | { readonly kind: "file"; readonly uri: string; readonly tag: string }
  | ({ readonly kind: "metric" } & StartingReading)
  /** A run of a backfill. `date`: the day that it is for. */
  | { readonly kind: "backfill"; readonly date: string };

export const STEP_PHASES = [
  "waiting",
  "running",
  "awaitingApproval",
  "succeeded",
  "cached",
  "skipped",
  "failed",
  "cancelled",
] as const;
export type StepPhase = (typeof STEP_PHASES)[number];

/** Why a step has its phase. */
export type StepReason =
  /** Its workload ended without success. */
  | { readonly kind: "workload"; readonly phase: "failed" | "cancelled" }
  /** A step before it did not succeed. */
  | { readonly kind: "upstream"; readonly step: string }
  /** Its condition with this number does not hold. `found`: the value that was compared; `null`: there is none. */
  | { readonly kind: "condition"; readonly index: number; readonly found: string | null }
  | { readonly kind: "timedOut"; readonly timeoutMs: number }
  /** Another step has run with the same cache key. */
  | { readonly kind: "cached"; readonly runId: PipelineRunId }
  | { readonly kind: "approved"; readonly actor: string; readonly reason: string }
  | { readonly kind: "rejected"; readonly actor: string; readonly reason: string }
  /** The submission of its workload was refused. */
  | { readonly kind: "refused"; readonly code: string }
  /** The items of its fan-out are not known, or too many. */
  | { readonly kind: "fanOut"; readonly cause: "missing" | "notAList" | "tooMany" }
  /** Its workload would get more artifacts than a workload may. */
  | { readonly kind: "tooManyArtifacts"; readonly count: number }
  | { readonly kind: "cancelled" }
  /** The alias points to the version. */
  | { readonly kind: "aliasSet"; readonly alias: string; readonly version: string }
  /** The steps before it made no version of the artifact whose alias it sets. */
  | { readonly kind: "noVersion"; readonly artifact: string };

/** One step of a run, or one item of a step with a fan-out. */
export interface StepRun {
  readonly step: string;
  /** Number of the item from 0; `null`: the step has no fan-out, or its items are not known yet. */
  readonly index: number | null;
  readonly item: string | null;
  readonly phase: StepPhase;
  /** The workload of the step, or the one whose artifacts it reuses. */
  readonly workloadId: WorkloadId | null;
  readonly cacheKey: string | null;
  readonly artifacts: readonly ProducedArtifact[];
  readonly reason: StepReason | null;
  /** When its workload was submitted, or its approval requested. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  /** The proposal to move an alias with a gate, for which the step waits. Absent: it waits for no proposal. */
  readonly proposalId?: string;
}

export interface PipelineRun {
  readonly id: PipelineRunId;
  /** The definition at the start of the run. Later definitions do not change it. */
  readonly pipeline: PipelineSpec;
  /** The value of every parameter, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly trigger: RunTrigger;
  readonly actor: string;
  /** True: no step uses the cache. */
  readonly force: boolean;
  /** `waiting`: as many runs of the pipeline are active as may be. */
  readonly phase: "waiting" | "running" | "succeeded" | "failed" | "cancelled";
  readonly createdAtMs: number;
  /** Start of the newest try. */
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly cancelRequested: boolean;
  /** How often the ended run was retried. */
  readonly retryCount: number;
  /** Steps with a fan-out whose items are known. */
  readonly expanded: readonly string[];
  /** By `stepKey`, in an order in which every step follows those that it waits for. */
  readonly steps: ReadonlyMap<string, StepRun>;
}

/** The latest success under a cache key. */
export interface CachedStep {
  readonly runId: PipelineRunId;
  readonly workloadId: WorkloadId;
  readonly artifacts: readonly ProducedArtifact[];
}

export const stepKey = (step: string, index: number | null): string => (index === null ? step : `${step}[${index}]`);

export const isStepSettled = (phase: StepPhase): boolean =>
  phase !== "waiting" && phase !== "running" && phase !== "awaitingApproval";

export const isRunOpen = ({ phase }: Pick<PipelineRun, "phase">): boolean => phase === "waiting" || phase === "running";

/** The clock of a pipeline, or `null` if it has none. */
export const pipelineClock = ({ triggers = [] }: PipelineSpec): (PipelineTrigger & { readonly kind: "clock" }) | null =>
  triggers.find((trigger) => trigger.kind === "clock") ?? null;

/** The parameter that a new version of an artifact, or a moved alias, sets to the id of the version. */
export const ARTIFACT_PARAM = "artifact";

/** The parameter that a file sets to its URI, if the pipeline declares it. */
export const FILE_PARAM = "file";

/** The parameter that a metric trigger sets to the reading, if the pipeline declares it. */
export const READING_PARAM = "reading";

/** The parameter that a clock or a backfill sets to its date, if the pipeline declares it. */
export const DATE_PARAM = "date";

export const PIPELINES_MAX = 1_000;
/** Maximum number of steps that a pipeline declares. */
export const PIPELINE_STEPS_MAX = 1_000;
/** Maximum number of steps of a run after all fan-outs. The control plane considers them together. */
export const RUN_STEPS_MAX = 5_000;
/** Maximum number of steps of all runs that have not ended. */
export const OPEN_STEPS_MAX = 50_000;
/** Maximum number of runs that have not ended. */
export const OPEN_RUNS_MAX = 2_000;
/** Maximum number of runs of one pipeline that webhooks and artifacts have started and that have not ended. */
export const TRIGGERED_RUNS_MAX = 100;
/** Maximum number of runs that start each other in a row, so that pipelines which trigger each other come to an end. */
export const TRIGGER_DEPTH_MAX = 8;
/** Runs that are kept after their end. Beyond it, the oldest of the pipeline with the most is dropped. */
export const ENDED_RUNS_KEPT = 200;
/** Successful steps by cache key, of which the newest are kept. */
export const CACHED_STEPS_KEPT = 10_000;
/** Maximum number of artifacts that a step gets. Each is an environment variable of every worker. */
export const STEP_ARTIFACTS_MAX = 500;
