/** The Slurm executor on a real cluster, for the conformance cases and other tests. */
import path from "node:path";
import { nodeId } from "@headroom/model";
import type { ConformanceSubject } from "../../conformance/conformance-world.ts";
import { createSlurmExecutor } from "../slurm-executor.ts";
import type { SlurmSettings } from "../settings.ts";
import { slurmSettings } from "../settings.ts";
import type { SlurmCluster } from "./slurm-cluster.ts";

export function testSettings(
  cluster: SlurmCluster,
  directory: string,
  more: Partial<SlurmSettings> = {},
): SlurmSettings {
  const settings = { directory, configuration: cluster.configurationFile, pollMs: 500, lostAfterMs: 6_000 };
  return slurmSettings.parse({ ...settings, ...more });
}

/** `more`: settings beside those of all tests. */
export const slurmSubject = (
  cluster: SlurmCluster,
  onProblem: (message: string) => void,
  more: Partial<SlurmSettings> = {},
): ConformanceSubject => ({
  id: "slurm",
  nodes: cluster.nodes.map((name) => nodeId(`slurm-${name}`)),
  choosesDevices: true,
  open: (homeDir) =>
    createSlurmExecutor({
      id: "slurm",
      settings: testSettings(cluster, path.join(homeDir, "shared"), more),
      stateDir: path.join(homeDir, "state"),
      logFileMaxBytes: 64 * 1024,
      logFilesKept: 3,
      onProblem,
    }),
});
