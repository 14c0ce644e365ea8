/**
 * Reduces the weight of a team by its usage history, by the factor part / (part + past). `part` is the team's part of
 * the fleet by weight alone, down the quota tree. `past` is its average past usage beyond its guarantee. So a team
 * without past usage keeps its whole weight, a team whose past usage equals its part keeps half, and a team with three
 * times its part keeps a quarter. Teams that use the fleet in proportion to their weights keep these proportions, no
 * weight becomes zero, and usage within a guarantee never counts against a team.
 */
import { divideProduct } from "@headroom/model";
import { AVERAGE_ONE } from "../usage/decayed-usage.ts";
import { usageKey } from "../usage/imported-usage.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";

/** The fraction of a weight that remains: `part` divided by `whole`. */
export interface WeightLeft {
  readonly part: number;
  readonly whole: number;
}

export const WHOLE_WEIGHT: WeightLeft = { part: 1, whole: 1 };

/** Factor by which weights are multiplied, so that weights reduced by usage history are whole numbers. */
const SCALE = 1_000_000;

export const scaledWeight = (weight: number, { part, whole }: WeightLeft): number =>
  weight === 0 ? 0 : Math.max(1, divideProduct(Math.round(weight * SCALE), part, whole).quotient);

export interface Tree {
  /** Nodes of the quota tree, parents before their children. */
  readonly nodes: readonly TeamNode[];
  /** Total amount of the resource. */
  readonly total: number;
  /** Weight of each node. */
  readonly weights: readonly number[];
}

/** The fraction of each team's weight that remains, in the order of `tree.nodes`, for the resource at `position`. */
export function weightsLeft(world: World, position: 0 | 1 | 2, tree: Tree): readonly WeightLeft[] {
  const parts = partsByWeight(tree);
  return tree.nodes.map((node) => {
    const part = parts.get(node) as number;
    const average = Math.floor(world.decayedUsage.average(usageKey(node.name))[position] / AVERAGE_ONE);
    const beyond = Math.max(0, average - (node.guaranteed[position] as number));
    return part === 0 || beyond === 0 ? WHOLE_WEIGHT : { part, whole: part + beyond };
  });
}

/** Each team's part of the fleet by weight alone, regardless of demand. */
function partsByWeight({ nodes, total, weights }: Tree): ReadonlyMap<TeamNode, number> {
  const milli = new Map(nodes.map((node, index) => [node, Math.round((weights[index] as number) * 1000)]));
  const sums = new Map<TeamNode | null, number>();
  for (const node of nodes) sums.set(node.parent, (sums.get(node.parent) ?? 0) + (milli.get(node) as number));
  const parts = new Map<TeamNode, number>();
  for (const node of nodes) {
    const above = node.parent === null ? total : (parts.get(node.parent) as number);
    const sum = sums.get(node.parent) as number;
    parts.set(node, sum === 0 ? 0 : divideProduct(above, milli.get(node) as number, sum).quotient);
  }
  return parts;
}
