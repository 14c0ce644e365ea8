/**
 * Makes one snapshot on its own thread: folds the journal, exactly as a restart does, and writes the result. The
 * driver's event loop is not blocked, and each snapshot proves that the journal can be restored.
 */
import { parentPort, workerData } from "node:worker_threads";
import { openForReading } from "./database.ts";
import { toErrorMessage } from "./journal-error.ts";
import { JournalReader } from "./journal-reader.ts";
import { restoreFromJournal } from "./restore.ts";
import { writeSnapshotFile } from "./snapshot-file.ts";
import type { SnapshotAnswer, SnapshotData } from "./snapshot-messages.ts";

function makeSnapshot({ directory, journalId, head }: SnapshotData): SnapshotAnswer {
  const beganMs = performance.now();
  try {
    const database = openForReading(directory);
    const { engine } = restoreFromJournal({ directory, journalId, head, reader: new JournalReader(database) });
    database.close();
    const { sequence, chain } = engine.state;
    const header = { journalId, sequence, chain, digest: engine.digest() };
    const bytes = writeSnapshotFile(directory, header, engine.snapshot());
    return { kind: "written", receipt: { sequence, bytes, elapsedMs: performance.now() - beganMs } };
  } catch (error) {
    return { kind: "failed", error: toErrorMessage(error, "making a snapshot", directory) };
  }
}

parentPort?.postMessage(makeSnapshot(workerData as SnapshotData));
