/** One entry of a node's cache on disk: the content and a record beside it. */
import { createHash } from "node:crypto";
import { constants, renameSync, writeFileSync } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { contentDigest, OperationalError, syncPath } from "@headroom/platform";
import type { HeldDirectory } from "@headroom/platform";
import { z } from "zod";
import { CONTENT } from "../transfers/download.ts";
import { readSmall } from "./unless-foreign.ts";

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

/** Names in an entry or draft, and how deep they are. Transfers make fewer; jobs of this user can add more in a shared directory. */
const NAMES_MAX = 400_000;
const DEPTH_MAX = 100;
const { O_RDONLY } = constants;
const RECORD = "entry.json";

export const contentOf = (dir: string): string => path.join(dir, CONTENT);

/** Makes the draft read-only and writes its record. Work does not wait until the bytes are on the disk: `syncEntry` follows. */
export async function sealDraft(
  dir: HeldDirectory,
  entry: Omit<EntryRecord, "fingerprint"> & { readonly unsynced: string },
): Promise<EntryRecord> {
  await sealTree(dir, CONTENT);
  const record = { ...entry, fingerprint: await fingerprintOf(contentOf(dir.path)) };
  await dir.remove("plan.json");
  await dir.remove("parts");
  await dir.write(RECORD, JSON.stringify(record));
  return record;
}

/** Writes the bytes of an entry to the disk, and then the record without its mark, unless the entry is gone by then. */
export async function syncEntry(dir: HeldDirectory, isStillThere: () => boolean): Promise<void> {
  await syncTree(dir, CONTENT);
  const record = await readEntry(dir).catch(() => null);
  await dir.remove(`${RECORD}.new`);
  if (record === null || !isStillThere()) return;
  const { unsynced: _, ...synced } = record;
  const draft = dir.at(`${RECORD}.new`);
  writeFileSync(draft, JSON.stringify(synced), { mode: 0o600, flush: true, flag: "wx" });
  renameSync(draft, dir.at(RECORD));
  syncPath(dir.path);
}

/**
 * Takes away the record of an entry whose bytes the disk refused. The system reports that once, and a later sync of the same pages
 * succeeds: with the record, the next process of this boot would count the bytes as written.
 */
export function forgetRecord(dir: HeldDirectory): Promise<void> {
  return dir.remove(RECORD);
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
export async function readEntry(dir: HeldDirectory): Promise<EntryRecord | null> {
  const text = await readSmall(dir, RECORD);
  if (text === null) return null;
  try {
    const outcome = entryRecord.safeParse(JSON.parse(text));
    return outcome.success ? outcome.data : null;
  } catch {
    return null;
  }
}

/** The record if the content is still what was staged, else `null`. Without a digest, changed times count as changed bytes. */
export async function intactRecord(
  dir: HeldDirectory,
  record: EntryRecord,
  signal: AbortSignal,
): Promise<EntryRecord | null> {
  const now = await fingerprintOf(contentOf(dir.path)).catch(() => null);
  if (now === record.fingerprint) return record;
  if (now === null || record.digest === null) return null;
  // A restored backup has the bytes with other inodes.
  const found = await contentDigest(contentOf(dir.path), signal).catch(() => null);
  signal.throwIfAborted();
  if (found?.digest !== record.digest) return null;
  const { uri, digest, bytes, stagedAtMs, unsynced } = record;
  const renewed = { uri, digest, bytes, fingerprint: now, stagedAtMs, ...(unsynced === undefined ? {} : { unsynced }) };
  await dir.write(RECORD, JSON.stringify(renewed), { flush: true });
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

/** Nothing is changed through a link: jobs of the same user may exchange names meanwhile. */
async function sealTree(folder: HeldDirectory, name: string): Promise<void> {
  await walk(folder, name, {
    file: (file) => file.chmod(0o400),
    directory: (directory) => directory.chmod(0o500),
  });
}

async function syncTree(folder: HeldDirectory, name: string): Promise<void> {
  await walk(folder, name, {
    file: (file) => file.sync(),
    directory: (directory) => Promise.resolve(syncPath(directory.path)),
  });
}

interface TreeWork {
  readonly file: (file: FileHandle) => Promise<void>;
  /** Called after all that is in it. */
  readonly directory: (directory: HeldDirectory) => Promise<void>;
}

async function walk(folder: HeldDirectory, name: string, work: TreeWork): Promise<void> {
  const directory = await folder.childOrNull(name);
  if (directory === null) {
    const file = await folder.openFile(name, O_RDONLY);
    try {
      await work.file(file);
    } finally {
      await file.close();
    }
    return;
  }
  try {
    for (const each of await directory.names(NAMES_MAX)) await walk(directory, each, work);
    await work.directory(directory);
  } finally {
    await directory.close();
  }
}

async function fingerprintOf(target: string): Promise<string> {
  const hash = createHash("sha256");
  await addTree(hash, target, { name: "", depth: 0, left: { names: NAMES_MAX } });
  return hash.digest("hex");
}

interface Within {
  readonly name: string;
  readonly depth: number;
  /** Names that may still be read of the whole tree. */
  readonly left: { names: number };
}

async function addTree(hash: ReturnType<typeof createHash>, target: string, within: Within): Promise<void> {
  const stat = await lstat(target, { bigint: true });
  const kind = stat.isDirectory() ? "d" : stat.isFile() ? "f" : "other";
  const { size, mtimeNs, ctimeNs, ino } = stat;
  hash.update(`${kind} ${size} ${mtimeNs} ${ctimeNs} ${ino} ${JSON.stringify(within.name)}\n`);
  if (!stat.isDirectory()) return;
  for (const child of (await namesIn(target, within)).toSorted())
    await addTree(hash, path.join(target, child), {
      ...within,
      name: `${within.name}/${child}`,
      depth: within.depth + 1,
    });
}

/** Throws if the tree is larger than content can be. */
async function namesIn(target: string, { depth, left }: Pick<Within, "depth" | "left">): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(target, { bufferSize: 1_000 })) {
    if (depth >= DEPTH_MAX || left.names-- <= 0) throw new Error(`${target} is in a tree of too many files`);
    names.push(name);
  }
  return names;
}

/** Bytes that a draft takes of the disk; 0: there is none; `null`: it is larger than a draft can be. */
export async function bytesOnDisk(target: string, namesMax = NAMES_MAX): Promise<number | null> {
  const left = { names: namesMax };
  const add = async (at: string, depth: number): Promise<number> => {
    const stat = await lstat(at).catch(() => null);
    if (stat?.isDirectory() !== true) return (stat?.blocks ?? 0) * 512;
    let sum = 0;
    for (const name of await namesIn(at, { depth, left })) sum += await add(path.join(at, name), depth + 1);
    return sum;
  };
  return add(target, 0).catch(() => null);
}
