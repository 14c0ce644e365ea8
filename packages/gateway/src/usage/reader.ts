/**
 * Reads usage files so that every request settles once. The reader keeps a cursor. If it is stored together with the
 * settled rows, settlement is exactly-once: reading again from the same cursor gives the same rows.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import type { UsageRecord } from "./record.ts";
import { segmentsOf } from "./segments.ts";

export interface UsageCursor {
  /** First sequence number and life of the next segment, and how many of its bytes are settled. */
  readonly segment: string;
  readonly offset: number;
  /** Streams that were in progress: settled by their last record once the gateway's life is over. */
  readonly open: Readonly<Record<string, UsageRecord>>;
}

export interface SettledUsage {
  readonly records: readonly UsageRecord[];
  readonly cursor: UsageCursor;
}

export const usageStart: UsageCursor = { segment: "", offset: 0, open: {} };

const READ_BYTES = 1024 * 1024;

/**
 * Everything that can be settled after `cursor`. `isOver`: the gateway will not write to this directory again, so that
 * streams in progress settle by their last record.
 */
export function settleUsage(directory: string, cursor: UsageCursor, isOver = false): SettledUsage {
  const records: UsageRecord[] = [];
  const open = new Map(Object.entries(cursor.open));
  let { segment, offset } = cursor;
  let life = lifeOf(segment);
  const segments = segmentsOf(directory);
  const first = Math.max(
    0,
    segments.findIndex(({ name }) => name === segment),
  );
  for (const { name, life: nextLife } of segments.slice(first)) {
    if (name !== segment) offset = 0;
    // Requests of an ended life get no further record.
    if (nextLife !== life) settleOpen(open, records);
    life = nextLife;
    segment = name;
    offset = readSegment(path.join(directory, name), offset, (record) => {
      open.delete(record.id);
      if (record.outcome === "open") open.set(record.id, record);
      else records.push(record);
    });
  }
  if (isOver) settleOpen(open, records);
  return { records, cursor: { segment, offset, open: Object.fromEntries(open) } };
}

/** Nano-dollars spent by team since `sinceMs`, streams in progress at the end of earlier lives included. */
export function spentSince(directory: string, sinceMs: number): ReadonlyMap<string, number> {
  const spent = new Map<string, number>();
  const open = new Map<string, UsageRecord>();
  const count = ({ team, nanoUsd, atMs }: UsageRecord): void => {
    if (atMs >= sinceMs) spent.set(team, (spent.get(team) ?? 0) + nanoUsd);
  };
  for (const { name } of segmentsOf(directory)) {
    const file = path.join(directory, name);
    if (statSync(file).mtimeMs < sinceMs) continue;
    readSegment(file, 0, (record) => {
      open.delete(record.id);
      if (record.outcome === "open") open.set(record.id, record);
      else count(record);
    });
  }
  for (const record of open.values()) count(record);
  return spent;
}

function settleOpen(open: Map<string, UsageRecord>, records: UsageRecord[]): void {
  for (const record of open.values()) records.push({ ...record, outcome: "aborted" });
  open.clear();
}

function lifeOf(segment: string): number {
  return Number(/-(\d+)\.jsonl$/.exec(segment)?.[1] ?? 0);
}

/** Reads whole lines from `from` on and returns where the last one ended; a line torn by a kill is never read. */
function readSegment(file: string, from: number, onRecord: (record: UsageRecord) => void): number {
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let pending: Buffer = Buffer.alloc(0);
    let settledAt = from;
    for (let at = from; ;) {
      const count = readSync(fd, buffer, 0, READ_BYTES, at);
      if (count === 0) return settledAt;
      at += count;
      pending = Buffer.concat([pending, buffer.subarray(0, count)]);
      let start = 0;
      for (let end = pending.indexOf(10); end >= 0; end = pending.indexOf(10, start)) {
        onRecord(JSON.parse(pending.toString("utf8", start, end)) as UsageRecord);
        start = end + 1;
      }
      settledAt += start;
      pending = pending.subarray(start);
    }
  } finally {
    closeSync(fd);
  }
}
