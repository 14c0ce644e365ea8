/** Nodes that differ from the desired value of a fact, or else from the value that most of their peers have. */
import { comparableSets } from "./profile.ts";
import type { ComparableSet, FactValue, NodeProfile } from "./profile.ts";

/** Nodes of a set from which on a majority says something. */
const PEERS_MIN = 3;

export interface Deviation {
  readonly set: string;
  readonly fact: string;
  readonly value: FactValue;
  readonly expected: FactValue;
  /** The source of the expected value. */
  readonly by: "desired" | "majority";
  /** Nodes of the set that have the expected value. */
  readonly peer_count: number;
  readonly nodes: readonly string[];
}

/** Desired values of facts by name of the set; `*`: of every set. */
export type DesiredProfiles = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * The deviations of all sets, those of the fewest nodes first: what one node has and no other is drift more surely than
 * what a third of them have. A fact without a desired value and without a value of more than half of the nodes, such
 * as a serial number, has none.
 */
export function deviationsOf(
  profiles: readonly NodeProfile[],
  desired: DesiredProfiles = new Map(),
): readonly Deviation[] {
  return comparableSets(profiles)
    .flatMap((set) => deviationsIn(set, desired))
    .toSorted((left, right) => left.nodes.length - right.nodes.length);
}

function deviationsIn({ set, profiles, facts }: ComparableSet, desired: DesiredProfiles): Deviation[] {
  const wanted = new Map([...(desired.get("*") ?? []), ...(desired.get(set) ?? [])]);
  return [...new Set([...facts, ...wanted.keys()])].flatMap((fact) => {
    const nodes = Map.groupBy(profiles, (profile): FactValue => profile.facts.get(fact) ?? null);
    const own = wanted.get(fact);
    const expected = own ?? majority(nodes, profiles.length);
    if (expected === undefined) return [];
    const peerCount = nodes.get(expected)?.length ?? 0;
    return [...nodes].flatMap(([value, differing]): Deviation[] =>
      value === expected
        ? []
        : [
            {
              set,
              fact,
              value,
              expected,
              by: own === undefined ? "majority" : "desired",
              peer_count: peerCount,
              nodes: differing.map(({ node }) => node),
            },
          ],
    );
  });
}

/** The value that more than half of the nodes have; undefined: there is none. */
function majority(nodes: ReadonlyMap<FactValue, readonly NodeProfile[]>, count: number): FactValue | undefined {
  if (count < PEERS_MIN) return undefined;
  for (const [value, { length }] of nodes) if (2 * length > count) return value;
  return undefined;
}
