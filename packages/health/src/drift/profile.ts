/**
 * Profiles of nodes: what is installed and set on them, and how fast they are. Start with `deviations.ts` (which nodes
 * differ from their peers) and `causes.ts` (which difference slow nodes share). Everything here is pure.
 */

export interface NodeProfile {
  readonly node: string;
  /** The comparable set: nodes of one type and purpose. */
  readonly set: string;
  /** Driver, firmware, kernel, libraries, settings, by name. */
  readonly facts: ReadonlyMap<string, string>;
  /** Measured performance in any unit, more is better; null: not measured. */
  readonly performance: number | null;
}

/** A value of a fact. `null`: the node does not state the fact. */
export type FactValue = string | null;

export interface ComparableSet {
  readonly set: string;
  readonly profiles: readonly NodeProfile[];
  /** Names of all facts that a node of the set states, in order. */
  readonly facts: readonly string[];
}

/** The comparable sets, in order of their names. */
export function comparableSets(profiles: readonly NodeProfile[]): readonly ComparableSet[] {
  return [...Map.groupBy(profiles, ({ set }) => set)]
    .map(([set, own]) => {
      const facts = new Set<string>();
      for (const profile of own) for (const fact of profile.facts.keys()) facts.add(fact);
      return { set, profiles: own, facts: [...facts].toSorted() };
    })
    .toSorted((left, right) => (left.set < right.set ? -1 : 1));
}
