/** Reads the journal's tables over one connection, synchronously: for recovery and for dedicated reader threads. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { JournalHead, MentionPage, RecordedDigest, RecordedGroup, RecordedRound } from "./ports.ts";
import { damaged } from "./journal-error.ts";
import { hasComparableDigests, hasRoundHashes } from "./schema.ts";

type Row = Record<string, unknown>;

function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw damaged(`a row has ${String(value)} where ${column} is expected`);
}

function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw damaged(`a row has ${String(value)} where ${column} is expected`);
}

function groupOf(row: Row): RecordedGroup {
  return {
    firstSequence: numberOf(row, "first_sequence"),
    count: numberOf(row, "count"),
    atMs: numberOf(row, "at_ms"),
    chain: textOf(row, "chain"),
    text: textOf(row, "text"),
  };
}

function roundOf(row: Row): RecordedRound {
  return {
    round: numberOf(row, "round"),
    atMs: numberOf(row, "at_ms"),
    firstSequence: row["first_sequence"] === null ? null : numberOf(row, "first_sequence"),
    inputs: textOf(row, "inputs"),
  };
}

export interface CheckableRound extends RecordedRound {
  readonly bytesBefore: number;
  /** Hash of the row; `null`: a version without hashes wrote it. */
  readonly hash: string | null;
}

const GROUP_COLUMNS = "first_sequence, count, at_ms, chain, text";

