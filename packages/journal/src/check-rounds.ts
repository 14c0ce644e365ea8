/**
 * Checks that the recorded inputs are unchanged. Only `replay` depends on them. If losing them is permitted, a start
 * drops the damaged rounds and all earlier ones.
 */
import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { OperationalError } from "@headroom/platform";
import { journalError } from "./journal-error.ts";
import type { JournalReader } from "./journal-reader.ts";

/** Number of bytes of the newest inputs that are checked. Reading and hashing them takes about half a second. */
const CHECKED_BYTES_MAX = 256 * 1024 * 1024;

/** Hash over all columns of a round, so that no column can change unnoticed. */
export function roundHash(round: number, atMs: number, firstSequence: number | null, inputs: string): string {
  return hash("sha256", `${round} ${atMs} ${firstSequence ?? "-"} ${inputs}`, "base64url").slice(0, 22);
}

/** Throws `OperationalError` (`journalRoundsDamaged`) if a round is missing or changed. */
export function checkRounds(directory: string, reader: JournalReader, bytesMax = CHECKED_BYTES_MAX): void {
  let before: { readonly round: number; readonly bytes: number } | null = null;
  try {
    for (const { round, atMs, firstSequence, inputs, bytesBefore, hash: written } of reader.roundsOfLast(bytesMax)) {
      if (before !== null && round !== before.round + 1) throw roundsDamaged(directory, before.round + 1, "is missing");
      const isRight = written === null || written === roundHash(round, atMs, firstSequence, inputs);
      const isInPlace = before === null || bytesBefore === before.bytes;
      if (!isRight || !isInPlace) throw roundsDamaged(directory, round, "differs from what was written");
      before = { round, bytes: bytesBefore + Buffer.byteLength(inputs) };
    }
  } catch (error) {
    if (error instanceof OperationalError && error.code !== "journalDamaged") throw error;
    const { code, message } = journalError(error, "reading", directory);
    // The row has a value of the wrong type.
    if (code === "journalDamaged")
      throw roundsDamaged(directory, (before?.round ?? 0) + 1, `cannot be read (${message})`);
    throw error;
  }
}

/**
 * Drops all recorded inputs. New rounds continue the numbering after one round without inputs. Returns the number of
 * dropped rounds.
 */
export function dropRounds(database: DatabaseSync): number {
  const last = database.prepare("SELECT max(round) AS round, max(at_ms) AS atMs FROM rounds").get();
  const [round, atMs] = [Number(last?.["round"] ?? 0) + 1, Math.trunc(Number(last?.["atMs"] ?? 0))];
  database.exec("BEGIN IMMEDIATE");
  const { changes } = database.prepare("DELETE FROM rounds").run();
  database
    .prepare(
      "INSERT INTO rounds (round, at_ms, first_sequence, bytes_before, inputs, hash) VALUES (?, ?, NULL, 0, '[]', ?)",
    )
    .run(round, atMs, roundHash(round, atMs, null, "[]"));
  database.exec("COMMIT");
  return Number(changes);
}

function roundsDamaged(directory: string, round: number, what: string): OperationalError {
  return new OperationalError(
    "journalRoundsDamaged",
    `The recorded inputs in ${directory} are damaged: round ${round} ${what}. Nothing was started. The events, which contain the state, are checked ` +
      `separately; the inputs serve replays. Restore the journal directory from a backup, ` +
      `or start with --accept-journal-loss, which drops the recorded inputs.`,
  );
}
