/** What the journal keeps of a period, as the simulator wants it: the state at its beginning, the inputs from outside, the events. */
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine, Input } from "@headroom/engine";
import { outsideInputs } from "@headroom/sim";
import type { OutsideInput, RecordedWindow } from "@headroom/sim";
import { openForReading, databasePath } from "../journal/database.ts";
import type { JournalHead } from "../journal/journal.ts";
import { JournalReader } from "../journal/journal-reader.ts";
import { foldTo } from "../journal/restore.ts";
import { prepareSchema } from "../journal/schema.ts";
import { readSnapshotFile, snapshotSequences } from "../journal/snapshot-file.ts";

/** Points of a chart across a page. */
const SAMPLES = 96;

/** `null`: nothing is recorded of that time. The period begins with the first round that is kept, where that is later. */
export function readWindow(
  directory: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): RecordedWindow | null {
  const database = openForReading(directory);
  try {
    const journalId = prepareSchema(database, databasePath(directory), 0);
    const reader = new JournalReader(database);
    const inputs: OutsideInput[] = [];
    let beginsAtMs: number | null = null;
    let firstSequence: number | null = null;
    for (const round of reader.roundsFrom(fromMs)) {
      if (round.atMs > toMs) break;
      beginsAtMs ??= round.atMs;
      firstSequence ??= round.firstSequence;
      const { atMs } = round;
      for (const each of outsideInputs({ atMs, inputs: JSON.parse(round.inputs) as Input[] })) inputs.push(each);
    }
    if (beginsAtMs === null || firstSequence === null) return null;
    const head = reader.head();
    const engine = engineAt({ directory, journalId, reader, head }, firstSequence - 1);
    const groups = [...reader.groups(firstSequence - 1, head.sequence)].filter(({ atMs }) => atMs <= toMs);
    // Nothing happened between what was asked for and the first round, unless that is the first of all that is kept.
    const startsAtMs = Math.max(engine.state.nowMs, reader.isFirstKept(beginsAtMs) ? beginsAtMs : fromMs);
    return {
      snapshot: engine.snapshot(),
      groups,
      inputs,
      fromMs: startsAtMs,
      toMs,
      stepMs: Math.max(1, Math.ceil((toMs - startsAtMs) / SAMPLES)),
    };
  } finally {
    database.close();
  }
}

interface Source {
  readonly directory: string;
  readonly journalId: string;
  readonly reader: JournalReader;
  readonly head: JournalHead;
}

/** From the newest snapshot that does not lie behind, else from the first event. */
function engineAt(source: Source, sequence: number): Engine {
  const { directory, journalId, reader } = source;
  let engine = createEngine();
  for (const at of snapshotSequences(directory)) {
    const snapshot = at > sequence ? "behind" : readSnapshotFile(directory, at);
    if (typeof snapshot === "string" || snapshot.journalId !== journalId) continue;
    const restored = restoreEngine(snapshot.bytes);
    if (reader.chainAt(at) !== snapshot.chain || restored.digest() !== snapshot.digest) continue;
    engine = restored;
    break;
  }
  if (engine.state.sequence < sequence) foldTo(source, engine, sequence);
  return engine;
}
