/** Starts a supervisor on each node of the job through `srun`, and waits for all of them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { hostNames } from "../reading/host-list.ts";

const nodeSupervisorPath = fileURLToPath(new URL("./node-supervisor.ts", import.meta.url));

/** A supervisor could not be started, or died. */
export interface StepFailure {
  readonly detail: string;
  /** Nodes of the step; `null`: all of the job. */
  readonly nodes: readonly string[] | null;
}

/**
 * One `srun` for each component of a heterogeneous job: over several components, only one of them gets the input
 * (Slurm 22.05). Within a component every task gets it.
 */
export async function runSteps(
  environment: NodeJS.ProcessEnv,
  order: string,
  onFailure: (failure: StepFailure) => void,
): Promise<void> {
  const components = Number(environment["SLURM_HET_SIZE"] ?? "1");
  const groups = Array.from({ length: components }, (_, group) => (components > 1 ? [`--het-group=${group}`] : []));
  await Promise.all(
    groups.map(async (group, index) => {
      const detail = await runStep(group, order);
      if (detail !== null) onFailure({ detail, nodes: components > 1 ? nodesOf(environment, index) : null });
    }),
  );
}

const nodesOf = (environment: NodeJS.ProcessEnv, group: number): readonly string[] | null => {
  const listed = environment[`SLURM_JOB_NODELIST_HET_GROUP_${group}`];
  return listed === undefined ? null : hostNames(listed);
};

/** Resolves to the failure of the step, or to `null`. */
async function runStep(group: readonly string[], order: string): Promise<string | null> {
  const args = [
    ...group,
    "--ntasks-per-node=1",
    // Supervisors exit with 0 after every end of their workers. If one dies, SIGTERM tells the others, which then stop their workers.
    "--kill-on-bad-exit=1",
    "--wait=0",
    "--mpi=none",
    "--quiet",
    process.execPath,
    nodeSupervisorPath,
  ];
  const child = spawn("srun", args, { stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.on("error", () => {});
  child.stdin.end(order);
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return code === 0 ? null : `srun ended with ${signal ?? String(code)}`;
}
