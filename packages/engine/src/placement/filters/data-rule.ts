import { admitsRule } from "@headroom/model";
import { dataPlaces } from "./data-places.ts";
import type { Filter } from "./filter.ts";
import { quota } from "./quota.ts";

/** Allows only pools that admit the rule of the workload's data. */
export const dataRule: Filter = {
  signature: ({ spec }) => spec.data?.rule,
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.data?.rule !== undefined,
  check: (world, { spec }) => {
    const data = dataPlaces(world, spec);
    return (slot) => data.admits(slot);
  },
  wakeOn: [...quota.wakeOn, "siteDefined"],
  explain: ({ world: { state }, request, couldEver, place, fitsFleet, placeableWorkers }) => {
    const { data, ...spec } = request.spec;
    const rule = data?.rule;
    if (rule === undefined) return null;
    const free = request.with({ spec });
    const isNeverThere = !couldEver && fitsFleet(free);
    if (!isNeverThere && place(free) === null) return null;
    const pools = [...state.pools.values()].filter((pool) => admitsRule(rule, state.sites.get(pool.site), pool));
    const names = pools.map(({ name }) => name);
    const { workers } = request;
    return { reasons: [{ kind: "dataRule", rule, pools: names, workers, placeableWorkers: placeableWorkers() }] };
  },
};
