import type { Node, WorkloadKindName } from "@headroom/model";
import type { World } from "../../cluster/world.ts";
import type { Filter } from "./filter.ts";
import { quota } from "./quota.ts";

/** Whether the node's pool takes work of this kind. */
export const takesKind = (
  { poolKinds }: Pick<World, "poolKinds">,
  kind: WorkloadKindName,
  { pool }: Pick<Node, "pool">,
): boolean => poolKinds.get(pool)?.includes(kind) !== false;

/** Allows only pools that take the kind of the workload. A pool without a list takes all kinds. */
export const workloadKind: Filter = {
  signature: ({ spec: { kind } }) => (kind === "train" ? undefined : kind),
  basis: "fleet",
  appliesTo: ({ poolKinds }, { spec, ignores }) => {
    if (poolKinds.size === 0 || ignores === "workloadKind") return false;
    for (const kinds of poolKinds.values()) if (!kinds.includes(spec.kind)) return true;
    return false;
  },
  check:
    (world, { spec: { kind } }) =>
    ({ node }) =>
      takesKind(world, kind, node),
  wakeOn: quota.wakeOn,
  explain: ({ world, request, couldEver, place, fitsFleet, placeableWorkers }) => {
    const { kind } = request.spec;
    if (![...world.poolKinds.values()].some((kinds) => !kinds.includes(kind))) return null;
    const free = request.with({ ignores: "workloadKind" });
    const isNeverThere = !couldEver && fitsFleet(free);
    if (!isNeverThere && place(free) === null) return null;
    const pools = [...world.state.pools.values()].filter(({ kinds }) => kinds?.includes(kind) !== false);
    const names = pools.map(({ name }) => name);
    const { workers } = request;
    return {
      reasons: [
        { kind: "workloadKind", workloadKind: kind, pools: names, workers, placeableWorkers: placeableWorkers() },
      ],
    };
  },
};
