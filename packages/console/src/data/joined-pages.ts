/** Pages of a list joined into one, with the page of each item. */
export interface Joined<Item> {
  readonly items: readonly Item[];
  /** Index of the page of each item. */
  readonly pageOf: readonly number[];
}

/**
 * Pages are fetched at different times, and items can move between them meanwhile. An item on two pages is taken from
 * the first.
 */
export function joinPages<Item>(pages: readonly (readonly Item[])[], idOf: (item: Item) => string): Joined<Item> {
  const items: Item[] = [];
  const pageOf: number[] = [];
  const seen = new Set<string>();
  pages.forEach((page, index) => {
    for (const item of page) {
      const id = idOf(item);
      if (seen.has(id)) continue;
      seen.add(id);
      items.push(item);
      pageOf.push(index);
    }
  });
  return { items, pageOf };
}
