/** Usage rows of a state directory's journal, whether its control plane runs or not. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { Event } from "@headroom/model";
import type { UsageFold, UsageRow } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";

export interface JournalRows {
  /** Closed rows in the order of the journal, then those that are open at `untilMs`. */
  readonly rows: Iterable<UsageRow>;
  /** The fold; complete when `rows` was read. */
  readonly fold: UsageFold;
  readonly untilMs: number;
}

/**
 * `untilMs`: when the open rows end; by default now if a control plane uses the directory, else the newest event, because
 * nothing is known of the time after it. `observe`: also gets every event, before its rows.
 */
export async function journalRows(
  home: string,
  untilMs: number | undefined,
  observe?: (event: Event) => void,
): Promise<JournalRows> {
  const directory = path.join(home, "journal");
  if (!existsSync(directory))
    throw new CliError(
      `${home} has no journal. Name the state directory with --home DIR or --state DIR.`,
      exitCode.usage,
    );
  const [{ openRecorded, sqliteAddress }, { UsageFold }, { readEvents }] = await Promise.all([
    import("@headroom/journal"),
    import("@headroom/usage"),
    import("@headroom/engine"),
  ]);
  const journal = openRecorded(sqliteAddress(directory));
  const head = journal.head();
  const isRunning = existsSync(path.join(home, "server.json"));
  const endMs = untilMs ?? (isRunning ? Math.max(Date.now(), head.atMs) : head.atMs);
  const fold = new UsageFold();
  function* read(): Generator<UsageRow> {
    try {
      for (const { text } of journal.groups(0, head.sequence)) {
        const events = readEvents(text);
        if (observe !== undefined) for (const event of events) observe(event);
        yield* fold.fold(events);
      }
      yield* fold.openRows(endMs);
    } finally {
      journal.close();
    }
  }
  return { rows: read(), fold, untilMs: endMs };
}
