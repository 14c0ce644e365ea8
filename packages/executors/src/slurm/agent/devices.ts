/**
 * The devices of the workers on a node. Headroom decides how many accelerators a worker has on a node, Slurm which ones:
 * it lists those of the job in the environment of the step (slurm.schedmd.com/gres.html, "GPU Management").
 */
type Environment = Readonly<Record<string, string>>;

/** `null`: Slurm names no devices. */
export function slurmDevices(environment: NodeJS.ProcessEnv): readonly string[] | null {
  const listed = environment["CUDA_VISIBLE_DEVICES"] ?? environment["ROCR_VISIBLE_DEVICES"];
  return listed === undefined || listed === "NoDevFiles" ? null : listed.split(",").filter((device) => device !== "");
}

/** Gives each worker the next devices of the list, as many as were decided for it. */
export function withDevices(environments: readonly Environment[], devices: readonly string[] | null): Environment[] {
  if (devices === null) return [...environments];
  let next = 0;
  return environments.map((environment) => {
    const count = (environment["ROCR_VISIBLE_DEVICES"] ?? "").split(",").filter((device) => device !== "").length;
    const own = devices.slice(next, next + count).join(",");
    next += count;
    return { ...environment, CUDA_VISIBLE_DEVICES: own, ROCR_VISIBLE_DEVICES: own };
  });
}
