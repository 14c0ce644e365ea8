/** A control plane over a Slurm cluster under test. */
import path from "node:path";
import type { TestExecutor } from "../../conformance/control-plane-process.ts";
import { ControlPlaneProcess } from "../../conformance/control-plane-process.ts";
import type { SlurmCluster } from "./slurm-cluster.ts";

/** `root`: the state directory and the shared directory are made there. */
export const slurmControlPlane = (root: string, port: number, cluster: SlurmCluster): ControlPlaneProcess =>
  new ControlPlaneProcess(root, port, [slurmExecutor("lab", path.join(root, "shared"), cluster)]);

export const slurmExecutor = (name: string, directory: string, cluster: SlurmCluster): TestExecutor => ({
  name,
  type: "slurm",
  settings: {
    directory,
    configuration: cluster.configurationFile,
    pollMs: 500,
    lostAfterMs: 6_000,
    uploadsOutputs: true,
    uploadsFrom: [path.join(path.dirname(directory), "home")],
  },
});
