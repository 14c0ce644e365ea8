/** Past work of a Kubernetes cluster: its ended Jobs. */
import { CliError, exitCode } from "../cli-error.ts";
import { PastWork } from "./past-work.ts";

interface KubernetesPast {
  readonly work: PastWork;
  readonly unreadCount: number;
}

/** Throws a `CliError` if the text is no list. */
export async function kubernetesPast(text: string, file: string): Promise<KubernetesPast> {
  const { readPastJobs } = await import("@headroom/executors/kubernetes-manifest");
  const readings = readPastJobs(text);
  if (readings === null)
    throw new CliError(
      `${file} is no list of Jobs; write it with: kubectl get jobs -A -o json > jobs.json`,
      exitCode.usage,
    );
  const work = new PastWork();
  for (const reading of readings) {
    if (reading.kind === "leftOut") work.leaveOut(reading.reason);
    if (reading.kind !== "job") continue;
    const { job } = reading;
    work.add({
      account: job.namespace,
      user: job.serviceAccount,
      name: job.name,
      kind: job.isIndexed ? "batch" : "train",
      accelerators: job.accelerators,
      submittedAtMs: job.createdAtMs,
      startedAtMs: job.startedAtMs,
      endedAtMs: job.endedAtMs,
      walltimeMs: job.deadlineMs,
      // A Job begins before its pods have nodes.
      tellsRunTime: false,
    });
  }
  return { work, unreadCount: readings.filter(({ kind }) => kind === "unread").length };
}
