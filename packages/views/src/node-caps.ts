/** Caps on power and cooling under which one node draws. */
import type { Fleet, Node } from "@headroom/protocol";

type DomainCap = NonNullable<Fleet["caps"]>[number];

/** The caps of the fleet on the site, the switches and the labels of a node. */
export const capsOfNode = (
  { site, fabric, labels }: Pick<Node, "site" | "fabric" | "labels">,
  caps: readonly DomainCap[],
): readonly DomainCap[] =>
  caps.filter(({ level, path: [capSite, ...below] }) => {
    if (capSite !== site) return false;
    const isLabel = below.length === 1 && labels[level] === below[0];
    return isLabel || below.every((name, depth) => fabric[depth] === name);
  });
