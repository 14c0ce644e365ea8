/** Attempts: the runs of a workload's tasks, with what each worker held and how it ended. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

export const workerAllocation = z
  .object({
    node: z.string(),
    accelerators: z.string().meta({ description: 'Indices of accelerators as ranges: "0-3,6".' }),
    slice: count.optional().meta({ description: "First memory slice of its MIG slice; absent: it has no MIG slice." }),
    shareMilli: count.optional().meta({
      description:
        "Accelerator memory of the worker in thousandths of the accelerator's memory; absent: none was requested.",
    }),
    taskGroup: count
      .optional()
      .meta({ description: "Index of the worker's task group in its gang; absent: the gang has no groups." }),
  })
  .meta({ id: "WorkerAllocation" });

export const stopReason = z.enum([
  "cancelled",
  "walltimeExceeded",
  "nodeDrained",
  "nodeLost",
  "budgetSpent",
  "scaledDown",
  "notReady",
  "restarted",
  "preempted",
  "reclaimed",
  "migrated",
  "incomplete",
]);

export const scaleCause = z
  .enum(["concurrency", "requestsPerSecond", "queueTime", "ttft", "tpot", "held", "idle", "metric"])
  .meta({ id: "ScaleCause" });

export const scaleGround = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("submitted") }),
    z.object({ kind: z.literal("requested") }),
    z.object({ kind: z.literal("bounds") }).meta({ description: "The bounds of the endpoint changed." }),
    z.object({ kind: z.literal("budgetSpent") }).meta({ description: "The budget of the endpoint is spent." }),
    z.object({ kind: z.literal("budgetRenewed") }).meta({ description: "Another period of the budget began." }),
    z
      .object({
        kind: z.literal("load"),
        cause: scaleCause,
        metric: z
          .string()
          .optional()
          .meta({ description: "Name of the value of a metric source, with cause `metric`." }),
        measuredMilli: count.meta({
          description: "Thousandths of the unit of the cause: requests, requests/s, ms, that of the metric.",
        }),
        targetMilli: count,
        neededMilli: count.meta({ description: "Replicas that the load needs, in thousandths." }),
        aheadMs: count.meta({ description: "Time that a start takes, for which the decision looks ahead." }),
      })
      .meta({ description: "The load of the endpoint." }),
  ])
  .meta({ id: "ScaleGround", description: "Why the number of replicas of an endpoint changed." });

const said = z
  .string()
  .optional()
  .meta({ description: "Reason as the reporter stated it; absent: no reason was given." });

export const closedBy = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("maintenance"), name: z.string(), reason: said }),
    z.object({ kind: z.literal("reservation"), name: z.string() }),
    z.object({ kind: z.literal("notice"), nodeId: z.string(), reason: said }),
  ])
  .meta({ id: "ClosedBy", description: "Calendar entry that takes a node from running work." });

const madeWayFor = closedBy.optional().meta({
  description:
    "The window or notice for which the node was drained (`nodeDrained`); absent: there was none, or the record is older than this field.",
});

export const attemptOutcome = z.enum(["succeeded", "failed", "stopped", "lost"]);

const outOfMemoryMib = count.optional().meta({
  description: "The worker's limit of memory in MiB, if the kernel killed a process of it there; absent: it did not.",
});

export const workerExit = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("exited"), worker: count, code: z.int(), outOfMemoryMib }),
    z.object({ kind: z.literal("signalled"), worker: count, signal: z.string(), outOfMemoryMib }),
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
  .object({
    name: z.string(),
    path: z.string().meta({ description: "Location of the data, as reported." }),
    version: z.string().optional().meta({ description: "The registered version; absent: it is not registered." }),
  })
  .meta({ id: "ProducedArtifact" });

export const checkpoint = z
  .object({ step: count, path: z.string(), atMs: instantMs, attemptId: z.string() })
  .meta({ id: "Checkpoint" });

export const prediction = z
  .object({
    durationMs: count,
    runs: count.meta({ description: "Number of earlier runs of its kind behind the prediction." }),
    corrections: count
      .optional()
      .meta({ description: "Number of times that the attempt exceeded its prediction and got a new one." }),
  })
  .meta({ id: "Prediction", description: "Run time assumed for plans. The attempt is stopped only at its walltime." });

const attemptCommon = {
  id: z.string(),
  workloadId: z.string(),
  task: count,
  number: count.meta({ description: "Number of the attempt; 1 for a task's first attempt." }),
  acceleratorType: z.string(),
  workers: z.array(workerAllocation).meta({ description: "Workers in the order of their ranks." }),
  placedAtMs: instantMs,
  startedAtMs: instantMs.nullable(),
};

const attemptStaging = z
  .object({
    uri: z.string(),
    store: z.string(),
    bytes: count,
    totalBytes: count.nullable().meta({ description: "Null: the store has not answered yet." }),
    sinceMs: instantMs,
  })
  .meta({ id: "AttemptStaging" });

const activeFields = {
  ...attemptCommon,
  staging: attemptStaging.optional().meta({
    description: "The transfer of an input that the attempt waits for before its workers start; absent: none.",
  }),
  progress: progress.nullable(),
  ready: z
    .object({ atMs: instantMs, address: z.string().meta({ description: "Host and port of its HTTP server." }) })
    .optional()
    .meta({ description: "Since when the replica takes requests, and where; absent: it does not." }),
  launchAtMs: instantMs.optional().meta({
    description:
      "Time at which the attempt is launched after its back-off; it keeps its place until then. Absent: the attempt was already launched.",
  }),
  utilization: z
    .object({
      atMs: instantMs.meta({ description: "Time of the last report." }),
      accelerators: count.meta({ description: "Number of accelerators in the reports of its workers." }),
      busyAccelerators: count,
      busyMilli: count.meta({ description: "Mean utilization in thousandths." }),
      mostBusyAccelerators: count.meta({ description: "Largest value in any report." }),
      busyAtMs: instantMs.meta({
        description: "Time of the last report with a busy accelerator, or else of the start.",
      }),
      peakMemoryMib: count.nullable(),
      capacityMib: count.nullable(),
    })
    .optional()
    .meta({ description: "Utilization of the accelerators; absent: the workers do not report it." }),
  prediction: prediction.optional().meta({ description: "Predicted run time; absent: the walltime is assumed." }),
  stop: z
    .object({
      reason: stopReason,
      atMs: instantMs,
      checkpointUntilMs: instantMs.optional().meta({
        description: "A checkpoint was requested before the stop; this is the end of the time allowed for it.",
      }),
      closedBy: madeWayFor,
    })
    .nullable(),
  terminating: z
    .array(workerAllocation)
    .optional()
    .meta({ description: "Ranks of workers that are being stopped while the others continue." }),
  joining: z.array(count).optional().meta({
    description: "Ranks that were lost with a node and placed again, but have not rejoined yet.",
  }),
  joinFailure: z
    .object({ atMs: instantMs, detail: z.string() })
    .optional()
    .meta({ description: "A worker did not start when the gang last grew, so the gang requests no more workers." }),
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
      exit: workerExit.nullable().meta({ description: "The worker exit that decided the outcome; absent: none did." }),
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
export type AttemptStaging = z.output<typeof attemptStaging>;
export type Progress = z.output<typeof progress>;
export type Checkpoint = z.output<typeof checkpoint>;
export type Attempt = z.output<typeof attempt>;
