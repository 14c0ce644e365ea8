/** The workload document of a job. */
import { writeInstant } from "../notation/instants.ts";
import { writeDuration, writeMemory } from "../notation/quantities.ts";
import { nameOf } from "./honour.ts";
import { sizeOf, type JobSize, type SlurmJob } from "./job.ts";
import { jobCommand } from "./job-command.ts";
import type { ScriptText } from "./script-text.ts";

interface Submission {
  readonly file: string;
  readonly args: readonly string[];
}

interface JobDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** `sbatch` fails a job whose program fails; a job of a lost node is started again. */
const NO_RETRIES = { max: 0 };

export function workloadOfJob(job: SlurmJob, script: ScriptText, { file, args }: Submission): JobDocument {
  const size = sizeOf(job);
  const baseName = file.slice(file.lastIndexOf("/") + 1);
  const jobName = job.name ?? baseName;
  const { array, timeLimitMs, notBeforeMs, deadlineMs, account, dir } = job;
  const types = typesOf(job);
  const document = {
    kind: array === null ? "train" : "batch",
    name: nameOf(jobName) ?? "job",
    team: account ?? undefined,
    run: jobCommand(job, size, {
      file: baseName,
      text: script.text,
      interpreter: script.interpreter ?? { program: "/bin/sh", argument: null },
      args,
      jobName,
    }),
    dir: dir ?? undefined,
    gang: gangOf(job, size),
    accelerator: types.length === 0 ? undefined : types,
    selector: Object.keys(job.labels).length === 0 ? undefined : job.labels,
    antiAffinity: job.isExclusive ? { exclusive: "node" } : undefined,
    priority: job.nice === null ? undefined : 0 - job.nice,
    walltime: timeLimitMs === null ? undefined : writeDuration(timeLimitMs),
    retries: NO_RETRIES,
    notify: job.notify ?? undefined,
    after: job.after.length === 0 ? undefined : job.after,
    notBefore: notBeforeMs === null ? undefined : writeInstant(notBeforeMs),
    deadline: deadlineMs === null ? undefined : writeInstant(deadlineMs),
    tasks: array?.indexes.length,
    tasksAtOnce: array?.atOnce ?? undefined,
  };
  return { document: withoutUndefined(document), notes: notesOf(job, size) };
}

function gangOf(job: SlurmJob, { workers, accelerators, cores, memoryMib }: JobSize): object {
  const profile = job.gpusPerNode?.profile ?? job.gpusPerJob?.profile ?? job.gpusPerTask?.profile ?? null;
  return withoutUndefined({
    workers: workers === 1 ? undefined : workers,
    accelerators,
    cores,
    memory: memoryMib === null ? undefined : writeMemory(memoryMib),
    profile: profile ?? undefined,
    share: job.share === null || job.share === 100 ? undefined : job.share / 100,
  });
}

/** Types of the options for accelerators take precedence over those of the constraint. */
function typesOf({ gpusPerNode, gpusPerJob, gpusPerTask, types }: SlurmJob): readonly string[] {
  const type = gpusPerNode?.type ?? gpusPerJob?.type ?? gpusPerTask?.type;
  return type === undefined || type === null ? types : [type];
}

function notesOf(job: SlurmJob, { workers, tasks }: JobSize): readonly string[] {
  const notes: string[] = [];
  const gpus = job.gpusPerJob?.count ?? 0;
  if (gpus % workers !== 0)
    notes.push(
      `${gpus} accelerators are not a multiple of ${workers} nodes; each worker gets ${Math.ceil(gpus / workers)}.`,
    );
  if (tasks % workers !== 0)
    notes.push(
      `${tasks} tasks are not a multiple of ${workers} nodes; each worker gets the cores of ${Math.ceil(tasks / workers)}.`,
    );
  if (job.signal !== null && job.timeLimitMs === null) notes.push("--signal has no effect without --time.");
  return notes;
}

const withoutUndefined = (value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined));
