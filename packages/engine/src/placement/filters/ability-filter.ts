/** Filters of work that needs an ability which executors have or have not. */
import type { BlockedReason, WorkloadSpec } from "@headroom/model";
import { hasNewAbility } from "../../state/executors.ts";
import type { ReadonlyState } from "../../state/state.ts";
import type { NodeFilter } from "./filter.ts";
import { quota } from "./quota.ts";

interface AbilityCounts {
  readonly pools: readonly string[];
  readonly workers: number;
  readonly placeableWorkers: number;
}

interface NeededAbility {
  readonly ability: Parameters<typeof hasNewAbility>[2];
  readonly appliesTo: (spec: WorkloadSpec) => boolean;
  /** The same work without the need. */
  readonly without: (spec: WorkloadSpec) => WorkloadSpec;
  readonly reason: (spec: WorkloadSpec, counts: AbilityCounts) => BlockedReason;
}

export function abilityFilter({ ability, appliesTo, without, reason }: NeededAbility): NodeFilter {
  const namesIn = (state: ReadonlyState): readonly string[] =>
    [...state.pools.values()].flatMap(({ name, executor }) => (hasNewAbility(state, executor, ability) ? [name] : []));
  return {
    signature: ({ spec }) => (appliesTo(spec) ? true : undefined),
    basis: "fleet",
    appliesTo: (_world, { spec }) => appliesTo(spec),
    check: ({ state }) => {
      const names = new Set(namesIn(state));
      return ({ node }) => names.has(node.pool);
    },
    wakeOn: [...quota.wakeOn, "executorRegistered"],
    explain: ({ world: { state }, request, couldEver, place, fitsFleet, placeableWorkers }) => {
      if (!appliesTo(request.spec)) return null;
      const free = request.with({ spec: without(request.spec) });
      const isNeverThere = !couldEver && fitsFleet(free);
      if (!isNeverThere && place(free) === null) return null;
      const { workers, spec } = request;
      return { reasons: [reason(spec, { pools: namesIn(state), workers, placeableWorkers: placeableWorkers() })] };
    },
  };
}
