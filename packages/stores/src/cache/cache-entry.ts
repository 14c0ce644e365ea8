/** One entry of a node's cache on disk: the content and a record beside it. */
import { createHash } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { chmod, lstat, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { contentDigest, OperationalError, syncPath } from "@headroom/platform";
import { z } from "zod";
import { CONTENT } from "../transfers/download.ts";

const entryRecord = z.strictObject({
  uri: z.string(),
  /** `null`: the version has none, so the tags of the store tell whether the bytes are the same. */
  digest: z.string().nullable(),
  bytes: z.int(),
  /** Sizes, times and inodes of the files: they change with every change of the bytes, and cost no reading. */
  fingerprint: z.string(),
  stagedAtMs: z.int(),
  /** Boot of the machine in which the bytes were written, while they may not be on the disk. Absent: they are. */
  unsynced: z.string().optional(),
});

export type EntryRecord = z.output<typeof entryRecord>;

const RECORD = "entry.json";

export const contentOf = (dir: string): string => path.join(dir, CONTENT);

/** Makes the draft read-only and writes its record. Work does not wait until the bytes are on the disk: `syncEntry` follows. */
export async function sealDraft(
  dir: string,
  entry: Omit<EntryRecord, "fingerprint"> & { readonly unsynced: string },
): Promise<EntryRecord> {
  await sealTree(contentOf(dir));
  const record = { ...entry, fingerprint: await fingerprintOf(contentOf(dir)) };
  await rm(path.join(dir, "plan.json"), { force: true });
  await rm(path.join(dir, "parts"), { force: true });
  await writeFile(path.join(dir, RECORD), JSON.stringify(record), { mode: 0o600 });
  return record;
}

/** Writes the bytes of an entry to the disk, and then the record without its mark, unless the entry is gone by then. */
export async function syncEntry(dir: string, isStillThere: () => boolean): Promise<void> {
  await syncTree(contentOf(dir));
  const record = await readEntry(dir);
  if (record === null || !isStillThere()) return;
  const { unsynced: _, ...synced } = record;
  const draft = path.join(dir, `${RECORD}.new`);
  writeFileSync(draft, JSON.stringify(synced), { mode: 0o600, flush: true });
  renameSync(draft, path.join(dir, RECORD));
  syncPath(dir);
}

/**
 * Takes away the record of an entry whose bytes the disk refused. The system reports that once, and a later sync of the same pages
 * succeeds: with the record, the next process of this boot would count the bytes as written.
 */
export function forgetRecord(dir: string): void {
  rmSync(path.join(dir, RECORD), { force: true });
}

/**
 * The record as a process of this boot uses it; `null`: the machine went down before the bytes were on the disk, and nothing tells
 * whether they are those that were read.
 */
export function recordInBoot(record: EntryRecord, bootId: string): EntryRecord | null {
  const { unsynced, ...synced } = record;
  if (unsynced === undefined || unsynced === bootId) return record;
  // Without a fingerprint, the first use compares the digest.
  return record.digest === null ? null : { ...synced, fingerprint: "" };
}

/** The record of an entry; `null`: it is missing or damaged. */
export async function readEntry(dir: string): Promise<EntryRecord | null> {
  try {
    const outcome = entryRecord.safeParse(JSON.parse(await readFile(path.join(dir, RECORD), "utf8")));
    return outcome.success ? outcome.data : null;
  } catch {
    return null;
  }
}

/** The record if the content is still what was staged, else `null`. Without a digest, changed times count as changed bytes. */
export async function intactRecord(dir: string, record: EntryRecord, signal: AbortSignal): Promise<EntryRecord | null> {
  const now = await fingerprintOf(contentOf(dir)).catch(() => null);
  if (now === record.fingerprint) return record;
  if (now === null || record.digest === null) return null;
  // A restored backup has the bytes with other inodes.
  const found = await contentDigest(contentOf(dir), signal).catch(() => null);
  signal.throwIfAborted();
  if (found?.digest !== record.digest) return null;
  const { uri, digest, bytes, stagedAtMs, unsynced } = record;
  const renewed = { uri, digest, bytes, fingerprint: now, stagedAtMs, ...(unsynced === undefined ? {} : { unsynced }) };
  await writeFile(path.join(dir, RECORD), JSON.stringify(renewed), { flush: true, mode: 0o600 });
  return renewed;
}

/** Throws if the bytes of the draft are not those of the version. */
export function checkDigest(found: string, { uri, digest }: { readonly uri: string; readonly digest: string }): void {
  if (found === digest) return;
  throw new OperationalError(
    "wrongDigest",
    `${uri} has other bytes than the version that was registered (${found} instead of ${digest}). Restore them, or register them as a new version.`,
  );
}

async function sealTree(target: string): Promise<void> {
  const stat = await lstat(target);
  if (stat.isDirectory()) for (const name of await readdir(target)) await sealTree(path.join(target, name));
  await chmod(target, stat.isDirectory() ? 0o500 : 0o400);
}

async function syncTree(target: string): Promise<void> {
  const stat = await lstat(target);
  if (stat.isDirectory()) for (const name of await readdir(target)) await syncTree(path.join(target, name));
  const file = await open(target, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function fingerprintOf(target: string): Promise<string> {
  const hash = createHash("sha256");
  await addTree(hash, target, "");
  return hash.digest("hex");
}

async function addTree(hash: ReturnType<typeof createHash>, target: string, name: string): Promise<void> {
  const stat = await lstat(target, { bigint: true });
  const kind = stat.isDirectory() ? "d" : stat.isFile() ? "f" : "other";
  hash.update(`${kind} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.ino} ${JSON.stringify(name)}\n`);
  if (!stat.isDirectory()) return;
  for (const child of (await readdir(target)).toSorted())
    await addTree(hash, path.join(target, child), `${name}/${child}`);
}

/** Bytes that a draft takes of the disk; 0: there is none. */
export async function bytesOnDisk(target: string): Promise<number> {
  const stat = await lstat(target).catch(() => null);
  if (stat?.isDirectory() !== true) return (stat?.blocks ?? 0) * 512;
  let sum = 0;
  for (const name of await readdir(target)) sum += await bytesOnDisk(path.join(target, name));
  return sum;
}

/** Removes an entry or draft, whose directories may be read-only. */
export async function removeTree(dir: string): Promise<void> {
  await openTree(dir).catch(() => {});
  await rm(dir, { recursive: true, force: true });
}

async function openTree(target: string): Promise<void> {
  const stat = await lstat(target);
  if (!stat.isDirectory()) return;
  await chmod(target, 0o700);
  for (const entry of await readdir(target, { withFileTypes: true }))
    if (entry.isDirectory()) await openTree(path.join(target, entry.name));
}
