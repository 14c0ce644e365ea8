/**
 * Bytes that work has to bring from stores before its workers start, and the time that this takes: bytes that are missing at the
 * node, divided by the throughput of the last transfers from the store to the site of the node. Before the first transfer, the
 * throughput that the store declares counts.
 *
 * Quantiles are order statistics of the readings, so that an interval holds the share that it states whatever the noise
 * (David and Nagaraja, "Order Statistics", 7.2: prediction intervals; `rate-interval.ts`). Start with `expectedTransfer`.
 */
import {
  acceptedTypes,
  admitsRule,
  artifactTitle,
  cachedKey,
  egressMicroUsd,
  isOfTypes,
  mibOf,
  parseArtifactRef,
} from "@headroom/model";
import type { ArtifactVersion, NodeId, ProducedArtifact, Store, WorkloadSpec } from "@headroom/model";
import { findVersion } from "../state/find-artifact.ts";
import { roundedUpMs } from "../usage/planned-duration.ts";
import { READINGS_ENOUGH, rateInterval } from "./rate-interval.ts";
import type { World } from "./world.ts";

type TransferWorld = Pick<World, "state" | "cachedInputs">;

/** Work whose transfer is computed. `given`: versions that it has already, whatever is the newest one by now. Absent: the newest. */
export interface TransferWork {
  readonly team: WorkloadSpec["team"];
  readonly data?: WorkloadSpec["data"] | undefined;
  readonly given?: readonly ProducedArtifact[] | undefined;
}

