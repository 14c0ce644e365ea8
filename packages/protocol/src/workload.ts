/** Workloads as lists and single pages show them. */
import { z } from "zod";
import { count, gangSpec, instantMs, workloadSpec } from "@headroom/spec";
import {
  artifact,
  attempt,
  checkpoint,
  prediction,
  progress,
  scaleGround,
  workerAllocation,
  workerExit,
} from "./attempt.ts";
import { pageOf } from "./page.ts";
import { workloadPhases } from "./workload-phases.ts";

export const workloadPhase = z.enum(workloadPhases);
export const workloadKinds = ["train", "batch", "serve"] as const;

export const endReason = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("allTasksSucceeded") }),
    z
      .object({ kind: z.literal("tasksFailed"), failedCount: count })
      .meta({ description: "Some tasks of the array failed for good; the others succeeded." }),
    z.object({ kind: z.literal("retriesExhausted"), failures: count, exit: workerExit.nullable() }),
    z.object({ kind: z.literal("walltimeExceeded"), walltimeMs: count }),
    z.object({ kind: z.literal("cancelled") }),
    z.object({
      kind: z.literal("dependencyNotMet"),
      workloadId: z.string(),
      on: z.enum(["ok", "failed", "any", "artifact"]),
    }),
  ])
  .meta({ id: "EndReason" });

const taskCounts = z
  .object({
    total: count,
    waiting: count.meta({
      description: "Number of tasks without an attempt: not started yet, or waiting for a retry.",
    }),
    active: count,
    succeeded: count,
    failed: count,
  })
  .meta({ id: "TaskCounts" });

/** Maximum number of nodes that a row of a list names. */
const SUMMARY_NODES_MAX = 8;

const summaryFields = {
  id: z.string(),
  name: z.string(),
  team: z.string(),
  kind: z.enum(workloadKinds),
  phase: workloadPhase,
  actor: z.string().meta({ description: "User who submitted the workload." }),
  priority: z.int(),
  gang: gangSpec,
  acceleratorTypes: z.array(z.string()),
  tasks: taskCounts,
  replicas: z
    .object({
      min: count,
      max: count,
      wanted: count.meta({ description: "Number of replicas that the endpoint should have now." }),
      ready: count.meta({ description: "Number of replicas that take requests." }),
      lastChange: z.object({ from: count, atMs: instantMs, actor: z.string(), ground: scaleGround }),
    })
    .optional()
    .meta({ description: "Replicas of an endpoint; absent: the workload is none." }),
  stopRequested: z.boolean(),
  held: z.literal(true).optional().meta({
    description: "True: the workload is held, and no task starts until it is released; absent: it is not held.",
  }),
  nodes: z.array(z.string()).meta({ description: `Nodes of its active attempts, at most ${SUMMARY_NODES_MAX}.` }),
  acceleratorMs: z.number().nonnegative().meta({
    description:
      "Accelerator-milliseconds since placement, over its active attempts and those of its ended attempts that are kept.",
  }),
  submittedAtMs: instantMs,
  firstStartedAtMs: instantMs.nullable(),
  endedAtMs: instantMs.nullable(),
  endReason: endReason.nullable(),
  rerunnable: z
    .boolean()
    .meta({ description: "Whether the workload can be rerun: it has ended, and some tasks did not succeed." }),
  rerun: z
    .object({ count, atMs: instantMs })
    .optional()
    .meta({ description: "Number of reruns, and the time of the last one; absent: there were none." }),
  endSentence: z.string().nullable().meta({ description: "The end reason as a sentence." }),
  progress: progress.nullable().meta({ description: "The newest report of a running attempt." }),
  lastAttempt: z
    .object({
      nodes: z.array(z.string()).meta({ description: `Its nodes, at most ${SUMMARY_NODES_MAX}.` }),
      exit: workerExit.nullable().meta({ description: "The exit that decided its outcome; `null`: none did." }),
    })
    .optional()
    .meta({
      description:
        "The last attempt of an ended workload; of failed work, the last one with such an exit. Absent: it has not ended, or it had no attempt.",
    }),
};

/** Fields of a row in a list. */
export const workloadSummary = z.object(summaryFields).meta({ id: "WorkloadSummary" });

/** Maximum number of running attempts that are listed for one workload; `tasks.active` counts all of them. */
export const ACTIVE_ATTEMPTS_SHOWN_MAX = 100;

/** All data about one workload. */
export const workload = z
  .object({
    ...summaryFields,
    spec: workloadSpec,
    attempts: z.array(attempt).meta({
      description: `The newest ended attempts and at most ${ACTIVE_ATTEMPTS_SHOWN_MAX} active ones, oldest first.`,
    }),
    prediction: prediction.optional().meta({
      description: "Predicted run time of its pending tasks; absent: its walltime is assumed.",
    }),
    retries: z
      .array(z.object({ task: count, notBeforeMs: instantMs, failures: count }))
      .meta({ description: "Tasks that failed or were lost and wait for their next attempt; at most 100 are listed." }),
    nominations: z
      .array(
        z.object({
          task: count,
          growth: z
            .boolean()
            .meta({ description: "True: the nomination is for additional workers of a running attempt." }),
          acceleratorType: z.string(),
          workers: z.array(workerAllocation),
          atMs: instantMs,
        }),
      )
      .meta({ description: "Places reserved for the workload until the terminating work on them has ended." }),
    checkpoint: checkpoint.nullable(),
    storedCheckpoint: z
      .object({
        version: z.string(),
        step: count,
        store: z.string(),
        bytes: count,
        keptCount: count.meta({ description: "Stored checkpoints of the workload, this one included." }),
      })
      .optional()
      .meta({ description: "The newest checkpoint that is complete in the store of `checkpointStore`; absent: none." }),
    checkpointInterval: z
      .object({ everyMs: count, sentence: z.string().meta({ description: "The reasons." }) })
      .optional()
      .meta({
        description:
          "With `checkpointEvery: auto`: the interval chosen now; an attempt keeps the interval chosen at its start.",
      }),
    artifacts: z.array(artifact).optional().meta({ description: "Artifacts that the workload has produced so far." }),
  })
  .meta({ id: "Workload" });

export const workloadPage = pageOf(workloadSummary, "WorkloadPage");
export const workloadAccepted = z.object({ workloadId: z.string() }).meta({ id: "WorkloadAccepted" });

export const submissionNotice = z
  .object({
    kind: z.enum(["reclaimable", "noCheckpoints", "checkpointInterval", "notEnforced", "transfer"]).meta({
      description:
        "`reclaimable`: other teams can reclaim part of it; `noCheckpoints`: long work without checkpoints; `checkpointInterval`: the interval that `checkpoint.every: auto` chooses now; `notEnforced`: isolation or limits that an executor cannot enforce; `transfer`: inputs that are brought to the node first, with time and cost.",
    }),
    message: z.string(),
  })
  .meta({ id: "SubmissionNotice" });

export const notices = z
  .array(submissionNotice)
  .optional()
  .meta({ description: "Notices about an accepted submission; absent: there are none." });

export const workloadSubmitted = workloadAccepted.extend({ notices }).meta({ id: "WorkloadSubmitted" });

export type SubmissionNotice = z.output<typeof submissionNotice>;
export type WorkloadSubmitted = z.output<typeof workloadSubmitted>;
export type WorkloadPhase = z.output<typeof workloadPhase>;
export type EndReason = z.output<typeof endReason>;
export type WorkloadSummary = z.output<typeof workloadSummary>;
export type Workload = z.output<typeof workload>;
export type WorkloadAccepted = z.output<typeof workloadAccepted>;
