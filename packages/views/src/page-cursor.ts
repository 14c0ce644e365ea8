/** Parses cursors of lists. An unknown cursor is refused, and never treated as the beginning of the list. */
import { refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";

export function refusedCursor(cursor: string): ProblemError {
  const message = "must be the nextCursor of an earlier page of this list";
  const detail = `The cursor ${cursor} is unknown: it ${message} and must not be too old. Leave it out to begin at the first page.`;
  return refuse("invalidCursor", detail, { errors: [{ pointer: "?cursor", message }] });
}

/** The ordinal after which the page begins, for lists with ordinals; `null`: the first page. */
export function cursorOrdinal(
  cursor: string | null | undefined,
  { first, last }: { readonly first: number; readonly last: number },
): number | null {
  if (cursor === null || cursor === undefined) return null;
  const ordinal = /^(?:0|[1-9][0-9]{0,14})$/.test(cursor) ? Number(cursor) : -1;
  if (ordinal < first || ordinal > last) throw refusedCursor(cursor);
  return ordinal;
}
