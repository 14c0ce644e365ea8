/** Pages of lists. A page is limited by its number of items and by its size, because one item can have many values. */
import type { Row } from "./mlflow-database.ts";

/** Maximum number of characters of a page, beyond which it ends after at least one item. */
const PAGE_CHARS_MAX = 8 * 1024 * 1024;

export interface PageRange {
  readonly offset: number;
  readonly count: number;
}

/** `rows` has one row more than the page, if there is a next page. */
export function pageOf(name: string, rows: readonly Row[], range: PageRange, itemOf: (row: Row) => object): object {
  const items: object[] = [];
  let chars = 0;
  for (const row of rows) {
    if (items.length >= range.count || chars > PAGE_CHARS_MAX) break;
    const item = itemOf(row);
    items.push(item);
    chars += JSON.stringify(item).length;
  }
  if (items.length === rows.length) return { [name]: items };
  return { [name]: items, next_page_token: pageToken(range.offset + items.length) };
}

/** `Fields.offset` reads it. */
export const pageToken = (offset: number): string => Buffer.from(String(offset)).toString("base64url");
