/** Stage 4: a plan has no victim that it does not need. */

interface Minimal<Item, Found> {
  /** The items that are needed, in their order. */
  readonly needed: readonly Item[];
  /** What was found with these items alone. */
  readonly found: Found;
}

interface Minimising<Item, Found> {
  /** In which order items are dropped. */
  readonly order: Iterable<Item>;
  /** What is found without the item, beside those that were dropped before; `null`: the item is needed. */
  without(item: Item, rest: () => readonly Item[]): Found | null;
}

/** Drops items one at a time, each for good if the search still succeeds without it. */
export function minimise<Item, Found>(
  items: readonly Item[],
  found: Found,
  { order, without }: Minimising<Item, Found>,
): Minimal<Item, Found> {
  const dropped = new Set<Item>();
  const rest = (): readonly Item[] => items.filter((item) => !dropped.has(item));
  let least = found;
  for (const item of order) {
    dropped.add(item);
    const again = without(item, rest);
    if (again === null) dropped.delete(item);
    else least = again;
  }
  return { needed: rest(), found: least };
}
