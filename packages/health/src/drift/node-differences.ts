/**
 * How one node differs from its comparable set: facts that most of the other nodes have with another value. Facts are labels that state hardware
 * or software, and those that the suite of a pool states.
 */
import type { Measurement } from "../qualification/measurement.ts";
import type { FactValue } from "./profile.ts";

/** Labels that describe the node. Others name its place or its use, which differ without harm. */
const OF_PROFILE =
  /(?:^|[._/-])(?:batch|bios|cuda|driver|firmware|image|kernel|kernel-version|model|nccl|os|osimage|os_release|runtime|sku|version|vendor)(?:$|[._-])/i;
const PEERS_MIN = 3;
const DIFFERENCES_MAX = 50;

export interface NodeDifference {
  readonly fact: string;
  /** `null`: the node does not state the fact. */
  readonly value: FactValue;
  /** The value that more than half of the other nodes have. */
  readonly expected: string;
  /** Other nodes with that value, and other nodes in all. */
  readonly peerCount: number;
  readonly comparedCount: number;
}

/** Facts of a node by name: `labels` as its executor states them, `measurements` of its newest suite. */
export function factsOfNode(
  labels: Readonly<Record<string, string>>,
  measurements: readonly Measurement[],
): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const [name, value] of Object.entries(labels)) if (OF_PROFILE.test(name)) facts.set(name, value);
  for (const { test, text } of measurements) if (text !== undefined) facts.set(test, text);
  return facts;
}

/** Differences of `own` from the other nodes of its set, in the order of the names of facts. Nodes without a suite state no facts of it, and do not count. */
export function nodeDifferences(
  own: ReadonlyMap<string, string>,
  others: readonly ReadonlyMap<string, string>[],
): readonly NodeDifference[] {
  const counts = new Map<string, Map<string, number>>();
  for (const facts of others)
    for (const [fact, value] of facts) {
      const known = counts.get(fact);
      if (known === undefined) counts.set(fact, new Map([[value, 1]]));
      else known.set(value, (known.get(value) ?? 0) + 1);
    }
  const found: NodeDifference[] = [];
  for (const [fact, values] of [...counts].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const stating = [...values.values()].reduce((sum, count) => sum + count, 0);
    // A fact that the node does not state differs if most nodes of the set state it.
    const comparedCount = own.has(fact) ? stating : others.length;
    for (const [expected, peerCount] of values)
      if (comparedCount >= PEERS_MIN && 2 * peerCount > comparedCount && own.get(fact) !== expected)
        found.push({ fact, value: own.get(fact) ?? null, expected, peerCount, comparedCount });
  }
  return found.slice(0, DIFFERENCES_MAX);
}
