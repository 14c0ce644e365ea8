/**
 * Invariants of the design (DESIGN §7), by number, that are not checked for a policy because the imitated system breaks
 * them.
 */
import { rulesOf } from "@headroom/model";
import type { Policy } from "@headroom/model";

/**
 * Numbers of the invariants that are not checked under the policy. Forgotten nominations let a victim return to its
 * place (5, 6, 8). KAI's search finds more victims than needed (5 to 8). Rebalancing records all evictions for the
 * first request that it starts (6, 7).
 */
export function waivedInvariants(policy: Policy): ReadonlySet<number> {
  const { eviction, phases } = rulesOf(policy);
  return new Set([
    ...(eviction.nominations === "forgotten" ? [5, 6, 8] : []),
    ...(eviction.search === "kai" ? [5, 6, 7, 8] : []),
    ...(phases.includes("rebalance") ? [6, 7] : []),
  ]);
}
