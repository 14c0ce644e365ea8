/**
 * Snapshots as files: a line of JSON with metadata and hash, then the bytes. A snapshot is written under a temporary
 * name and renamed, so that a file with a final name is always complete. A damaged file is skipped.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { syncPath } from "@headroom/platform";

export interface SnapshotHeader {
  readonly journalId: string;
  readonly sequence: number;
  /** Hash chain at `sequence`. It shows to which journal the snapshot belongs. */
  readonly chain: string;
  /** The engine's digest of the state, so that a restored engine can be checked. */
  readonly digest: string;
}

export interface SnapshotFile extends SnapshotHeader {
  readonly path: string;
  readonly bytes: Uint8Array;
}

const SNAPSHOT_FORMAT = 1;
/** Number of snapshots kept: the newest, and the one before in case the newest is damaged. */
const SNAPSHOTS_KEPT = 2;
const NEWLINE = 10;

const snapshotDirectory = (directory: string): string => path.join(directory, "snapshots");
const NAME = /^(?<sequence>\d+)\.snapshot$/;

/** Writes all of `bytes`, with as many system calls as needed. */
function writeWhole(descriptor: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length;) offset += writeSync(descriptor, bytes, offset);
}

/** Writes a snapshot file and returns its size in bytes. */
export function writeSnapshotFile(directory: string, header: SnapshotHeader, bytes: Uint8Array): number {
  const folder = snapshotDirectory(directory);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = path.join(folder, `${header.sequence}.snapshot`);
  const temporary = `${name}.partial`;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { journalId, sequence, chain, digest } = header;
  const line = JSON.stringify({
    format: SNAPSHOT_FORMAT,
    journalId,
    sequence,
    chain,
    digest,
    bytes: bytes.length,
    sha256,
  });
  const head = Buffer.from(`${line}\n`);
  const descriptor = openSync(temporary, "w", 0o600);
  try {
    writeWhole(descriptor, head);
    writeWhole(descriptor, bytes);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, name);
  syncPath(folder);
  syncPath(directory);
  dropOld(folder);
  return head.length + bytes.length;
}

const isAbsent = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

function sequencesIn(folder: string): number[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
  return names.flatMap((name) => {
    const sequence = NAME.exec(name)?.groups?.["sequence"];
    return sequence === undefined ? [] : [Number(sequence)];
  });
}

/** Sequences of the existing snapshots, newest first. */
export function snapshotSequences(directory: string): number[] {
  return sequencesIn(snapshotDirectory(directory)).toSorted((a, b) => b - a);
}

/** Removes snapshots after `sequence`, so that a journal can continue from there after an accepted loss. */
export function dropSnapshotsAfter(directory: string, sequence: number): void {
  for (const each of snapshotSequences(directory))
    if (each > sequence) rmSync(path.join(snapshotDirectory(directory), `${each}.snapshot`), { force: true });
}

function dropOld(folder: string): void {
  const kept = new Set(
    sequencesIn(folder)
      .toSorted((a, b) => b - a)
      .slice(0, SNAPSHOTS_KEPT)
      .map((sequence) => `${sequence}.snapshot`),
  );
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(path.join(folder, name), { force: true });
}

/**
 * The snapshot at `sequence`, or one sentence with the reason why it cannot be used. A reader on another thread can find
 * the name and then no file, because the writer keeps only the newest snapshots.
 */
export function readSnapshotFile(directory: string, sequence: number): SnapshotFile | string {
  const name = path.join(snapshotDirectory(directory), `${sequence}.snapshot`);
  let file: Buffer;
  try {
    file = readFileSync(name);
  } catch (error) {
    if (isAbsent(error)) return `${name} was removed`;
    throw error;
  }
  const end = file.indexOf(NEWLINE);
  if (end < 0) return `${name} has no header`;
  let header: unknown;
  try {
    header = JSON.parse(file.toString("utf8", 0, end));
  } catch {
    return `${name} has a damaged header`;
  }
  if (!isHeader(header)) return `${name} has a header that this version does not read`;
  const bytes = file.subarray(end + 1);
  if (bytes.length !== header.bytes || createHash("sha256").update(bytes).digest("hex") !== header.sha256) {
    return `${name} is damaged: its bytes differ from those that were written`;
  }
  if (header.sequence !== sequence) return `${name} contains the state at ${header.sequence}`;
  const { journalId, chain, digest } = header;
  return { path: name, journalId, sequence, chain, digest, bytes };
}

function isHeader(value: unknown): value is SnapshotHeader & { readonly bytes: number; readonly sha256: string } {
  if (typeof value !== "object" || value === null) return false;
  const field = (name: string): unknown => (name in value ? (value as Record<string, unknown>)[name] : undefined);
  return (
    field("format") === SNAPSHOT_FORMAT &&
    ["journalId", "chain", "digest", "sha256"].every((name) => typeof field(name) === "string") &&
    ["sequence", "bytes"].every((name) => typeof field(name) === "number")
  );
}