export class JournalReader {
  readonly #database: DatabaseSync;
  readonly #page: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#page = database.prepare(
      `SELECT ${GROUP_COLUMNS} FROM groups WHERE first_sequence >= ? ORDER BY first_sequence LIMIT ?`,
    );
  }

  head(): JournalHead {
    const row = this.#database
      .prepare(`SELECT ${GROUP_COLUMNS} FROM groups ORDER BY first_sequence DESC LIMIT 1`)
      .get();
    if (row === undefined) return { sequence: 0, chain: null, atMs: 0 };
    const group = groupOf(row);
    return { sequence: group.firstSequence + group.count - 1, chain: group.chain, atMs: group.atMs };
  }

  /** Chain hash after event `sequence`; `null`: `sequence` is not the last event of a group. */
  chainAt(sequence: number): string | null {
    const row = this.#database
      .prepare(`SELECT ${GROUP_COLUMNS} FROM groups WHERE first_sequence <= ? ORDER BY first_sequence DESC LIMIT 1`)
      .get(sequence);
    if (row === undefined) return null;
    const group = groupOf(row);
    return group.firstSequence + group.count - 1 === sequence ? group.chain : null;
  }

  /** Groups that begin after `afterSequence` and no later than `lastSequence`. Only one is in memory at a time. */
  *groups(afterSequence: number, lastSequence: number): Generator<RecordedGroup> {
    const statement = this.#database.prepare(
      `SELECT ${GROUP_COLUMNS} FROM groups WHERE first_sequence > ? AND first_sequence <= ? ORDER BY first_sequence`,
    );
    for (const row of statement.iterate(afterSequence, lastSequence)) yield groupOf(row);
  }

  /**
   * Groups from the one that contains `fromSequence` on: at least one if it exists, then as many as fit in `textMax`.
   */
  page(fromSequence: number, textMax: number): RecordedGroup[] {
    const first = this.#database
      .prepare("SELECT max(first_sequence) AS first FROM groups WHERE first_sequence <= ?")
      .get(fromSequence);
    const start = typeof first?.["first"] === "number" ? first["first"] : fromSequence;
    const groups: RecordedGroup[] = [];
    let text = 0;
    for (const row of this.#page.iterate(start, PAGE_GROUPS_MAX)) {
      const group = groupOf(row);
      if (group.firstSequence + group.count <= fromSequence) continue;
      groups.push(group);
      text += group.text.length;
      if (text >= textMax) break;
    }
    return groups;
  }

  /**
   * Groups whose text contains `needle`, from the one that contains `fromSequence` on: at least one, then as many as
   * fit in `textMax`.
   */
  mentions(fromSequence: number, needle: string, textMax: number): MentionPage {
    const statement = this.#database.prepare(
      `SELECT ${GROUP_COLUMNS} FROM groups WHERE first_sequence + count > ? AND instr(text, ?) > 0 ORDER BY first_sequence`,
    );
    const groups: RecordedGroup[] = [];
    let text = 0;
    for (const row of statement.iterate(fromSequence, needle)) {
      const group = groupOf(row);
      groups.push(group);
      text += group.text.length;
      if (text >= textMax) return { groups, nextSequence: group.firstSequence + group.count };
    }
    return { groups, nextSequence: null };
  }

  /** The newest digest recorded at or before `sequence`. */
  digestAtOrBefore(sequence: number): RecordedDigest | null {
    if (!hasComparableDigests(this.#database)) return null;
    const row = this.#database
      .prepare("SELECT sequence, digest FROM digests WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1")
      .get(sequence);
    return row === undefined ? null : { sequence: numberOf(row, "sequence"), digest: textOf(row, "digest") };
  }

  *digests(): Generator<RecordedDigest> {
    if (!hasComparableDigests(this.#database)) return;
    for (const row of this.#database.prepare("SELECT sequence, digest FROM digests ORDER BY sequence").iterate()) {
      yield { sequence: numberOf(row, "sequence"), digest: textOf(row, "digest") };
    }
  }

  /** Rounds from the first one at or after `atMs` on. Their inputs are read only when they are used. */
  *roundsFrom(atMs: number): Generator<RecordedRound> {
    const statement = this.#database.prepare(
      "SELECT round, at_ms, first_sequence, inputs FROM rounds WHERE round >= ? ORDER BY round",
    );
    for (const row of statement.iterate(this.#firstRoundWhere("at_ms", atMs))) yield roundOf(row);
  }

  /** Whether the journal keeps no round before this instant. */
  isFirstKept(atMs: number): boolean {
    const row = this.#database.prepare("SELECT at_ms FROM rounds ORDER BY round LIMIT 1").get();
    return row === undefined || numberOf(row, "at_ms") >= atMs;
  }

  /**
   * The first round with at least this value, found by binary search. This works without reading inputs, because both
   * columns never decrease from round to round.
   */
  #firstRoundWhere(column: "at_ms" | "bytes_before", least: number): number {
    const bounds = this.#database.prepare("SELECT min(round) AS first, max(round) AS last FROM rounds").get();
    if (bounds === undefined || bounds["first"] === null) return 0;
    const at = this.#database.prepare(`SELECT ${column} FROM rounds WHERE round >= ? ORDER BY round LIMIT 1`);
    let low = numberOf(bounds, "first");
    let high = numberOf(bounds, "last") + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (numberOf(at.get(middle) ?? {}, column) < least) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The newest rounds, whose inputs together have slightly more than this number of bytes. */
  *roundsOfLast(bytesMax: number): Generator<CheckableRound> {
    const last = this.#database
      .prepare("SELECT round, bytes_before + octet_length(inputs) AS bytes FROM rounds ORDER BY round DESC LIMIT 1")
      .get();
    if (last === undefined) return;
    const from = numberOf(last, "bytes") - bytesMax;
    const hash = hasRoundHashes(this.#database) ? "hash" : "NULL AS hash";
    const statement = this.#database.prepare(
      `SELECT round, at_ms, first_sequence, bytes_before, inputs, ${hash} FROM rounds WHERE round >= ? ORDER BY round`,
    );
    for (const row of statement.iterate(from <= 0 ? 0 : this.#firstRoundWhere("bytes_before", from))) {
      const written = row["hash"];
      yield {
        ...roundOf(row),
        bytesBefore: numberOf(row, "bytes_before"),
        hash: typeof written === "string" ? written : null,
      };
    }
  }

  *rounds(): Generator<RecordedRound> {
    const statement = this.#database.prepare("SELECT round, at_ms, first_sequence, inputs FROM rounds ORDER BY round");
    for (const row of statement.iterate()) yield roundOf(row);
  }
}

/**
 * Maximum number of groups of a page, in addition to the limit on text. Without it, groups of one small event each
 * would make a page of many thousands.
 */
const PAGE_GROUPS_MAX = 2_000;
