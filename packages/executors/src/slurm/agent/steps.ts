/** Starts a supervisor on each node of the job through `srun`, and waits for all of them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const nodeSupervisorPath = fileURLToPath(new URL("./node-supervisor.ts", import.meta.url));

/**
 * One `srun` for each component of a heterogeneous job: over several components, only one of them gets the input
 * (Slurm 22.05). Within a component every task gets it.
 */
export async function runSteps(environment: NodeJS.ProcessEnv, order: string): Promise<void> {
  const components = Number(environment["SLURM_HET_SIZE"] ?? "1");
  const groups = Array.from({ length: components }, (_, group) => (components > 1 ? [`--het-group=${group}`] : []));
  await Promise.all(groups.map((group) => runStep(group, order)));
}

async function runStep(group: readonly string[], order: string): Promise<void> {
  const args = [
    ...group,
    "--ntasks-per-node=1",
    // The others stop by the record of the failure, with their grace period.
    "--kill-on-bad-exit=0",
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
  if (code !== 0) process.stderr.write(`srun ended with ${signal ?? String(code)}\n`);
}
