/** Combines the labels declared with a pool and the nodes reported by executors. */
import { placeByLabels } from "@headroom/model";
import type { NodeSpec, Site } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

/**
 * The node with all labels declared for it, and with its place in the fabric. Declared labels override the executor's labels, and
 * labels named after a level of the site override the executor's topology. `reported`: the sites as the executor describes them;
 * its nodes state their domains in the order of those levels.
 */
export function labelled(
  { pools, sites }: Pick<ReadonlyState, "pools" | "sites">,
  node: NodeSpec,
  reported: readonly Site[] = [],
): NodeSpec {
  const pool = pools.get(node.pool);
  const labels = { ...node.labels, ...pool?.labels, ...pool?.nodeLabels?.[node.id] };
  const withLabels = Object.keys(labels).length === 0 ? node : { ...node, labels };
  const site = pool === undefined ? undefined : sites.get(pool.site);
  if (pool === undefined || site === undefined) return withLabels;
  const { fabricLevels: levels } = site;
  const own = reported.find(({ name }) => name === site.name)?.fabricLevels ?? levels;
  const byLevel = new Map(own.slice(0, node.fabric.length).map((level, depth) => [level, node.fabric[depth] ?? ""]));
  const fabric = placeByLabels({ levels, labels, reported: byLevel, otherwise: pool.name }) ?? [];
  return { ...withLabels, fabric };
}
