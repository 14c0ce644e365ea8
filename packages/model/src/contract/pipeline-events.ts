/** Events of pipelines and their runs. */
import type { WorkloadId } from "../resources/ids.ts";
import type { PipelineRunId, PipelineSpec, RunTrigger, StepReason } from "../resources/pipeline.ts";
import type { ProducedArtifact } from "../resources/workload.ts";
import type { Fact } from "./fact.ts";

export type PipelineEvent =
  | (Fact<"pipelineSet"> & { readonly pipeline: PipelineSpec; readonly actor: string })
  | (Fact<"pipelineRemoved"> & { readonly name: string; readonly actor: string })
  /** A run was created, of the definition that the pipeline then had. It starts when as few others run as it allows. */
  | (Fact<"pipelineRunCreated"> & {
      readonly runId: PipelineRunId;
      readonly name: string;
      readonly params: Readonly<Record<string, string>>;
      readonly trigger: RunTrigger;
      readonly force: boolean;
      readonly actor: string;
    })
  /** The clock of a pipeline was due. `runId`: the run, or `null` if none was created, for the reason `left`. */
  | (Fact<"pipelineDue"> & {
      readonly name: string;
      readonly dueAtMs: number;
      readonly runId: PipelineRunId | null;
      readonly left: string;
    })
  /** A new version or a moved alias started no run. `left`: the reason. */
  | (Fact<"pipelineNotTriggered"> & { readonly name: string; readonly trigger: RunTrigger; readonly left: string })
  | (Fact<"pipelineRunStarted"> & { readonly runId: PipelineRunId })
  /** The items of a step with a fan-out are known. */
  | (Fact<"pipelineStepExpanded"> & {
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly items: readonly string[];
    })
  /** The workload of a step was submitted by the event before. `step`: its key, such as `train` or `train[3]`. */
  | (Fact<"pipelineStepStarted"> & {
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly workloadId: WorkloadId;
      /** Absent: the step is not cached. */
      readonly cacheKey?: string;
    })
  /** `proposal`: the proposal whose decision is awaited. Absent: a person approves the step itself. */
  | (Fact<"pipelineApprovalRequested"> & {
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly proposal?: string;
    })
  /** A person approved or rejected a step, which ends with this event. */
  | (Fact<"pipelineStepDecided"> & {
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly isApproved: boolean;
      readonly actor: string;
      readonly reason: string;
    })
  | (Fact<"pipelineStepEnded"> & {
      readonly runId: PipelineRunId;
      readonly step: string;
      readonly phase: "succeeded" | "cached" | "skipped" | "failed" | "cancelled";
      readonly reason: StepReason | null;
      /** Absent: none. */
      readonly artifacts?: readonly ProducedArtifact[];
      /** The workload whose artifacts a cached step reuses. Absent: the step is not cached. */
      readonly reuses?: WorkloadId;
      readonly cacheKey?: string;
    })
  | (Fact<"pipelineRunCancelRequested"> & { readonly runId: PipelineRunId; readonly actor: string })
  /**
   * An ended run continues. `again`: steps that wait again. `collapsed`: steps whose items are found out again, because
   * a step before them runs again.
   */
  | (Fact<"pipelineRunRetried"> & {
      readonly runId: PipelineRunId;
      readonly actor: string;
      readonly from: string | null;
      readonly force: boolean;
      readonly again: readonly string[];
      readonly collapsed: readonly string[];
    })
  | (Fact<"pipelineRunEnded"> & {
      readonly runId: PipelineRunId;
      readonly phase: "succeeded" | "failed" | "cancelled";
    });
