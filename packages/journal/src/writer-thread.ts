/**
 * The only thread that writes the journal. It handles one append at a time: one transaction, one sync, one answer.
 * Checkpoints and the removal of old inputs come after the answer.
 */
import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { roundHash } from "./check-rounds.ts";
import { databasePath, openForWriting } from "./database.ts";
import { WitnessWriter } from "./head-witness.ts";
import { JournalFiles } from "./journal-files.ts";
import type { Append } from "./ports.ts";
import { journalError, toErrorMessage } from "./journal-error.ts";
import { OperationalError } from "@headroom/platform";
import { JournalReader } from "./journal-reader.ts";
import type { WriterAnswer, WriterData, WriterRequest } from "./writer-messages.ts";

/** Number of rows of recorded inputs removed at a time, so few that the removal takes milliseconds. */
const ROUNDS_CUT_COUNT = 512;

interface Statements {
  readonly begin: StatementSync;
  readonly commit: StatementSync;
  readonly rollback: StatementSync;
  readonly group: StatementSync;
  readonly round: StatementSync;
  readonly digest: StatementSync;
  readonly epoch: StatementSync;
}

function prepareStatements(database: DatabaseSync): Statements {
  return {
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    group: database.prepare("INSERT INTO groups (first_sequence, count, at_ms, chain, text) VALUES (?, ?, ?, ?, ?)"),
    round: database.prepare(
      "INSERT INTO rounds (round, at_ms, first_sequence, bytes_before, inputs, hash) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    digest: database.prepare("INSERT OR REPLACE INTO digests (sequence, digest) VALUES (?, ?)"),
    epoch: database.prepare("SELECT value FROM meta WHERE key = 'epoch'"),
  };
}

class Writer {
  readonly #data: WriterData;
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  readonly #witness: WitnessWriter;
  readonly #files: JournalFiles;
  #sequence: number;
  #lastRound = 0;
  #roundsBytesTotal = 0;
  #bytesSinceCheckpoint = 0;

  constructor(data: WriterData) {
    this.#data = data;
    this.#database = openForWriting(data.options.directory, data.options.synchronous);
    this.#files = new JournalFiles(data.options.directory);
    this.#statements = prepareStatements(this.#database);
    const head = new JournalReader(this.#database).head();
    if (head.sequence !== data.head.sequence || head.chain !== data.head.chain) {
      throw new OperationalError(
        "journalInUse",
        `Another process wrote to the journal in ${data.options.directory} while it was being opened.`,
      );
    }
    this.#sequence = head.sequence;
    this.#witness = new WitnessWriter(data.options.directory, data.journalId);
    this.#witness.write(head);
    const last = this.#database
      .prepare("SELECT round, bytes_before + octet_length(inputs) AS bytes FROM rounds ORDER BY round DESC LIMIT 1")
      .get();
    if (last !== undefined) {
      this.#lastRound = Number(last["round"]);
      this.#roundsBytesTotal = Number(last["bytes"]);
    }
  }

  append(append: Append): void {
    const { begin, commit, rollback } = this.#statements;
    this.#files.check();
    begin.run();
    try {
      this.#insert(append);
      commit.run();
      // A file that was removed during the commit took the append with it, so the append is not acknowledged.
      this.#files.check();
      if (append.group !== null) this.#witness.write({ sequence: this.#sequence, chain: append.group.chain });
    } catch (error) {
      if (this.#database.isTransaction) rollback.run();
      throw error;
    }
  }

  #insert({ epoch, rounds, group, digest }: Append): void {
    this.#refuseOldEpoch(epoch);
    for (const { atMs, firstSequence, inputs } of rounds) {
      this.#lastRound++;
      const hash = roundHash(this.#lastRound, atMs, firstSequence, inputs);
      this.#statements.round.run(this.#lastRound, atMs, firstSequence, this.#roundsBytesTotal, inputs, hash);
      const bytes = Buffer.byteLength(inputs);
      this.#roundsBytesTotal += bytes;
      this.#bytesSinceCheckpoint += bytes;
    }
    if (group !== null) {
      const { firstSequence, count, atMs, chain, text } = group;
      if (firstSequence !== this.#sequence + 1) {
        throw new OperationalError(
          "journalSequence",
          `The next group of the journal begins at ${this.#sequence + 1}, not at ${firstSequence}.`,
        );
      }
      this.#statements.group.run(firstSequence, count, atMs, chain, text);
      this.#sequence += count;
      this.#bytesSinceCheckpoint += text.length;
    }
    if (digest !== null) this.#statements.digest.run(digest.sequence, digest.digest);
  }

  /**
   * Checks the epoch inside the append's transaction, so that no other control plane can take over between check and
   * commit.
   */
  #refuseOldEpoch(epoch: number): void {
    const current = Number(this.#statements.epoch.get()?.["value"] ?? 0);
    if (epoch === current) return;
    throw new OperationalError(
      "journalEpochOld",
      `Another control plane has taken over the journal in ${this.#data.options.directory} (epoch ${current}; this one has ${epoch}). ` +
        `Nothing of this append was recorded. Use the other one.`,
    );
  }

  /** Work that is done after the answer: checkpoints and removal of old inputs. */
  tidy(): void {
    const { options } = this.#data;
    if (this.#bytesSinceCheckpoint < options.checkpointBytes) return;
    this.#bytesSinceCheckpoint = 0;
    this.#cutRounds(options.roundsBytesMax);
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  }

  #cutRounds(bytesMax: number): void {
    const oldest = this.#database.prepare("SELECT bytes_before AS bytes FROM rounds ORDER BY round LIMIT 1");
    const cut = this.#database.prepare(
      "DELETE FROM rounds WHERE round IN (SELECT round FROM rounds ORDER BY round LIMIT ?) AND bytes_before + ? < ?",
    );
    for (;;) {
      const kept = this.#roundsBytesTotal - Number(oldest.get()?.["bytes"] ?? this.#roundsBytesTotal);
      if (kept <= bytesMax) return;
      if (Number(cut.run(ROUNDS_CUT_COUNT, bytesMax, this.#roundsBytesTotal).changes) === 0) return;
    }
  }

  journalBytes(): number {
    const { directory } = this.#data.options;
    const wal = statSync(`${databasePath(directory)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return wal + (statSync(databasePath(directory), { throwIfNoEntry: false })?.size ?? 0);
  }

  close(): void {
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database.close();
    this.#witness.close();
  }
}

function say(answer: WriterAnswer): void {
  parentPort?.postMessage(answer);
}

function serve(data: WriterData): void {
  const { directory } = data.options;
  let writer: Writer;
  try {
    writer = new Writer(data);
  } catch (error) {
    say({ kind: "failed", error: toErrorMessage(error, "opening the journal", directory) });
    return;
  }
  /**
   * Failure of work after an answer. No request is open at that time, so the failure becomes the answer to the next
   * append.
   */
  let failure: OperationalError | undefined;
  parentPort?.on("message", (request: WriterRequest) => {
    try {
      if (request.kind === "close") {
        writer.close();
        say({ kind: "closed" });
        parentPort?.close();
        return;
      }
      if (failure !== undefined) throw failure;
      const beganMs = performance.now();
      writer.append(request.append);
      const syncMs = performance.now() - beganMs;
      say({ kind: "appended", receipt: { syncMs, journalBytes: writer.journalBytes() } });
    } catch (error) {
      say({ kind: "failed", error: toErrorMessage(error, "writing", directory) });
      parentPort?.close();
      return;
    }
    try {
      writer.tidy();
    } catch (error) {
      failure = journalError(error, "writing", directory);
    }
  });
  say({ kind: "ready" });
}

serve(workerData as WriterData);
