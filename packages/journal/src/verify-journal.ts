/**
 * Verifies a journal that is not in use: the whole chain from the first event, every recorded digest and every
 * snapshot. It also checks that the recorded inputs give the same groups in a fresh engine.
 */
import { createEngine, readInputs } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { checkRounds } from "./check-rounds.ts";
import { openForReading, databasePath } from "./database.ts";
import type { RecordedGroup } from "./ports.ts";
import { JournalReader } from "./journal-reader.ts";
import { digestMismatch, foldTo, restoreFromJournal } from "./restore.ts";
import { journalIdOf } from "./schema.ts";
import { OperationalError } from "@headroom/platform";

export interface Verified {
  readonly journalId: string;
  readonly sequence: number;
  readonly chain: string;
  readonly digestCount: number;
  /** The engine at the end of the journal, folded from the first event. */
  readonly engine: Engine;
}

/** Folds from the first event on, without snapshots, and compares every digest on the way. Throws on a difference. */
export function verifyJournal(directory: string): Verified {
  const database = openForReading(directory);
  try {
    const journalId = journalIdOf(database, databasePath(directory));
    const reader = new JournalReader(database);
    checkRounds(directory, reader, Number.POSITIVE_INFINITY);
    const source = { directory, journalId, reader, head: reader.head() };
    const engine = createEngine();
    let digestCount = 0;
    for (const { sequence, digest } of reader.digests()) {
      foldTo(source, engine, sequence);
      if (engine.digest() !== digest) throw digestMismatch(directory, sequence);
      digestCount++;
    }
    foldTo(source, engine, source.head.sequence);
    const restored = restoreFromJournal(source);
    if (restored.engine.digest() !== engine.digest()) throw digestMismatch(directory, source.head.sequence);
    return { journalId, sequence: engine.state.sequence, chain: engine.state.chain, digestCount, engine };
  } finally {
    database.close();
  }
}

export interface Redecided {
  readonly roundCount: number;
  readonly groupCount: number;
  readonly sequence: number;
  readonly chain: string;
}

/**
 * Feeds the recorded inputs, round by round, to a fresh engine, as the simulator's driver does, and compares each group
 * with the recorded one byte by byte. All inputs from the first round on must be present.
 */
export function redecideJournal(directory: string): Redecided {
  const database = openForReading(directory);
  try {
    const reader = new JournalReader(database);
    const head = reader.head();
    const groups = reader.groups(0, head.sequence);
    const engine = createEngine();
    let roundCount = 0;
    let groupCount = 0;
    for (const { round, atMs, inputs } of reader.rounds()) {
      roundCount++;
      if (round !== roundCount)
        throw new OperationalError("roundsCut", `The inputs begin at round ${round}; older ones were removed.`);
      const ready = engine.receive(readInputs(inputs), atMs);
      engine.advance();
      if (ready.group === null) continue;
      groupCount++;
      const recorded = groups.next();
      compareGroups(ready.group, recorded.done === true ? null : recorded.value, round);
    }
    const left = groups.next();
    if (left.done !== true) throw differs(left.value.firstSequence, "no inputs are recorded for this group");
    return { roundCount, groupCount, sequence: engine.state.sequence, chain: engine.state.chain };
  } finally {
    database.close();
  }
}

function compareGroups(decided: Omit<RecordedGroup, "atMs">, recorded: RecordedGroup | null, round: number): void {
  if (recorded === null) throw differs(decided.firstSequence, `round ${round} decided a group that is not recorded`);
  if (
    decided.firstSequence !== recorded.firstSequence ||
    decided.text !== recorded.text ||
    decided.chain !== recorded.chain
  ) {
    throw differs(recorded.firstSequence, `round ${round} decided ${decided.text}, but ${recorded.text} is recorded`);
  }
}

function differs(sequence: number, detail: string): OperationalError {
  return new OperationalError("decisionsDiffer", `At event ${sequence} the decisions differ: ${detail}`);
}
