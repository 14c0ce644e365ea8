/** A control plane with a declared Slurm executor. */
import path from "node:path";
import { ControlPlaneProcess } from "../../conformance/control-plane-process.ts";
import type { SlurmCluster } from "./slurm-cluster.ts";

/** `root`: the state directory and the shared directory are made there. */
export function slurmControlPlane(root: string, port: number, cluster: SlurmCluster): ControlPlaneProcess {
  const directory = path.join(root, "shared");
  const settings = { directory, configuration: cluster.configurationFile, pollMs: 500, lostAfterMs: 6_000 };
  return new ControlPlaneProcess(root, port, { type: "slurm", settings });
}
