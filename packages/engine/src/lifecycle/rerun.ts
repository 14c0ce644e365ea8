/** Reruns the unsuccessful tasks of an ended workload. The checks of a submission apply. */
import { kindRules, taskCountOf } from "@headroom/model";
import type { Command } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { tasksToRerun } from "../state/ready-task.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { needsOthers, resolveAfter } from "./dependencies.ts";
import { submissionAdmissionFailure } from "./submit.ts";

/**
 * Maximum number of tasks of a rerun. They wait in a list that every start searches, so a larger rerun has to be
 * submitted as a new array.
 */
const RERUN_TASKS_MAX = 10_000;

export function rerunWorkload(
  batch: Batch,
  { workloadId, actor }: Command & { readonly kind: "rerunWorkload" },
): Decision {
  const { world, nowMs: atMs } = batch;
  const workload = world.state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  if (workload.endedAtMs === null) return refused({ code: "workloadNotEnded", workloadId, phase: workload.phase });
  const { spec, nextTask, succeededCount } = workload;
  const again = tasksToRerun(workload).length;
  const taskCount = again + taskCountOf(spec) - nextTask;
  const cannot = (cause: "allSucceeded" | "tooManyTasks" | "tasksUnknown" | "endpoint"): Decision =>
    refused({ code: "cannotRerun", workloadId, cause, taskCount, maxCount: RERUN_TASKS_MAX });
  if (kindRules(spec).restarts === "always") return cannot("endpoint");
  if (again + succeededCount !== nextTask) return cannot("tasksUnknown");
  if (taskCount === 0) return cannot("allSucceeded");
  if (again > RERUN_TASKS_MAX) return cannot("tooManyTasks");
  const failure = submissionAdmissionFailure(world, spec, world.state.teams);
  if (failure !== null) return refused(failure);
  const resolved = needsOthers(spec) ? resolveAfter(world, spec) : null;
  const { waitsFor, given } = resolved?.kind === "resolved" ? resolved : { waitsFor: [], given: [] };
  batch.emit({
    kind: "workloadRerun",
    version: 1,
    atMs,
    workloadId,
    actor,
    ...(waitsFor.length === 0 ? {} : { waitsFor }),
    ...(given.length === 0 ? {} : { given }),
  });
  return done({ kind: "workloadRerun", workloadId, tasks: taskCount });
}
