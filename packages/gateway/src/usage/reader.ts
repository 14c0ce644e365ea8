/**
 * Reads usage files so that every request settles once. The reader keeps a cursor. If the cursor is stored together
 * with the settled rows, each row settles exactly once, because reading again from the same cursor gives the same rows.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import type { UsageRecord } from "./record.ts";
import { segmentsOf } from "./segments.ts";

export interface UsageCursor {
  /**
   * The next segment, identified by the first sequence number and the process number in its name. The next field states
   * how many of its bytes are settled.
   */
  readonly segment: string;
  readonly offset: number;
  /**
   * Sequence number of the last record that was read. `missingCount` states how many earlier numbers never appeared.
   */
  readonly seq: number;
  readonly missingCount: number;
  /** Streams in progress. When their gateway process has ended, their last record is settled. */
  readonly open: Readonly<Record<string, UsageRecord>>;
}

export interface SettledUsage {
  readonly records: readonly UsageRecord[];
  readonly cursor: UsageCursor;
  /** False if reading ended because of `recordsMax`, so that there are more records. */
  readonly isComplete: boolean;
}

export interface SettleOptions {
  /**
   * Whether the gateway will never write to this directory again. Streams in progress are then settled by their last
   * record.
   */
  readonly isOver?: boolean;
  /** Limits memory: reading ends after the block in which this number of records was reached. */
  readonly recordsMax?: number;
}

export const usageStart: UsageCursor = { segment: "", offset: 0, seq: 0, missingCount: 0, open: {} };

const READ_BYTES = 1024 * 1024;

/** All records after `cursor` that can be settled. Throws if the files do not match the cursor. */
export function settleUsage(directory: string, cursor: UsageCursor, options: SettleOptions = {}): SettledUsage {
  const { isOver = false, recordsMax = Number.POSITIVE_INFINITY } = options;
  const records: UsageRecord[] = [];
  const open = new Map(Object.entries(cursor.open));
  let { segment, offset, seq, missingCount } = cursor;
  let life = lifeOf(segment);
  const segments = segmentsOf(directory);
  const first = Math.max(
    0,
    segments.findIndex(({ name }) => name === segment),
  );
  for (const { name, firstSeq, life: nextLife } of segments.slice(first)) {
    if (name !== segment) offset = 0;
    if (nextLife < life) throw new Error(replaced(directory, nextLife, life));
    if (nextLife > life) {
      // No further record comes for requests of a process that has ended. A power failure may have lost records that
      // are already settled; the next process then uses their sequence numbers again, with other ids.
      settleOpen(open, records);
      seq = Math.min(seq, firstSeq - 1);
    }
    life = nextLife;
    segment = name;
    if (statSync(path.join(directory, name)).size < offset) {
      if (segments.some((later) => later.life > nextLife)) continue;
      throw new Error(
        `${name} in ${directory} is shorter than the part of it that is settled. Restore it, or start a new ledger.`,
      );
    }
    const goesOn = (): boolean => records.length < recordsMax;
    const read = readSegment(path.join(directory, name), { from: offset, goesOn }, (record) => {
      if (record.seq <= seq) throw new Error(replaced(directory, life, life));
      missingCount += record.seq - seq - 1;
      seq = record.seq;
      open.delete(record.id);
      if (record.outcome === "open") open.set(record.id, record);
      else records.push(record);
    });
    offset = read.settledAt;
    if (!read.isComplete) {
      return {
        records,
        cursor: { segment, offset, seq, missingCount, open: Object.fromEntries(open) },
        isComplete: false,
      };
    }
  }
  if (isOver) settleOpen(open, records);
  return { records, cursor: { segment, offset, seq, missingCount, open: Object.fromEntries(open) }, isComplete: true };
}

function replaced(directory: string, life: number, settledLife: number): string {
  return (
    `${directory} holds life ${life} of a gateway, but another life ${settledLife} is settled: its state was replaced. ` +
    "Give the new gateway another id, or start a new ledger."
  );
}

