/** Places of nodes in the fabric, as their labels state them. Live and simulated fleets read them by this one rule. */

export interface StatedPlace {
  /** Levels of the site, widest first, without the node. */
  readonly levels: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Domains that the node's executor reports, by level; labels take precedence. */
  readonly reported?: ReadonlyMap<string, string>;
  /** The domain of a level that nothing states. */
  readonly otherwise: string;
}

/**
 * A label named after a level states the node's domain at that level. `null`: nothing states a domain of any level, so that
 * the place of the node is not known.
 */
export function placeByLabels({ levels, labels, reported, otherwise }: StatedPlace): readonly string[] | null {
  const stated = levels.map((level) => labels[level] ?? reported?.get(level));
  return stated.every((domain) => domain === undefined) ? null : stated.map((domain) => domain ?? otherwise);
}
