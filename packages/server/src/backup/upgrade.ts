/**
 * Takes a state directory over to this version: a backup first, then the journal is opened, which checks it and migrates
 * its format. The backup is the way back, because an earlier version refuses a journal of a newer format.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { describeJournal, lockJournal, sqliteJournal } from "@headroom/journal";
import { OperationalError } from "@headroom/platform";
import { backUp, OWN_BACKUPS, type Manifest } from "./backup.ts";

export interface Upgraded {
  readonly backup: string;
  readonly before: Manifest["journal"];
  readonly after: Manifest["journal"];
  readonly warnings: readonly string[];
}

export async function upgrade(home: string, version: string): Promise<Upgraded> {
  const directory = path.join(home, "journal");
  if (!existsSync(directory))
    throw new OperationalError("nothingToUpgrade", `${home} has no journal, so there is nothing to upgrade.`);
  // Refuses while a control plane runs. Opening the journal below takes the lock again.
  lockJournal(directory, Date.now()).release();
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const backup = path.join(home, OWN_BACKUPS, `before-upgrade-${stamp}`);
  const { journal: before } = await backUp(home, backup, version);
  const opened = await sqliteJournal(directory)(Date.now());
  await opened.journal.close();
  return { backup, before, after: describeJournal(directory), warnings: opened.warnings };
}
