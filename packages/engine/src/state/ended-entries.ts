/** Ended calendar entries by name, so that applying the same document again changes nothing. */
import type { CalendarEntry } from "../model/calendar.ts";
import { canonicalJson } from "../base/canonical.ts";
import { hashText } from "../base/hash.ts";
import type { ReadonlyState } from "./state.ts";

/**
 * Maximum number of ended entries kept: years of one window a day, because a document may be applied again as long as
 * it exists.
 */
export const ENDED_ENTRIES_KEPT = 1_000;

export const entryFingerprint = (entry: CalendarEntry): string => hashText(canonicalJson(entry));

/** The present or ended calendar entry of this name and content; `undefined`: none. */
export function knownEntry(
  { calendar, endedEntries }: Pick<ReadonlyState, "calendar" | "endedEntries">,
  declared: CalendarEntry,
): CalendarEntry | undefined {
  const known = calendar.get(declared.name)?.entry;
  if (known !== undefined) return known;
  return endedEntries.get(declared.name) === entryFingerprint(declared) ? declared : undefined;
}

/**
 * Records an ended entry. The newest entry of a name replaces the older one; beyond the maximum the oldest entry is
 * dropped.
 */
export function rememberEntry(endedEntries: Map<string, string>, name: string, fingerprint: string): void {
  endedEntries.delete(name);
  endedEntries.set(name, fingerprint);
  for (const oldest of endedEntries.keys()) {
    if (endedEntries.size <= ENDED_ENTRIES_KEPT) return;
    endedEntries.delete(oldest);
  }
}
