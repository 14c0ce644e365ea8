import type { WorkloadSpec } from "../resources/workload.ts";
import type { Rules } from "./rules.ts";

/** Time that work gets to write a checkpoint before it is stopped. 0 if no checkpoint is requested. */
export function checkpointTimeoutOf(
  { eviction }: Pick<Rules, "eviction">,
  { checkpointOnRequest }: Pick<WorkloadSpec, "checkpointOnRequest">,
): number {
  return checkpointOnRequest === true ? eviction.checkpointTimeoutMs : 0;
}
