/** Attempts: the runs of a workload's tasks, with what each worker held and how it ended. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

export const workerAllocation = z
  .object({
    node: z.string(),
    accelerators: z.string().meta({ description: 'Indices as ranges: "0-3,6".' }),
    slice: count
      .optional()
      .meta({ description: "The memory slice at which its part of the accelerator begins; left out: it has none." }),
    taskGroup: count.optional().meta({ description: "Position among the groups of its gang; left out: it has none." }),
  })
  .meta({ id: "WorkerAllocation" });

export const stopReason = z.enum([
  "cancelled",
  "walltimeExceeded",
  "nodeDrained",
  "nodeLost",
  "budgetSpent",
  "preempted",
  "reclaimed",
  "moved",
  "incomplete",
]);
const said = z
  .string()
  .optional()
  .meta({ description: "Why, in the words of whoever said so; left out: nothing was said." });

export const closedBy = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("maintenance"), name: z.string(), reason: said }),
    z.object({ kind: z.literal("reservation"), name: z.string() }),
    z.object({ kind: z.literal("notice"), nodeId: z.string(), reason: said }),
  ])
  .meta({ id: "ClosedBy", description: "What of the calendar takes a node from the work that runs there." });

const madeWayFor = closedBy.optional().meta({
  description:
    "Which window or notice it makes way for (`nodeDrained`); left out: none, or from before this was recorded.",
});

export const attemptOutcome = z.enum(["succeeded", "failed", "stopped", "lost"]);

export const workerExit = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("exited"), worker: count, code: z.int() }),
    z.object({ kind: z.literal("signalled"), worker: count, signal: z.string() }),
  ])
  .meta({ id: "WorkerExit" });

export const progress = z
  .object({
    atMs: instantMs,
    step: count,
    totalSteps: count.nullable(),
    metrics: z.record(z.string(), z.number()),
  })
  .meta({ id: "Progress" });

export const artifact = z
  .object({ name: z.string(), path: z.string().meta({ description: "Where it lies, as it was reported." }) })
  .meta({ id: "Artifact" });

export const checkpoint = z
  .object({ step: count, path: z.string(), atMs: instantMs, attemptId: z.string() })
  .meta({ id: "Checkpoint" });

export const prediction = z
  .object({
    durationMs: count,
    runs: count.meta({ description: "From how many of its kind that ran before." }),
    corrections: count.optional().meta({ description: "How often it ran longer than that, and was predicted anew." }),
  })
  .meta({ id: "Prediction", description: "How long it is taken to run, for plans; it is stopped at its walltime." });

const attemptCommon = {
  id: z.string(),
  workloadId: z.string(),
  task: count,
  number: count.meta({ description: "1 for a task's first attempt." }),
  acceleratorType: z.string(),
  workers: z.array(workerAllocation).meta({ description: "In rank order." }),
  placedAtMs: instantMs,
  startedAtMs: instantMs.nullable(),
};

const activeFields = {
  ...attemptCommon,
  progress: progress.nullable(),
  launchAtMs: instantMs.optional().meta({
    description: "It keeps its place during its back-off and is launched at this instant; absent: it was launched.",
  }),
  utilization: z
    .object({
      atMs: instantMs.meta({ description: "Of the last report." }),
      accelerators: count.meta({ description: "Accelerators that its workers report on." }),
      busyAccelerators: count,
      busyMilli: count.meta({ description: "The mean share of time in which they were busy, in thousandths." }),
      mostBusyAccelerators: count.meta({ description: "At any one report." }),
      busyAtMs: instantMs.meta({ description: "The last report of a busy one, or the start." }),
      peakMemoryMib: count.nullable(),
      capacityMib: count.nullable(),
    })
    .optional()
    .meta({ description: "Absent: its work tells nothing of the use of its accelerators." }),
  prediction: prediction.optional().meta({ description: "Absent: it is taken to run as long as its walltime says." }),
  stop: z
    .object({
      reason: stopReason,
      atMs: instantMs,
      checkpointUntilMs: instantMs
        .optional()
        .meta({ description: "It was asked for a checkpoint first, and may take until then." }),
      closedBy: madeWayFor,
    })
    .nullable(),
  terminating: z
    .array(workerAllocation)
    .optional()
    .meta({ description: "Workers that were asked to leave while the others go on, in rank order." }),
  joining: z.array(count).optional().meta({
    description: "Ranks that were lost with a node, were given new places, and have not joined the others yet.",
  }),
  joinFailure: z
    .object({ atMs: instantMs, detail: z.string() })
    .optional()
    .meta({ description: "A further worker did not come when it was last to grow: it asks for none any more." }),
};

export const attempt = z
  .discriminatedUnion("phase", [
    z.object({ phase: z.literal("launching"), ...activeFields }),
    z.object({ phase: z.literal("running"), ...activeFields }),
    z.object({ phase: z.literal("stopping"), ...activeFields }),
    z.object({
      phase: z.literal("ended"),
      ...attemptCommon,
      endedAtMs: instantMs,
      outcome: attemptOutcome,
      exit: workerExit.nullable().meta({ description: "The worker exit that decided the outcome, where one did." }),
      detail: z.string(),
      stopReason: stopReason.nullable(),
      closedBy: madeWayFor,
    }),
  ])
  .meta({ id: "Attempt" });

export type WorkerAllocation = z.output<typeof workerAllocation>;
export type WorkerExit = z.output<typeof workerExit>;
export type ClosedBy = z.output<typeof closedBy>;
export type StopReason = z.output<typeof stopReason>;
export type AttemptOutcome = z.output<typeof attemptOutcome>;
export type Progress = z.output<typeof progress>;
export type Checkpoint = z.output<typeof checkpoint>;
export type Attempt = z.output<typeof attempt>;
