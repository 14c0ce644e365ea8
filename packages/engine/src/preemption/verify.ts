/**
 * Stage 6, first half: checks a plan against the rules. It shares no code with the searches; a broken rule is a bug and
 * stops the process.
 */
import { wholeSlices, minWorkersOf, preemptibilityOf, invariant } from "@headroom/model";
import type { EvictionReason } from "@headroom/model";
import type { Plan } from "./plan.ts";
import { workloadOf } from "../cluster/entities.ts";
import { simulateWithout } from "./simulate.ts";
import type { World } from "../cluster/world.ts";
import { verifyPlacement } from "../placement/verify/placement.ts";

export function verifyPlan(world: World, plan: Plan, reason: EvictionReason): void {
  const seen = new Set<string>();
  for (const { attempt, keeps } of plan.victims) {
    const { spec } = workloadOf(world, attempt.workloadId);
    invariant(!seen.has(attempt.id), `${attempt.id} is a victim twice`);
    seen.add(attempt.id);
    invariant(attempt.stop === null, `${attempt.id} is to be evicted and is stopping already`);
    const preemptibility = preemptibilityOf(world.rules, spec);
    invariant(
      preemptibility === "always" || (preemptibility === "aboveGuarantee" && reason === "reclaimed"),
      `${attempt.id} is to be ${reason} and is preemptible ${preemptibility}`,
    );
    invariant(
      keeps === 0 || (keeps >= minWorkersOf(spec.gang) && keeps < attempt.workers.length),
      `${attempt.id} is to keep ${keeps} of ${attempt.workers.length} workers`,
    );
    invariant(
      wholeSlices(spec, attempt.workers, keeps) === keeps,
      `${attempt.id} is to keep ${keeps} workers, which are no whole slices`,
    );
  }
  // The plan is complete: without the victims, the preemptor has its whole placement.
  simulateWithout(world, plan.victims, (ledger) => {
    for (const nomination of plan.withdrawn ?? []) ledger.withdraw(nomination);
    verifyPlacement(world, plan.preemptor, plan.placement, "releasing");
  });
}
