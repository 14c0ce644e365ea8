/** Filters of work that needs an ability which executors have or have not. */
import type { BlockedReason, ExecutorId, Workload, WorkloadSpec } from "@headroom/model";
import { hasNewAbility } from "../../state/executors.ts";
import type { ReadonlyState } from "../../state/state.ts";
import type { NodeFilter } from "./filter.ts";
import { quota } from "./quota.ts";

type Asker = Pick<Workload, "spec" | "actor">;

interface AbilityCounts {
  readonly pools: readonly string[];
  readonly workers: number;
  readonly placeableWorkers: number;
}

interface NeededAbility {
  readonly ability: Parameters<typeof hasNewAbility>[2];
  readonly appliesTo: (spec: WorkloadSpec) => boolean;
  /** Whether an executor with the ability has what this work needs of it. Absent: always. */
  readonly admits?: (state: ReadonlyState, executor: ExecutorId, asker: Asker) => boolean;
  /** Part of the work by which executors differ. Absent: they do not. */
  readonly signature?: (asker: Asker) => string;
  /** The same work without the need. */
  readonly without: (spec: WorkloadSpec) => WorkloadSpec;
  readonly reason: (spec: WorkloadSpec, counts: AbilityCounts) => BlockedReason;
}

export function abilityFilter(needed: NeededAbility): NodeFilter {
  const { ability, appliesTo, admits = () => true, signature = () => true, without, reason } = needed;
  const isAble = (state: ReadonlyState, executor: ExecutorId, asker: Asker): boolean =>
    hasNewAbility(state, executor, ability) && admits(state, executor, asker);
  const namesIn = (state: ReadonlyState, asker: Asker): readonly string[] =>
    [...state.pools.values()].flatMap(({ name, executor }) => (isAble(state, executor, asker) ? [name] : []));
  return {
    signature: (asker) => (appliesTo(asker.spec) ? signature(asker) : undefined),
    basis: "fleet",
    appliesTo: (_world, { spec }) => appliesTo(spec),
    check: ({ state }, request) => {
      const names = new Set(namesIn(state, request));
      return ({ node }) => names.has(node.pool);
    },
    wakeOn: [...quota.wakeOn, "executorRegistered"],
    explain: ({ world: { state }, request, couldEver, place, fitsFleet, placeableWorkers }) => {
      if (!appliesTo(request.spec)) return null;
      const free = request.with({ spec: without(request.spec) });
      const isNeverThere = !couldEver && fitsFleet(free);
      if (!isNeverThere && place(free) === null) return null;
      const { workers, spec } = request;
      return {
        reasons: [reason(spec, { pools: namesIn(state, request), workers, placeableWorkers: placeableWorkers() })],
      };
    },
  };
}
