/** Keys of failure domains, which sort and compare. The domains of a node are those of the model. */
import { failureDomainsOfNode } from "@headroom/model";
import type { FailureDomain } from "@headroom/model";

export const domainKey = ({ level, path, isFabric }: FailureDomain): string =>
  JSON.stringify([isFabric ? "fabric" : "", level, ...path]);

export function domainOfKey(key: string): FailureDomain {
  const [kind = "", level = "", ...path] = JSON.parse(key) as readonly string[];
  return { level, path, isFabric: kind === "fabric" };
}

/** Keys of all domains of several nodes that contain the node, in a fixed order. */
export const domainsOfNode = (...node: Parameters<typeof failureDomainsOfNode>): readonly string[] =>
  failureDomainsOfNode(...node).map(domainKey);

/** Domains with the same nodes are one failure. It has the name of the first: a switch, else a label, a pool, a site. */
const RANKS = ["pool", "site", "executor"];

export function rankOfDomain(key: string): number {
  const { level, path, isFabric } = domainOfKey(key);
  if (isFabric) return -path.length;
  const rank = RANKS.indexOf(level);
  return rank < 0 ? 0 : rank + 1;
}
