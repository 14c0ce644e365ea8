/**
 * Weight of a team after usage history. A team whose average usage beyond its guarantee equals its part of the fleet
 * counts with half its weight, one without usage with all of it, one with three times its part with a quarter: part /
 * (part + past). Its part is by weight alone, down the tree. So nothing changes among teams that use what their weights
 * say, no weight becomes zero, and guaranteed usage never counts against a team.
 */
import { AVERAGE_ONE } from "../usage/decayed-usage.ts";
import { divideProduct } from "../base/exact.ts";
import { usageKey } from "../cluster/decayed-usage-index.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";

/** The remaining fraction of a weight: `part` of `whole`. */
export interface WeightLeft {
  readonly part: number;
  readonly whole: number;
}

export const WHOLE_WEIGHT: WeightLeft = { part: 1, whole: 1 };

/** Scale of weights with usage history, so that the remaining weights are whole numbers. */
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

/** Remaining weights by node, for the resource at this position. */
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
