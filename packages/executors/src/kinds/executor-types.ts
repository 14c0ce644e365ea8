/** The types of executors that can be declared, one row for each. */
import type { ExecutorType } from "./executor-type.ts";
import { kubernetesType } from "./kubernetes-type.ts";
import { localType } from "./local-type.ts";
import { slurmType } from "./slurm-type.ts";

export const executorTypes: readonly ExecutorType[] = [localType, slurmType, kubernetesType];
