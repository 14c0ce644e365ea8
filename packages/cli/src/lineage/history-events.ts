/** The journal of a state directory as OpenLineage events, whether its control plane runs or not. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { RunEvent } from "@headroom/lineage";
import type { Event } from "@headroom/model";
import { version } from "../version.ts";

const journalOf = (home: string): string => path.join(home, "journal");

export const hasJournal = (home: string): boolean => existsSync(journalOf(home));

export const DEFAULT_NAMESPACE = "headroom";

/** The events of the journal of a state directory, group by group. */
export async function* journalEvents(home: string): AsyncGenerator<readonly Event[]> {
  const [{ openRecorded, sqliteAddress }, { readEvents }] = await Promise.all([
    import("@headroom/journal"),
    import("@headroom/engine"),
  ]);
  const journal = openRecorded(sqliteAddress(journalOf(home)));
  try {
    for (const { text } of journal.groups(0, journal.head().sequence)) yield readEvents(text);
  } finally {
    journal.close();
  }
}

export async function* historyEvents(home: string, namespace: string): AsyncGenerator<RunEvent> {
  const [{ openRecorded, sqliteAddress }, { HistoryExport }, { readEvents }] = await Promise.all([
    import("@headroom/journal"),
    import("@headroom/lineage"),
    import("@headroom/engine"),
  ]);
  const journal = openRecorded(sqliteAddress(journalOf(home)));
  try {
    let history: InstanceType<typeof HistoryExport> | null = null;
    for (const { text, chain } of journal.groups(0, journal.head().sequence)) {
      // The chain value of the first group is the same in every copy of this journal, and differs between journals.
      history ??= new HistoryExport({
        journal: chain,
        namespace,
        producer: `urn:headroom:${version()}`,
        timeText: (atMs) => new Date(atMs).toISOString(),
      });
      yield* history.fold(readEvents(text));
    }
  } finally {
    journal.close();
  }
}
