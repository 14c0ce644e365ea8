/**
 * Node and fabric constraints, checked from declarations alone: whether a gang's workers satisfy them, and whether free
 * capacity could hold the gang. Shares no code with placement.
 */
import type { DataSpec, FabricSpec, Node, SiteName, SpreadSpec, WorkloadKindName, WorkloadSpec } from "@headroom/model";
import { ANY_SECRET, isRegistered, refusedSecret } from "@headroom/model";
import { findVersionOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";

export interface Constraints {
  readonly fabric?: FabricSpec;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly spread?: SpreadSpec;
  readonly data?: DataSpec;
  readonly image?: string;
  readonly secrets?: WorkloadSpec["secrets"];
  readonly kind?: WorkloadKindName;
  readonly checkpointStore?: string;
  readonly produces?: WorkloadSpec["produces"];
  readonly team?: WorkloadSpec["team"];
  readonly actor?: string;
  readonly dir?: string | null;
  readonly checkpointDir?: string | null;
}

/** A node, and the number of a gang's workers that it has or could have. */
export interface Share {
  readonly node: Node;
  readonly workers: number;
}

/** Whether a worker may be on the node, by its labels, the data rule, the kind of the work, its image and its secrets. */
export const isSelected = (state: ReadonlyState, node: Node, constraints: Constraints): boolean =>
  hasLabels(node, constraints) &&
  isAdmitted(state, node, constraints) &&
  takesKind(state, node, constraints) &&
  canRunImage(state, node, constraints) &&
  givesSecrets(state, node, constraints) &&
  canUpload(state, node, constraints) &&
  canBring(state, node, constraints);

/** Whether the node's pool takes work of the kind. True for pools without a list. */
export function takesKind({ pools }: ReadonlyState, { pool }: Node, { kind }: Constraints): boolean {
  const kinds = pools.get(pool)?.kinds;
  return kind === undefined || kinds === undefined || kinds.includes(kind);
}

const hasLabels = ({ labels }: Node, { nodeSelector = {} }: Constraints): boolean =>
  Object.entries(nodeSelector).every(([label, value]) => labels?.[label] === value);

/** Whether the node's pool or site admits the work's data rule. True for work without a data rule. */
export function isAdmitted(state: ReadonlyState, { pool: name }: Node, { data }: Constraints): boolean {
  if (data?.rule === undefined) return true;
  const pool = state.pools.get(name);
  const site = pool === undefined ? undefined : state.sites.get(pool.site);
  const own = pool?.data?.rules;
  return (own === undefined ? site?.data?.rules : own)?.includes(data.rule) === true;
}

/** Whether the node's executor runs images. True for work without an image, and under an executor that never registered. */
export function canRunImage(
  { pools, executors }: ReadonlyState,
  { pool: name }: Node,
  { image }: Constraints,
): boolean {
  const pool = pools.get(name);
  const executor = pool === undefined ? undefined : executors.get(pool.executor);
  return image === undefined || executor === undefined || executor.capabilities.images === true;
}

/** Whether the node's executor gives workers secrets. True for work without some, and under an executor that never registered. */
export function givesSecrets(
  { pools, executors }: ReadonlyState,
  { pool: name }: Node,
  { secrets, team, actor = "" }: Constraints,
): boolean {
  const pool = pools.get(name);
  const executor = pool === undefined ? undefined : executors.get(pool.executor);
  if (secrets === undefined || executor === undefined) return true;
  const { secrets: gives, secretRules = [ANY_SECRET] } = executor.capabilities;
  return (
    gives === true && (team === undefined || refusedSecret(secretRules, { actor, spec: { team, secrets } }) === null)
  );
}

/** Whether the node's executor uploads, and from where the work says, if the work names a store for what it makes. */
export function canUpload(
  { pools, executors }: ReadonlyState,
  { pool: name }: Node,
  { data, checkpointStore, produces, dir, checkpointDir }: Constraints,
): boolean {
  const makes = data?.store !== undefined && (produces ?? []).some(isRegistered);
  const drains = checkpointStore !== undefined;
  const pool = pools.get(name);
  const can = pool === undefined ? undefined : executors.get(pool.executor)?.capabilities;
  if (can === undefined || (!makes && !drains)) return true;
  const named = [makes ? dir : null, drains ? checkpointDir : null].filter((each) => each != null);
  return can.uploads !== false && named.every((each) => isInOne(each.split("/"), can.uploadsFrom));
}

function isInOne(path: readonly string[], directories: readonly string[] | undefined): boolean {
  if (directories === undefined) return true;
  if (path.includes("..")) return false;
  return directories.some((each) => {
    const steps = each.replace(/\/$/, "").split("/");
    return steps.every((step, depth) => step === path[depth]);
  });
}

/** Whether the node's executor brings inputs, if some can be read only after a copy from a store. */
export function canBring(state: ReadonlyState, { pool: name }: Node, { data, team }: Constraints): boolean {
  const pool = state.pools.get(name);
  const isAble = pool === undefined || state.executors.get(pool.executor)?.capabilities.inputs !== false;
  return isAble || team === undefined || !(data?.inputs ?? []).some((input) => needsCopy(state, team, input));
}

/** A store where it is read in place, or a URI of no store, needs none. A path does only if a copy can be made. */
function needsCopy(state: ReadonlyState, team: WorkloadSpec["team"], input: string): boolean {
  const version = findVersionOf(state, team, input);
  const uris = version?.places.flatMap(({ state: at, uri }) => (at === "missing" ? [] : [uri])) ?? [input];
  const kinds = uris.map((uri) => {
    const [nearest] = [...state.stores.values()]
      .filter(({ root }) => uri.startsWith(root))
      .toSorted((left, right) => right.root.length - left.root.length);
    if (nearest !== undefined) return nearest.inPlace === true ? "read" : "copied";
    return uri.startsWith("/") ? "path" : "read";
  });
  return kinds.includes("copied") && !kinds.includes("read");
}

/** The path of the node's domain at a level, or `null` if the node's site has no such level. */
function domainOf(state: ReadonlyState, node: Node, level: string): string | null {
  const site = state.sites.get(state.pools.get(node.pool)?.site as SiteName);
  if (site === undefined) return null;
  const depth = [...site.fabricLevels, "node"].indexOf(level);
  if (depth < 0) return null;
  const path = [...site.fabricLevels.map((_, at) => node.fabric[at] ?? ""), node.id];
  return JSON.stringify([site.name, ...path.slice(0, depth + 1)]);
}

const sumOf = (shares: readonly Share[]): number => shares.reduce((sum, { workers }) => sum + workers, 0);
const valueOf = ({ labels, id }: Node, { topologyKey }: SpreadSpec): string => labels?.[topologyKey] ?? id;

function byDomain(state: ReadonlyState, shares: readonly Share[], level: string): readonly (readonly Share[])[] {
  const domains = Map.groupBy(shares, ({ node }) => domainOf(state, node, level));
  return [...domains].flatMap(([domain, inside]) => (domain === null ? [] : [inside]));
}

/** The constraints that a placement violates. `isWhole`: whether the gang must consist of whole slices. */
export function brokenConstraints(
  state: ReadonlyState,
  constraints: Constraints,
  shares: readonly Share[],
  isWhole: boolean,
): string[] {
  const { fabric = {}, spread } = constraints;
  const broken = shares
    .filter(({ node }) => !hasLabels(node, constraints))
    .map(({ node }) => `${node.id} lacks labels that were asked for`);
  const all = sumOf(shares);
  const { within, slices = [] } = fabric;
  if (within !== undefined && !byDomain(state, shares, within).some((inside) => sumOf(inside) === all))
    broken.push(`it does not lie within one ${within}`);
  if (spread !== undefined) {
    for (const [value, inside] of Map.groupBy(shares, ({ node }) => valueOf(node, spread)))
      if (sumOf(inside) > spread.maxPerDomain)
        broken.push(`${sumOf(inside)} workers share ${spread.topologyKey} ${value}, ${spread.maxPerDomain} may`);
  }
  for (const slice of isWhole ? slices : []) {
    const domains = byDomain(state, shares, slice.within);
    const isSliced = domains.every((inside) => sumOf(inside) % slice.workers === 0);
    if (!isSliced || domains.reduce((sum, inside) => sum + sumOf(inside), 0) !== all)
      broken.push(`slices of ${slice.workers} do not share a ${slice.within}`);
  }
  return broken;
}

/** Whether `couldHold` can judge the constraints. It cannot judge spreading combined with slices, several sites, or power caps. */
export const canBeTold = ({ sites }: ReadonlyState, { fabric = {}, spread }: Constraints): boolean =>
  ![...sites.values()].some(({ caps }) => caps !== undefined) &&
  (spread === undefined || (fabric.slices ?? []).length === 0) &&
  (fabric.within !== undefined || sites.size <= 1);

/**
 * Whether free capacity could hold this number of workers under their constraints, or `null` if that cannot be judged.
 * The answer is exact for a required level, for spreading, and for slices, each alone. It is also exact for a required
 * level combined with spreading or with slices.
 */
export function couldHold(
  state: ReadonlyState,
  constraints: Constraints,
  rooms: readonly Share[],
  workers: number,
): boolean | null {
  const { fabric = {}, spread } = constraints;
  const { within, slices = [] } = fabric;
  const selected = rooms.filter(({ node }) => isSelected(state, node, constraints));
  if (sumOf(selected) < workers) return false;
  if (!canBeTold(state, constraints)) return null;
  const groups = within === undefined ? [selected] : byDomain(state, selected, within);
  if (spread !== undefined) return groups.some((group) => spreadRoom(group, spread) >= workers);
  const [widest] = slices;
  const divides = slices.every(
    ({ workers: size }, at) => (at === 0 ? workers : (slices[at - 1]?.workers ?? 0)) % size === 0,
  );
  if (widest !== undefined && !divides) return false;
  return groups.some((group) => slicedRoom(state, group, slices) >= workers);
}

/** Number of workers that fit if every label value has a maximum. The values are filled one after the other. */
function spreadRoom(rooms: readonly Share[], spread: SpreadSpec): number {
  let room = 0;
  for (const [, inside] of Map.groupBy(rooms, ({ node }) => valueOf(node, spread)))
    room += Math.min(spread.maxPerDomain, sumOf(inside));
  return room;
}

/**
 * Number of workers that fit in whole slices. The widest slices come first; each is made of whole slices of the next
 * size.
 */
function slicedRoom(state: ReadonlyState, rooms: readonly Share[], slices: NonNullable<FabricSpec["slices"]>): number {
  const [slice, ...narrower] = slices;
  if (slice === undefined) return sumOf(rooms);
  return byDomain(state, rooms, slice.within).reduce((sum, inside) => {
    const room = slicedRoom(state, inside, narrower);
    return sum + room - (room % slice.workers);
  }, 0);
}
