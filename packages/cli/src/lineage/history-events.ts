/** The journal of a state directory as OpenLineage events, whether its control plane runs or not. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { RunEvent } from "@headroom/lineage";
import type { JournalGroup, ReadonlyState } from "@headroom/engine";
import type { Event } from "@headroom/model";
import { version } from "../version.ts";

const journalOf = (home: string): string => path.join(home, "journal");

export const hasJournal = (home: string): boolean => existsSync(journalOf(home));

export const DEFAULT_NAMESPACE = "headroom";

/** Folds the journal of a state directory. `look`: gets each group with the state after it; the replay ends when it answers false. */
export async function replayJournal(
  home: string,
  look: (events: readonly Event[], after: ReadonlyState) => boolean,
): Promise<void> {
  const [{ openRecorded, sqliteAddress }, { createEngine, readEvents, replayEngine }] = await Promise.all([
    import("@headroom/journal"),
    import("@headroom/engine"),
  ]);
  const journal = openRecorded(sqliteAddress(journalOf(home)));
  const engine = createEngine();
  // Asked before the replay: an engine that is asked between two groups ends the chain of what it folds.
  const { state } = engine;
  function* groups(): Generator<JournalGroup> {
    for (const group of journal.groups(0, journal.head().sequence)) {
      yield group;
      if (!look(readEvents(group.text), state)) return;
    }
  }
  try {
    replayEngine(engine, groups());
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
