/** Stage 4: drops victims that the plan does not need. */

interface Minimal<Item, Found> {
  /** Needed items, in their original order. */
  readonly needed: readonly Item[];
  /** Result of the search with the needed items alone. */
  readonly found: Found;
}

interface Minimising<Item, Found> {
  /** Order in which items are tried for dropping. */
  readonly order: Iterable<Item>;
  /** The result of the search without this item and the items dropped so far, or `null` if the item is needed. */
  without(item: Item, rest: () => readonly Item[]): Found | null;
}

/** Tries to drop items one at a time; an item is dropped if the search still succeeds without it. */
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
