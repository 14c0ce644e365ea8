/** Names of the phases of workloads. In a file of its own, so that the console's first page loads no schemas for them. */
export const workloadPhases = ["pending", "running", "stopping", "succeeded", "failed", "cancelled"] as const;

export const isWorkloadPhase = (text: string): text is (typeof workloadPhases)[number] =>
  workloadPhases.some((phase) => phase === text);
