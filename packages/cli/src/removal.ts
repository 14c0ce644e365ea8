/** Removal of nodes, pools and sites: the option and the answer that the commands share. */
import { plural } from "./output/amounts.ts";

export const forceOption = {
  flags: "--force",
  description: "stop the work there (with its grace period) and requeue it; the removal follows",
} as const;

/** `workloads`: number of workloads that must end first. */
export const removalText = (what: string, workloads: number): string =>
  workloads === 0
    ? `removed ${what}`
    : `removing ${what}, when ${plural(workloads, "workload")} there has been requeued`;
