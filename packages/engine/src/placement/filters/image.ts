import { runsImages } from "../../state/executors.ts";
import type { Filter } from "./filter.ts";
import { quota } from "./quota.ts";

/** Allows only pools whose executor runs work in container images, for work that names one. */
export const image: Filter = {
  signature: ({ spec }) => (spec.image === undefined ? undefined : true),
  basis: "fleet",
  appliesTo: (_world, { spec }) => spec.image !== undefined,
  check: ({ state }) => {
    const open = new Set([...state.pools.values()].filter(({ executor }) => runsImages(state, executor)));
    const names = new Set([...open].map(({ name }) => name));
    return ({ node }) => names.has(node.pool);
  },
  wakeOn: [...quota.wakeOn, "executorRegistered"],
  explain: ({ world: { state }, request, couldEver, place, fitsFleet, placeableWorkers }) => {
    const { image: name, ...spec } = request.spec;
    if (name === undefined) return null;
    const free = request.with({ spec });
    const isNeverThere = !couldEver && fitsFleet(free);
    if (!isNeverThere && place(free) === null) return null;
    const pools = [...state.pools.values()].filter(({ executor }) => runsImages(state, executor));
    const names = pools.map((pool) => pool.name);
    const { workers } = request;
    return { reasons: [{ kind: "image", image: name, pools: names, workers, placeableWorkers: placeableWorkers() }] };
  },
};
