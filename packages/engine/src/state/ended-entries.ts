/**
 * Calendar entries that have ended, by name, so that nothing changes when the document of such an entry is applied
 * again.
 */
import { canonicalJson, hashText } from "@headroom/model";
import type { CalendarEntry } from "@headroom/model";
import type { ReadonlyState } from "./state.ts";

/**
 * Maximum number of ended entries that are kept: years of one window a day. A document may be applied again as long as
 * it exists.
 */
export const ENDED_ENTRIES_KEPT = 1_000;

export const entryFingerprint = (entry: CalendarEntry): string => hashText(canonicalJson(entry));

/** The calendar entry of this name and content, present or ended, or `undefined` if there is none. */
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
