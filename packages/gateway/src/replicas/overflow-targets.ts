/**
 * Named sets of targets (`overflowTargets` of gateway.yaml): sites, pools of rented capacity, providers. An overflow that names a set
 * lets each request go to one of its pools, by the cost of the request or in their order.
 */
import { mayLeave } from "./overflow-policy.ts";

export interface OverflowTarget {
  readonly pool: string;
  /** Data rules of requests that may go there, among those of the policy. Undefined: all of the policy's. */
  readonly dataRules?: readonly string[] | undefined;
  /** Whether requests start its first replica while they go elsewhere. */
  readonly wakes: boolean;
}

export interface OverflowTargets {
  readonly name: string;
  readonly choose: "cheapest" | "order";
  readonly pools: readonly OverflowTarget[];
}

/** Whether requests with these rules may go to the target. */
export function admitsRules({ dataRules }: OverflowTarget, rules: readonly string[]): boolean {
  return dataRules === undefined || mayLeave({ dataRules }, rules);
}
