import type { ReadonlyState } from "@headroom/engine";

/** The comparable set of each node, by id: the nodes of one pool with one type of accelerator. */
export const peerSets = ({ nodes, pools }: ReadonlyState): ReadonlyMap<string, string> =>
  new Map(
    [...nodes.values()].map(({ id, pool }) => {
      const type = pools.get(pool)?.acceleratorType ?? "";
      return [String(id), type === "" ? String(pool) : `${pool}, ${type}`] as const;
    }),
  );
