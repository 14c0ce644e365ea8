/** The job that the options of a script describe, before it becomes a workload (`job-document.ts`). */
import type { SlurmArray, SlurmDependency, SlurmSignal } from "./slurm-values.ts";
import type { SlurmGpus } from "./gres.ts";

export interface SlurmFiles {
  output: string | null;
  error: string | null;
  input: string | null;
  appends: boolean;
}

/** Variables that the job gets from the submitter. */
export interface SlurmExport {
  /** `all`: every variable but secrets; `named`: only `names` and `values`. */
  readonly mode: "all" | "named";
  readonly names: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

export interface SlurmJob {
  name: string | null;
  account: string | null;
  dir: string | null;
  timeLimitMs: number | null;
  nodes: number | null;
  ntasks: number | null;
  ntasksPerNode: number | null;
  ntasksPerGpu: number | null;
  cpusPerTask: number | null;
  cpusPerGpu: number | null;
  minCpus: number | null;
  memoryMib: { readonly per: "node" | "cpu" | "gpu"; readonly mib: number } | null;
  gpusPerNode: SlurmGpus | null;
  gpusPerJob: SlurmGpus | null;
  gpusPerTask: SlurmGpus | null;
  share: number | null;
  types: readonly string[];
  labels: Readonly<Record<string, string>>;
  isExclusive: boolean;
  array: SlurmArray | null;
  after: readonly SlurmDependency[];
  notBeforeMs: number | null;
  deadlineMs: number | null;
  nice: number | null;
  isHeld: boolean;
  signal: SlurmSignal | null;
  files: SlurmFiles;
  exported: SlurmExport | null;
  /** Channel and occasions, as in a workload file. */
  notify: string | null;
}

export const emptyJob = (): SlurmJob => ({
  name: null,
  account: null,
  dir: null,
  timeLimitMs: null,
  nodes: null,
  ntasks: null,
  ntasksPerNode: null,
  ntasksPerGpu: null,
  cpusPerTask: null,
  cpusPerGpu: null,
  minCpus: null,
  memoryMib: null,
  gpusPerNode: null,
  gpusPerJob: null,
  gpusPerTask: null,
  share: null,
  types: [],
  labels: {},
  isExclusive: false,
  array: null,
  after: [],
  notBeforeMs: null,
  deadlineMs: null,
  nice: null,
  isHeld: false,
  signal: null,
  files: { output: null, error: null, input: null, appends: false },
  exported: null,
  notify: null,
});

/** Numbers of workers, tasks and amounts of each worker, by the rules of `sbatch`. */
export interface JobSize {
  readonly workers: number;
  readonly tasks: number;
  readonly tasksPerNode: number;
  readonly cores: number;
  readonly accelerators: number;
  readonly memoryMib: number | null;
}

/**
 * Without a number of nodes Slurm can spread the tasks over any number of nodes; Headroom places them on one, as Slurm
 * does where they fit.
 */
export function sizeOf(job: SlurmJob): JobSize {
  const { ntasks, ntasksPerNode, gpusPerJob, gpusPerTask } = job;
  const tasksByGpus = tasksOfGpus(job);
  const workers = job.nodes ?? (ntasks !== null && ntasksPerNode !== null ? Math.ceil(ntasks / ntasksPerNode) : 1);
  const tasks = ntasks ?? (ntasksPerNode !== null ? workers * ntasksPerNode : (tasksByGpus ?? workers));
  const tasksPerNode = ntasks === null && ntasksPerNode !== null ? ntasksPerNode : Math.ceil(tasks / workers);
  const accelerators =
    job.gpusPerNode?.count ??
    (gpusPerJob !== null ? Math.ceil(gpusPerJob.count / workers) : null) ??
    (gpusPerTask !== null ? gpusPerTask.count * tasksPerNode : null) ??
    (job.share === null ? 0 : 1);
  const byTasks = tasksPerNode * (job.cpusPerTask ?? 1);
  const byGpus = job.cpusPerTask === null && job.cpusPerGpu !== null ? job.cpusPerGpu * accelerators : 0;
  const cores = Math.max(byTasks, byGpus, job.minCpus ?? 0);
  return { workers, tasks, tasksPerNode, cores, accelerators, memoryMib: memoryOf(job, cores, accelerators) };
}

/** The number of tasks that follows from the accelerators, if no option states it. */
function tasksOfGpus({ nodes, ntasksPerGpu, gpusPerJob, gpusPerNode, gpusPerTask }: SlurmJob): number | null {
  const gpus = gpusPerJob?.count ?? (gpusPerNode === null ? null : gpusPerNode.count * (nodes ?? 1));
  if (gpus === null) return null;
  if (ntasksPerGpu !== null) return gpus * ntasksPerGpu;
  return gpusPerTask !== null && gpusPerTask.count > 0 ? Math.max(1, Math.floor(gpus / gpusPerTask.count)) : null;
}

function memoryOf({ memoryMib }: SlurmJob, cores: number, accelerators: number): number | null {
  if (memoryMib === null) return null;
  const counts = { node: 1, cpu: cores, gpu: accelerators };
  return memoryMib.mib * counts[memoryMib.per];
}
