/** The refusal of a command inside a worker, with the command of Slurm that runs it. Pure. */
import { OperationalError } from "@headroom/platform";

/** `jobId`: as the record of the job states it, which the job's user can write. `node`: of the worker. */
export function execRefusal(jobId: string | undefined, node: string): OperationalError {
  const where = "Headroom runs no commands inside jobs of Slurm";
  const isKnown = jobId !== undefined && /^\d{1,12}$/.test(jobId) && /^[A-Za-z0-9._-]{1,255}$/.test(node);
  const hint = isKnown ? ` Use: srun --jobid=${jobId} --nodelist=${node} --overlap --pty sh` : "";
  return new OperationalError("cannotExec", `${where}.${hint}`, { retryable: false });
}