/**
 * Nano-dollars that each team, or another subject of a record, has spent since a time. Streams that were in progress when an earlier process of the
 * gateway ended are included. The files are read block by block, so that a gateway can serve requests in between.
 */
export class SpendingReader {
  readonly #directory: string;
  readonly #sinceMs: number;
  readonly #subjectOf: (record: UsageRecord) => string | undefined;
  #segment = "";
  #offset = 0;
  readonly #spent = new Map<string, number>();
  readonly #open = new Map<string, UsageRecord>();

  /** Records of which `subjectOf` is undefined do not count. */
  constructor(
    directory: string,
    sinceMs: number,
    subjectOf: (record: UsageRecord) => string | undefined = ({ team }) => team,
  ) {
    this.#subjectOf = subjectOf;
    this.#directory = directory;
    this.#sinceMs = sinceMs;
  }

  /** Reads a block. Returns false if all records are read; the next call then reads those that were written since. */
  readBlock(): boolean {
    const segments = segmentsOf(this.#directory);
    let at = segments.findIndex(({ name }) => name === this.#segment);
    for (;;) {
      if (at >= 0 && this.#readSome(segments[at]!.name)) return true;
      if (at === segments.length - 1) return false;
      at++;
      this.#segment = segments[at]!.name;
      this.#offset = 0;
    }
  }

  spent(): ReadonlyMap<string, number> {
    const spent = new Map(this.#spent);
    for (const record of this.#open.values()) this.#count(record, spent);
    return spent;
  }

  /** Reads a block of the segment. Returns false at its end. */
  #readSome(name: string): boolean {
    const file = path.join(this.#directory, name);
    const written = statSync(file, { throwIfNoEntry: false });
    if (written === undefined || written.mtimeMs < this.#sinceMs) return false;
    const read = readSegment(file, { from: this.#offset, goesOn: () => false }, (record) => {
      this.#open.delete(record.id);
      if (record.outcome === "open") this.#open.set(record.id, record);
      else this.#count(record, this.#spent);
    });
    const hasAdvanced = read.settledAt > this.#offset;
    this.#offset = read.settledAt;
    // Without an advance, there is only a line that is not whole yet.
    return hasAdvanced;
  }

  #count(record: UsageRecord, spent: Map<string, number>): void {
    const subject = this.#subjectOf(record);
    if (record.atMs < this.#sinceMs || subject === undefined) return;
    spent.set(subject, (spent.get(subject) ?? 0) + record.nanoUsd);
  }
}

function settleOpen(open: Map<string, UsageRecord>, records: UsageRecord[]): void {
  for (const record of open.values()) records.push({ ...record, outcome: "aborted" });
  open.clear();
}

function lifeOf(segment: string): number {
  return Number(/-(\d+)\.jsonl$/.exec(segment)?.[1] ?? 0);
}

/**
 * Reads whole lines starting at `from` and returns where the last one ended. A line that a kill cut off is never read.
 */
function readSegment(
  file: string,
  range: { readonly from: number; goesOn(): boolean },
  onRecord: (record: UsageRecord) => void,
): { readonly settledAt: number; readonly isComplete: boolean } {
  const { from } = range;
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let pending: Buffer = Buffer.alloc(0);
    let settledAt = from;
    for (let at = from; ;) {
      const count = readSync(fd, buffer, 0, READ_BYTES, at);
      if (count === 0) return { settledAt, isComplete: true };
      at += count;
      pending = Buffer.concat([pending, buffer.subarray(0, count)]);
      let start = 0;
      for (let end = pending.indexOf(10); end >= 0; end = pending.indexOf(10, start)) {
        onRecord(recordOf(pending.toString("utf8", start, end), file));
        start = end + 1;
      }
      settledAt += start;
      pending = pending.subarray(start);
      if (!range.goesOn()) return { settledAt, isComplete: false };
    }
  } finally {
    closeSync(fd);
  }
}

function recordOf(line: string, file: string): UsageRecord {
  try {
    return JSON.parse(line) as UsageRecord;
  } catch {
    throw new Error(`${file} has a line that is no usage record: ${line.slice(0, 80)}`);
  }
}
