import { asksForUploads, uploadDirsOf } from "@headroom/model";
import type { ExecutorId } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { mustBeBrought } from "../../cluster/transfers.ts";
import type { TransferWork } from "../../cluster/transfers.ts";
import type { World } from "../../cluster/world.ts";
import { bringsInputs, closedUploadDir, uploads } from "../../state/executors.ts";
import type { Filter } from "./filter.ts";
import { quota } from "./quota.ts";

/**
 * Allows only pools whose executor makes the transfers of the work: brings its inputs from declared stores before it starts, and
 * uploads what it produces, from where the work says that it is, if the work asks for that.
 */
export const transfers: Filter = {
  // Inputs distinguish requests by the signature of `dataInputs`.
  signature: ({ spec }) => (asksForUploads(spec) ? uploadDirsOf(spec) : undefined),
  basis: "fleet",
  // The cheapest questions first: every placement asks.
  appliesTo: (world, request) =>
    (asksForUploads(request.spec) ||
      (request.spec.data?.inputs !== undefined && mustBeBrought(world, workOf(request)))) &&
    isSomeUnable(world),
  check: (world, request) => {
    const names = new Set(poolsFor(world, request));
    return ({ node }) => names.has(node.pool);
  },
  wakeOn: [...quota.wakeOn, "executorRegistered", "storesChanged", "artifactRegistered", "artifactChanged"],
  explain: ({ world, request, couldEver, place, fitsFleet, placeableWorkers }) => {
    const { data, checkpointStore: _store, ...spec } = request.spec;
    const isUpload = asksForUploads(request.spec);
    if (!isUpload && !mustBeBrought(world, workOf(request))) return null;
    const { inputs: _inputs, store: _target, ...rest } = data ?? {};
    const free = request.with({ spec: data === undefined ? spec : { ...spec, data: rest } });
    const isNeverThere = !couldEver && fitsFleet(free);
    if (!isNeverThere && place(free) === null) return null;
    const { workers } = request;
    const pools = poolsFor(world, request);
    const direction = isUpload ? "out" : "in";
    const from = isUpload ? closedDirOf(world, request) : null;
    const reason = { kind: "transfers", direction, pools, workers, placeableWorkers: placeableWorkers() } as const;
    return { reasons: [from === null ? reason : { ...reason, from }] };
  },
};

const workOf = ({ spec: { team, data }, given }: Pick<PlacementRequest, "spec" | "given">): TransferWork => ({
  team,
  data,
  given,
});

function poolsFor(world: World, request: PlacementRequest): readonly string[] {
  const { state } = world;
  const isUpload = asksForUploads(request.spec);
  const isInput = mustBeBrought(world, workOf(request));
  const doesUpload = (executor: ExecutorId): boolean =>
    uploads(state, executor) && closedUploadDir(state, executor, request.spec) === null;
  return [...state.pools.values()]
    .filter(({ executor }) => (!isUpload || doesUpload(executor)) && (!isInput || bringsInputs(state, executor)))
    .map(({ name }) => name);
}

/** The directory that keeps the work out of a pool that uploads; `null`: there is none. */
function closedDirOf(world: World, request: PlacementRequest): string | null {
  const { state } = world;
  for (const { executor } of state.pools.values()) {
    const closed = uploads(state, executor) ? closedUploadDir(state, executor, request.spec) : null;
    if (closed !== null) return closed;
  }
  return null;
}

function isSomeUnable({ state }: World): boolean {
  for (const [id, { capabilities }] of state.executors)
    if (!uploads(state, id) || !bringsInputs(state, id) || capabilities.uploadsFrom !== undefined) return true;
  return false;
}
