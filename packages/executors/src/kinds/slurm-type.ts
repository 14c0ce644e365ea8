/** Type `slurm`: a Slurm cluster through its command-line tools. */
import { slurmPastNames } from "../slurm/past-names.ts";
import { slurmSettings } from "../slurm/settings.ts";
import { executorType } from "./executor-type.ts";
import type { ExecutorType } from "./executor-type.ts";

export const slurmType: ExecutorType = executorType({
  name: "slurm",
  summary: "A Slurm cluster: each gang is one job on exactly the nodes and accelerators that were decided.",
  settings: slurmSettings,
  pastNames: slurmPastNames,
  async open(settings, context) {
    const { createSlurmExecutor } = await import("../slurm/slurm-executor.ts");
    return createSlurmExecutor({
      id: context.id,
      settings,
      stateDir: context.directory,
      stores: context.stores,
      onProblem: (message) => context.onProblem(message),
    });
  },
});
