import type { WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/** How long work may take to write a checkpoint before it is stopped; 0: it is not asked for one. */
export function checkpointTimeoutOf(
  { eviction }: Pick<Rules, "eviction">,
  { checkpointOnRequest }: Pick<WorkloadSpec, "checkpointOnRequest">,
): number {
  return checkpointOnRequest === true ? eviction.checkpointTimeoutMs : 0;
}
