/** Writes recorded groups, one JSON line each, into the journal of a state directory. */
import path from "node:path";
import type { RecordedGroup } from "@headroom/journal";

export async function writeJournal(home: string, lines: readonly string[]): Promise<void> {
  const { sqliteJournal } = await import("@headroom/journal");
  const { journal } = await sqliteJournal(path.join(home, "journal"))(0);
  for (const line of lines) {
    const { firstSequence, count, text, chain } = JSON.parse(line) as Omit<RecordedGroup, "atMs">;
    const [{ atMs } = { atMs: 0 }] = JSON.parse(text) as readonly { readonly atMs: number }[];
    const group = { firstSequence, count, text, chain, atMs };
    await journal.append({ epoch: journal.leadership.epoch, rounds: [], group, digest: null });
  }
  await journal.close();
}
