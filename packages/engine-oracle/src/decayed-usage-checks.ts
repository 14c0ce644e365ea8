/**
 * Checks that usage history exists for exactly the teams and users with current or recent usage, at their current rate.
 */
import { rulesOf, shapeOf } from "@headroom/model";
import { withAncestors } from "@headroom/engine/internals";
import type { Findings, World } from "@headroom/engine/internals";
import { countedMilli } from "./part-recount.ts";

export function checkDecayedUsage(findings: Findings, { state, decayedUsage }: World): void {
  const { teams, phases } = rulesOf(state.policy);
  const counts = teams.usageHalfLifeMs !== null && !phases.includes("rebalance");
  findings.expect(
    counts === (decayedUsage.halfLife !== null),
    () => `past use ${counts ? "counts" : "does not count"}, the index says otherwise`,
  );
  if (!counts) {
    findings.expect(state.decayedUsage.size === 0, () => "past use is remembered and does not count");
    return;
  }
  const held = new Map<string, number[]>();
  for (const attempt of state.attempts.values()) {
    const workload = state.workloads.get(attempt.workloadId);
    if (workload === undefined) continue;
    const { gang, team } = workload.spec;
    const amounts = [0, 0, 0];
    for (const worker of [...attempt.workers, ...(attempt.terminating ?? [])]) {
      const shape = shapeOf(gang, worker);
      [shape.coresMilli, shape.memoryMib, shape.accelerators * countedMilli(shape)].forEach(
        (each, at) => (amounts[at] = (amounts[at] ?? 0) + each),
      );
    }
    for (const key of [`${team}\n${workload.actor}`, ...withAncestors(state, team)])
      held.set(
        key,
        amounts.map((amount, at) => amount + (held.get(key)?.[at] ?? 0)),
      );
  }
  for (const key of new Set([...held.keys(), ...decayedUsage.rates().keys(), ...state.decayedUsage.keys()])) {
    const [filed, counted] = [decayedUsage.rate(key).join(), (held.get(key) ?? [0, 0, 0]).join()];
    findings.expect(filed === counted, () => `${key} is indexed as using ${filed}, it uses ${counted}`);
    findings.expect(
      counted === "0,0,0" || state.decayedUsage.has(key),
      () => `${key} uses something, and nobody records it`,
    );
  }
  for (const [key, { average, pending, atMs }] of state.decayedUsage)
    findings.expect(
      atMs <= state.nowMs && [...average, ...pending].every((each) => Number.isSafeInteger(each) && each >= 0),
      () => `past use of ${key} is recorded as ${average.join()} and ${pending.join()}`,
    );
}
