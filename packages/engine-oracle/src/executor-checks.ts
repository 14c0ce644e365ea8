/** Executors: their nodes are suspended exactly while they take no work, and silence changes nothing about attempts. */
import type { ReadonlyState } from "@headroom/engine";
import { executorOf } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { whySuspended } from "@headroom/model";
import type { Event } from "@headroom/model";

export function checkExecutors(findings: Findings, state: ReadonlyState): void {
  for (const { id, pool, suspended } of state.nodes.values()) {
    const executor = state.executorStates.get(state.pools.get(pool)?.executor ?? "");
    const isSuspended = executor !== undefined && whySuspended(executor) !== null;
    findings.expect(
      isSuspended === (suspended === true),
      () =>
        `node ${id} is ${suspended === true ? "" : "not "}suspended, its executor is ${executor?.phase ?? "reachable"}`,
    );
  }
  for (const { executor, phase } of state.executorStates.values())
    findings.expect(
      phase !== "removed" || [...state.pools.values()].some((pool) => pool.executor === executor),
      () => `the removed executor ${executor} has no pool, and is still recorded`,
    );
}

/** Work at an executor that takes no requests is not evicted: nobody would know whether it stops. */
export function checkEvictedAtSilent(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  if (state.executorStates.size === 0) return;
  for (const event of events) {
    if (event.kind !== "evictionPlanned") continue;
    for (const { attemptId } of event.victims) {
      const attempt = state.attempts.get(attemptId);
      const executor = attempt === undefined ? null : executorOf(state, attempt);
      const known = executor === null ? undefined : state.executorStates.get(executor);
      findings.expect(
        known === undefined || whySuspended(known) === null,
        () => `${attemptId} is evicted at the executor ${executor ?? ""}, which takes no requests`,
      );
    }
  }
}
