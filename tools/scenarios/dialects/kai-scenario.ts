/** The fields of a KAI scenario. */
import type { Scenario } from "../scenario-file.ts";

/** MIG instances by profile, such as `nvidia.com/mig-1g.10gb`. */
export type MigInstances = Readonly<Record<string, number>>;

/** Static MIG instances: those that a pod requests, or those that a node has. */
export interface WithMig {
  readonly migInstances?: unknown;
  readonly mig?: unknown;
}
export interface Pod extends WithMig {
  readonly gpusPerPod?: number;
  readonly gpus?: number;
  readonly legacyMig?: boolean;
  readonly isLegacyMigTask?: boolean;
  readonly state: string;
  readonly node?: string;
  readonly taskOrder?: number;
  readonly gpuIndexes?: readonly string[];
}
export interface Job extends WithMig {
  readonly gpuMemoryMiBPerPod?: number;
  /** Whether the job's pods are deleted. Its terminating pods then never end. */
  readonly deleteJobInTest?: boolean;
  readonly deletedInTest?: boolean;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly preemptible: boolean;
  readonly gangMin: number;
  readonly pods: number;
  readonly gpusPerPod: number;
  readonly cpuMillisPerPod?: number;
  readonly memoryPerPod?: number;
  readonly submittedMinutesAgo: number;
  readonly topologyConstraint?: { readonly required?: string | null; readonly preferred?: string | null };
  readonly podList: readonly Pod[];
}
export interface Queue {
  readonly name: string;
  readonly parent: string | null;
  readonly quota: number | null;
  readonly limit: number | null;
  readonly weight: number | null;
  readonly priority: number | null;
  readonly quotaCpuMillis?: number | null;
  readonly limitCpuMillis?: number | null;
  readonly quotaMemory?: number | null;
  readonly limitMemory?: number | null;
}
export interface Node extends WithMig {
  readonly gpuMemoryMiB?: number;
  readonly migStrategy?: string;
  readonly name: string;
  readonly gpus?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly cpuMillis?: number;
  readonly memoryBytes?: number;
}
export interface Expectation {
  readonly outcome?: string;
  readonly sourceStatus?: string;
  readonly node?: string;
  readonly gpusTotal?: number;
}
export interface KaiScenario extends Scenario {
  readonly nodes: readonly Node[];
  readonly queues: readonly Queue[];
  readonly runningJobs: readonly Job[];
  readonly pendingJobs: readonly Job[];
  readonly topologies?: readonly { readonly levels: readonly string[] }[];
  readonly action?: string;
  readonly roundsUntilMatch?: number;
  readonly stableRoundsAfter?: number;
  readonly expected: {
    readonly jobs?: Readonly<Record<string, Expectation>>;
    readonly tasks?: Readonly<Record<string, Expectation & { readonly uncheckedInSource?: string }>>;
  };
}
