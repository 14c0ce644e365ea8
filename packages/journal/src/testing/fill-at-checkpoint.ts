/**
 * `node fill-at-checkpoint.ts DIRECTORY`: appends until folding the write-ahead log into the database fails, and prints
 * the result of each append. The directory must be on a disk with space for the log of one append, but not for log and
 * database.
 */
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sqliteJournal } from "../sqlite-journal.ts";

/**
 * Pause in ms between appends. It is long enough for the checkpoint to fail first, because only then is no request
 * open.
 */
const PAUSE_MS = 300;
const TEXT_BYTES = 3 * 1024 * 1024;
const [directory = ""] = process.argv.slice(2);
const { journal } = await sqliteJournal(directory, { checkpointBytes: 1 })(0);
for (let sequence = 1; sequence <= 2; sequence++) {
  const group = { firstSequence: sequence, count: 1, atMs: 0, chain: "", text: "x".repeat(TEXT_BYTES) };
  const appended = journal.append({ epoch: journal.leadership.epoch, rounds: [], group, digest: null });
  const outcome = await appended.then(
    () => "appended",
    (error: Error & { readonly code?: string }) => `${error.code} ${error.message}`,
  );
  writeSync(1, `${outcome}\n`);
  await delay(PAUSE_MS);
}
process.exit(0);
