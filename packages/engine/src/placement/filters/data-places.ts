/**
 * Finds the pools that admit the data rule of a workload, and how much of its input data each node holds: in its own
 * cache, or at its pool or site.
 */
import { admitsRule, cachedKey, inputsHeld, mibOf } from "@headroom/model";
import type { CachedInput, DataSpec, NodeId, PoolName, WorkloadSpec } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import { Slot } from "../../cluster/scratch.ts";
import type { World } from "../../cluster/world.ts";
import { findVersionOf } from "../../state/find-artifact.ts";

export interface DataPlaces {
  admits(slot: NodeSlot): boolean;
  /**
   * Weight of the workload's inputs that are stored near the node. An input weighs its size in MiB, or 1 if the size is
   * unknown. It counts once if the pool or site stores it, and twice more if the node's cache does: a byte in the cache
   * is not transferred at all. Unless the policy spreads work, the cache does not count if the work would break up a
   * larger block of free accelerators: a transfer takes seconds, and larger work would wait for hours.
   */
  held(slot: NodeSlot): number;
  /** As `held`, with every cache: for the choice between nodes that are equally free. */
  heldAtAll(slot: NodeSlot): number;
  /** The largest different values of `held`, in descending order, and 0. */
  readonly tiers: readonly number[];
}

/** Number of tiers above 0. Each is one search for nodes; below them the order of nodes prefers those that hold more. */
const TIERS_MAX = 4;
/** While less than one part in this number of the accelerators is free, work is packed and not placed by its data. */
const FREE_PARTS = 8;
const NO_TIERS: readonly number[] = [0];
const ANYWHERE: DataPlaces = { admits: () => true, held: () => 0, heldAtAll: () => 0, tiers: NO_TIERS };

/** The last result: one placement asks for it several times. It depends on facts that only events change. */
const lastPlaces = new Slot<{ readonly sequence: number; readonly spec: Reader; readonly places: DataPlaces } | null>(
  () => null,
  { survivesUndo: false },
);

type Places = Pick<World, "state" | "cachedInputs" | "capacity" | "scratch" | "rules">;

type Reader = Pick<WorkloadSpec, "data" | "team" | "gang">;

export function dataPlaces(world: Places, spec: Reader): DataPlaces {
  const { data } = spec;
  if (data === undefined) return ANYWHERE;
  const last = world.scratch.get(lastPlaces);
  const { sequence } = world.state;
  if (last?.spec === spec && last.sequence === sequence) return last.places;
  const places = findPlaces(world, data, spec);
  world.scratch.set(lastPlaces, { sequence, spec, places });
  return places;
}

/** An input of a workload: the URIs under which stores have its bytes, and its size if it is known. */
interface WantedInput {
  readonly uris: readonly string[];
  readonly keys: readonly string[];
  readonly weight: number;
}

function findPlaces(world: Places, { inputs = [], rule }: DataSpec, { team, gang }: Reader): DataPlaces {
  const { state } = world;
  const wanted = inputs.map((input) => wantedInput(world, team, input));
  const open = new Set<PoolName>();
  const stored = new Map<PoolName, number>();
  for (const pool of state.pools.values()) {
    const site = state.sites.get(pool.site);
    if (rule !== undefined && !admitsRule(rule, site, pool)) continue;
    open.add(pool.name);
    const weight = sumOf(wanted, ({ uris }) => inputsHeld(uris, site, pool) > 0);
    if (weight > 0) stored.set(pool.name, weight);
  }
  const cached = cachedWeights(world, wanted);
  const isPacking = world.rules.placement !== "spread";
  const heldAtAll = ({ node }: NodeSlot): number => (stored.get(node.pool) ?? 0) + (cached.get(node.id) ?? 0);
  return {
    admits: ({ node }) => open.has(node.pool),
    held: (slot) =>
      isPacking && fragments(world, slot, gang.accelerators) ? (stored.get(slot.node.pool) ?? 0) : heldAtAll(slot),
    heldAtAll,
    tiers: tiersOf(world, { open, stored, cached }),
  };
}

/**
 * Whether placing the work by its data would cost more than a transfer: the node is empty and the work uses a part of it,
 * or so few accelerators of the type are free that packing decides how long larger work waits.
 */
function fragments({ capacity }: Places, slot: NodeSlot, accelerators: number): boolean {
  if (accelerators >= slot.totalCount) return false;
  const { freeCount = 0, usableCount = 0 } = capacity.type(slot.node.acceleratorType) ?? {};
  return slot.isEmpty || freeCount * FREE_PARTS < usableCount;
}

function tiersOf(
  { state }: Places,
  {
    open,
    stored,
    cached,
  }: {
    readonly open: ReadonlySet<PoolName>;
    readonly stored: ReadonlyMap<PoolName, number>;
    readonly cached: ReadonlyMap<NodeId, number>;
  },
): readonly number[] {
  if (stored.size + cached.size === 0) return NO_TIERS;
  const values = new Set(stored.values());
  for (const [id, weight] of cached) {
    const pool = state.nodes.get(id)?.pool;
    if (pool !== undefined && open.has(pool)) values.add(weight + (stored.get(pool) ?? 0));
  }
  return [...[...values].toSorted((left, right) => right - left).slice(0, TIERS_MAX), 0];
}

function wantedInput({ state, cachedInputs }: Places, team: WorkloadSpec["team"], input: string): WantedInput {
  const version = findVersionOf(state, team, input);
  const named: Pick<CachedInput, "uri" | "digest">[] = [{ uri: input, digest: null }];
  for (const { uri } of version?.places ?? []) named.push({ uri, digest: version?.digest ?? null });
  const keys = cachedInputs.isEmpty ? [] : named.map(cachedKey);
  let mib = version === null || version.bytes === null ? 1 : mibOf(version.bytes);
  for (const key of keys) for (const size of cachedInputs.nodesOf(key).values()) mib = Math.max(mib, size);
  return { uris: named.map(({ uri }) => uri), keys, weight: Math.max(1, mib) };
}

/** Twice the weight of the inputs in the cache of each node that has any of them. */
function cachedWeights({ cachedInputs }: Places, wanted: readonly WantedInput[]): ReadonlyMap<NodeId, number> {
  const weights = new Map<NodeId, number>();
  for (const { keys, weight } of wanted) {
    const holders = new Set(keys.flatMap((key) => [...cachedInputs.nodesOf(key).keys()]));
    for (const id of holders) weights.set(id, (weights.get(id) ?? 0) + 2 * weight);
  }
  return weights;
}

const sumOf = (wanted: readonly WantedInput[], holds: (input: WantedInput) => boolean): number =>
  wanted.reduce((sum, input) => sum + (holds(input) ? input.weight : 0), 0);

/** Returns whether the data rule in `spec` allows the work on the node. */
export const admitsNode = (world: World, spec: Reader, node: NodeId): boolean =>
  spec.data?.rule === undefined || dataPlaces(world, spec).admits(world.capacity.slot(node));
