/**
 * Places the task groups of a gang one after the other; each sees the placements before it. All groups can be required
 * to be inside one domain of a level. Either all groups are placed, or none.
 */
import type { DomainRange, DomainTree } from "./domain-tree.ts";
import {
  type FabricOutcome,
  type FabricPolicy,
  type FabricRequest,
  type LeafPortion,
  placeWorkers,
} from "./place-workers.ts";

/** Number of workers that a leaf has received so far, for each group. */
export type TakenInLeaf = readonly number[];

export interface GangOnFabric {
  readonly groups: readonly FabricRequest[];
  /** Level at which all groups must share a domain, or null if each group has only its own constraints. */
  readonly together: number | null;
  /** Number of workers of a group that fit on a leaf, beside the workers of earlier groups. */
  capacityOf(group: number, leaf: number, taken: TakenInLeaf): number;
}

export type GangOutcome =
  | { readonly kind: "placed"; readonly groups: readonly (readonly LeafPortion[])[] }
  /** The first group that did not fit, in the try that placed the most groups. */
  | { readonly kind: "refused"; readonly group: number; readonly outcome: Exclude<FabricOutcome, { kind: "placed" }> };

export function placeGroups(tree: DomainTree, gang: GangOnFabric, policy: FabricPolicy): GangOutcome {
  if (gang.together === null) return placeInside(tree, gang, policy, { first: 0, end: tree.leafCount });
  let furthest: GangOutcome | null = null;
  for (const leaves of tightestFirst(tree, gang, gang.together)) {
    const outcome = placeInside(tree, gang, policy, leaves);
    if (outcome.kind === "placed") return outcome;
    if (furthest === null || (furthest.kind === "refused" && outcome.group > furthest.group)) furthest = outcome;
  }
  const neededSlices = gang.groups[0]?.workers ?? 0;
  const outcome = { kind: "noRoom", level: gang.together, fittingSlices: 0, neededSlices } as const;
  return furthest ?? { kind: "refused", group: 0, outcome };
}

function placeInside(tree: DomainTree, gang: GangOnFabric, policy: FabricPolicy, leaves: DomainRange): GangOutcome {
  const nothing = gang.groups.map(() => 0);
  const taken = new Map<number, number[]>();
  const placedGroups: (readonly LeafPortion[])[] = [];
  for (const [group, request] of gang.groups.entries()) {
    const capacityOf = (leaf: number): number => gang.capacityOf(group, leaf, taken.get(leaf) ?? nothing);
    const outcome = placeWorkers(tree, request, policy, { leaves, capacityOf });
    if (outcome.kind !== "placed") return { kind: "refused", group, outcome };
    for (const { leaf, workers } of outcome.portions) {
      const inLeaf = taken.get(leaf) ?? [...nothing];
      inLeaf[group] = workers;
      taken.set(leaf, inLeaf);
    }
    placedGroups.push(outcome.portions);
  }
  return { kind: "placed", groups: placedGroups };
}

/** Domains of the level in which every group would fit by itself, smallest capacity first. */
function tightestFirst(tree: DomainTree, gang: GangOnFabric, level: number): readonly DomainRange[] {
  const nothing = gang.groups.map(() => 0);
  const domains: { readonly domain: number; readonly leaves: DomainRange; readonly room: number }[] = [];
  for (let domain = 0; domain < tree.domainCount(level); domain++) {
    const leaves = tree.leavesOf(level, domain);
    const rooms = gang.groups.map((_, group) => {
      let room = 0;
      for (let leaf = leaves.first; leaf < leaves.end; leaf++) room += gang.capacityOf(group, leaf, nothing);
      return room;
    });
    if (rooms.some((room, group) => room < (gang.groups[group] as FabricRequest).workers)) continue;
    domains.push({ domain, leaves, room: rooms.reduce((sum, room) => sum + room, 0) });
  }
  domains.sort((left, right) => left.room - right.room || left.domain - right.domain);
  return domains.map(({ leaves }) => leaves);
}