export interface TransferTimes {
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

export interface ExpectedTransfer {
  readonly mib: number;
  /** Stores from which the bytes come, in the order of the inputs. */
  readonly stores: readonly string[];
  /** Inputs of unknown size, which `mib` and the times leave out. */
  readonly unknownCount: number;
  /** `null`: the throughput of a store is unknown, or no size is known. */
  readonly times: TransferTimes | null;
  /** Transfers that were measured; 0: the declared throughput counts. */
  readonly readingCount: number;
  readonly egressMicroUsd: number;
}

const MIB_BYTES = 1_048_576;
const KIB_PER_MIB = 1_024;
/** A declared throughput is what a store reaches at its best: a transfer takes 0.8 to 3 times as long. */
const DECLARED_EARLY = 0.8;
const DECLARED_LATE = 3;

/** The declared store with the longest root that contains the URI; `null`: none does. */
export function storeOf({ state }: Pick<World, "state">, uri: string): Store | null {
  let found: Store | null = null;
  for (const store of state.stores.values())
    if (uri.startsWith(store.root) && (found === null || store.root.length > found.root.length)) found = store;
  return found;
}

/** The site of a node; `""`: it has none. */
export function siteOf({ state }: Pick<World, "state">, node: NodeId | undefined): string {
  const pool = node === undefined ? undefined : state.nodes.get(node)?.pool;
  return pool === undefined ? "" : (state.pools.get(pool)?.site ?? "");
}

/** The transfer before a start on these nodes, or anywhere (`null`): then to the site of most nodes. `null`: nothing has to be brought. */
export function expectedTransfer(
  world: TransferWorld,
  work: TransferWork,
  nodes: readonly NodeId[] | null,
): ExpectedTransfer | null {
  const { inputs = [] } = work.data ?? {};
  if (inputs.length === 0 || world.state.stores.size === 0) return null;
  return transferTo(world, work, { nodes, site: nodes === null ? likelySite(world) : siteOf(world, nodes[0]) });
}

function transferTo(world: TransferWorld, work: TransferWork, to: Target): ExpectedTransfer | null {
  const sums = new Map<Store, number>();
  let unknownCount = 0;
  // A name, its number and its alias are one version, and one transfer.
  const wanted = new Map<string, ArtifactVersion | null>();
  for (const input of work.data?.inputs ?? []) {
    const version = versionOf(world, work, input);
    wanted.set(version?.id ?? input, version);
  }
  for (const [input, version] of wanted) {
    const missing = missingInput(world, { input, version, ...to });
    if (missing === null) continue;
    if (missing.mib === null) unknownCount++;
    sums.set(missing.store, (sums.get(missing.store) ?? 0) + (missing.mib ?? 0));
  }
  return sums.size === 0 ? null : summed(sums, to.site, unknownCount);
}

/**
 * Time in ms that plans allow for the transfer before a start; 0: none, or unknown. Without nodes, to the site to which it takes
 * longest of those at which the work may run: a start that is planned too short could delay a protected one.
 */
export function plannedStagingMs(
  world: TransferWorld,
  spec: WorkloadSpec,
  given: TransferWork["given"],
  nodes: readonly NodeId[] | null = null,
): number {
  const { inputs = [] } = spec.data ?? {};
  if (inputs.length === 0 || world.state.stores.size === 0) return 0;
  const sites = nodes === null ? sitesOf(world, spec) : [siteOf(world, nodes[0])];
  let mostMs = 0;
  const work = { team: spec.team, data: spec.data, given };
  for (const site of sites) mostMs = Math.max(mostMs, transferTo(world, work, { nodes, site })?.times?.p90Ms ?? 0);
  return roundedUpMs(mostMs);
}

/** Sites at which the work may run. */
function sitesOf({ state }: TransferWorld, spec: WorkloadSpec): ReadonlySet<string> {
  const types = acceptedTypes(spec);
  const rule = spec.data?.rule;
  const sites = new Set<string>();
  for (const pool of state.pools.values())
    if (isOfTypes(types, pool) && (rule === undefined || admitsRule(rule, state.sites.get(pool.site), pool)))
      sites.add(pool.site);
  return sites;
}

/** URIs of a version's places, the cheapest for the site first; those in no declared store keep their order behind. */
export function nearestFirst(
  world: Pick<World, "state">,
  uris: readonly string[],
  { bytes, site }: { readonly bytes: number | null; readonly site: string },
): readonly string[] {
  if (world.state.stores.size === 0 || uris.length < 2) return uris;
  const ranked = uris.map((uri, index) => {
    const store = storeOf(world, uri);
    if (store === null) return { uri, index, cost: Number.MAX_SAFE_INTEGER, ms: Number.MAX_SAFE_INTEGER };
    const mib = bytes === null ? KIB_PER_MIB : mibOf(bytes);
    const ms = store.inPlace === true ? 0 : (timesOf(store, site, mib)?.times.p50Ms ?? Number.MAX_SAFE_INTEGER);
    return { uri, index, cost: egressMicroUsd(store, mib * MIB_BYTES, site), ms };
  });
  ranked.sort((left, right) => left.cost - right.cost || left.ms - right.ms || left.index - right.index);
  return ranked.map(({ uri }) => uri);
}

interface Target {
  /** `null`: not known yet. */
  readonly nodes: readonly NodeId[] | null;
  readonly site: string;
}

interface SoughtInput extends Target {
  readonly input: string;
  /** `null`: the input is no artifact. */
  readonly version: ArtifactVersion | null;
}

function versionOf(
  { state }: Pick<World, "state">,
  { team, given = [] }: TransferWork,
  input: string,
): ArtifactVersion | null {
  const ref = parseArtifactRef(input);
  if (ref === null) return null;
  const known = given.find(({ name }) => name === artifactTitle(ref))?.version;
  return (known === undefined ? undefined : state.artifactVersions.get(known)) ?? findVersion(state, team, ref);
}

/** The store from which the input comes, and its size; `null`: it is there, or work reads it where it is. */
function missingInput(
  world: TransferWorld,
  { input, version, nodes, site }: SoughtInput,
): { readonly store: Store; readonly mib: number | null } | null {
  const uris = version === null ? [input] : placesOf(version);
  const [uri] = nearestFirst(world, uris, { bytes: version?.bytes ?? null, site });
  if (uri === undefined || uris.some((each) => isReadInPlace(world, each, { nodes, site }))) return null;
  const store = storeOf(world, uri);
  if (store === null) return null;
  const digest = version?.digest ?? null;
  const { state, cachedInputs } = world;
  const held = uris
    .map((each) => cachedInputs.nodesOf(cachedKey({ uri: each, digest })))
    .filter(({ size }) => size > 0);
  const isThere = nodes === null ? holdersOf(held) === state.nodes.size : nodes.every((node) => isHeld(held, node));
  if (isThere && held.length > 0) return null;
  const [known] = held[0]?.values() ?? [];
  return { store, mib: version === null || version.bytes === null ? (known ?? null) : mibOf(version.bytes) };
}

type Holders = ReadonlyMap<NodeId, number>;

const isHeld = (held: readonly Holders[], node: NodeId): boolean => held.some((each) => each.has(node));

/** Nodes that hold the input. Most inputs have one place, so that no set has to be built. */
const holdersOf = (held: readonly Holders[]): number =>
  held.length < 2 ? (held[0]?.size ?? 0) : new Set(held.flatMap((each) => [...each.keys()])).size;

const placesOf = ({ places }: ArtifactVersion): readonly string[] =>
  places.filter(({ state }) => state !== "missing").map(({ uri }) => uri);

/** Whether a path is on the machine, or in a store that work reads in place. */
function isReadInPlace(world: TransferWorld, uri: string, to: Target): boolean {
  const store = storeOf(world, uri);
  return store === null ? uri.startsWith("/") && isThisMachine(world, to) : store.inPlace === true;
}

/** Whether only the executor of this machine would run the work: nodes of declared ones may not have the paths of the machine. */
function isThisMachine({ state }: TransferWorld, { nodes, site }: Target): boolean {
  const names = new Set(nodes?.map((node) => state.nodes.get(node)?.pool));
  for (const { name, site: at, executor } of state.pools.values()) {
    const mayRun = nodes === null ? at === site : names.has(name);
    if (mayRun && state.executorStates.get(executor)?.isDeclared === true) return false;
  }
  return true;
}

/**
 * Whether an input of the work has to be brought from a store. Paths of a version that also lies in such a store do not count: they
 * are those of the machine that made it.
 */
export function mustBeBrought(world: Pick<World, "state">, work: TransferWork): boolean {
  if (world.state.stores.size === 0) return false;
  return (work.data?.inputs ?? []).some((input) => {
    const version = versionOf(world, work, input);
    const uris = version === null ? [input] : placesOf(version);
    let isStored = false;
    for (const uri of uris) {
      const store = storeOf(world, uri);
      if (store === null ? !uri.startsWith("/") : store.inPlace === true) return false;
      if (store !== null) isStored = true;
    }
    return isStored;
  });
}

/** The site of work whose node is not known yet: that of most nodes. */
function likelySite({ state }: TransferWorld): string {
  const counts = new Map<string, number>();
  for (const { pool } of state.nodes.values()) {
    const site = state.pools.get(pool)?.site ?? "";
    counts.set(site, (counts.get(site) ?? 0) + 1);
  }
  let found = "";
  for (const [site, count] of counts) if (count > (counts.get(found) ?? 0)) found = site;
  return found;
}

function summed(sums: ReadonlyMap<Store, number>, site: string, unknownCount: number): ExpectedTransfer {
  const sum = { mib: 0, readingCount: 0, egressMicroUsd: 0 };
  let times: TransferTimes | null = { p10Ms: 0, p50Ms: 0, p90Ms: 0 };
  for (const [store, mib] of sums) {
    const own = timesOf(store, site, mib);
    sum.mib += mib;
    sum.readingCount += own?.readingCount ?? 0;
    sum.egressMicroUsd += egressMicroUsd(store, mib * MIB_BYTES, site);
    times = times === null || own === null ? null : added(times, own.times);
  }
  const stores = [...sums.keys()].map(({ name }) => name);
  return { ...sum, stores, unknownCount, times: sum.mib === 0 ? null : times };
}

const added = (left: TransferTimes, right: TransferTimes): TransferTimes => ({
  p10Ms: left.p10Ms + right.p10Ms,
  p50Ms: left.p50Ms + right.p50Ms,
  p90Ms: left.p90Ms + right.p90Ms,
});

function timesOf(
  { links, kibPerS }: Store,
  site: string,
  mib: number,
): { readonly times: TransferTimes; readonly readingCount: number } | null {
  const readings = links.find((each) => each.site === site)?.readings ?? [];
  const msAt = (rate: number): number => Math.ceil((mib * KIB_PER_MIB * 1_000) / rate);
  if (readings.length > 0) {
    const { low, median, high } = rateInterval(readings);
    const stretch = 1 + Math.max(0, READINGS_ENOUGH - readings.length) / (READINGS_ENOUGH - 1);
    const times = {
      p10Ms: Math.floor(msAt(high) / stretch),
      p50Ms: msAt(median),
      p90Ms: Math.ceil(msAt(low) * stretch),
    };
    return { times, readingCount: readings.length };
  }
  if (kibPerS === undefined) return null;
  const ms = msAt(kibPerS);
  return {
    times: { p10Ms: Math.floor(ms * DECLARED_EARLY), p50Ms: ms, p90Ms: Math.ceil(ms * DECLARED_LATE) },
    readingCount: 0,
  };
}

/** A transfer time between the quantiles, for a uniform number in [0, 1): linear between them, and beyond the outer ones. */
export function drawnTransferMs({ p10Ms, p50Ms, p90Ms }: TransferTimes, uniform: number): number {
  const lower = p50Ms - p10Ms;
  const upper = p90Ms - p50Ms;
  const ms = uniform < 0.5 ? p50Ms - (lower * (0.5 - uniform)) / 0.4 : p50Ms + (upper * (uniform - 0.5)) / 0.4;
  return Math.max(0, Math.round(ms));
}
