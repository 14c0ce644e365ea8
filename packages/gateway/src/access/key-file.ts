/**
 * The file of keys beside gateway.yaml. It is replaced as a whole, is readable by its owner alone, and is changed by one
 * process at a time: a lock beside it orders the commands and gateways that use it.
 */
import { closeSync, fsyncSync, fstatSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lockDirectory, makeDirectory, syncPath, type DirectoryLock } from "@headroom/platform";
import { z } from "zod";
import { STORED_KEYS_MAX, storedKeySchema, type KeyChange, type StoredKey } from "./stored-keys.ts";

const fileSchema = z.strictObject({ version: z.literal(1), keys: z.array(storedKeySchema).max(STORED_KEYS_MAX) });

/** A file of the maximum number of keys, each with a few models, is smaller. */
const BYTES_MAX = 64 * 1024 * 1024;
const LOCK_TRIES = 100;
const LOCK_RETRY_MS = 50;

/** The stored keys. A missing file has none. Throws if the file is damaged, or open to other users. */
export function readKeyFile(file: string): readonly StoredKey[] {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    const { mode, size } = fstatSync(fd);
    // Another user who can write the file could give himself a key.
    if ((mode & 0o077) !== 0)
      throw new Error(`Other users may use ${file}, its mode is 0${(mode & 0o777).toString(8)}: chmod 600 ${file}.`);
    if (size > BYTES_MAX) throw new Error(`${file} is larger than ${BYTES_MAX} bytes: it is no file of keys.`);
    return keysIn(readFileSync(fd, "utf8"), file);
  } finally {
    closeSync(fd);
  }
}

function keysIn(text: string, file: string): readonly StoredKey[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(`${file} is not valid JSON. Restore it from a backup, or remove it and create the keys again.`);
  }
  const parsed = fileSchema.safeParse(data);
  if (parsed.success) return parsed.data.keys;
  const [issue] = parsed.error.issues;
  throw new Error(`${file} is no file of keys: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
}

/** Applies a change to the file, and returns what the change did. Nothing is written if the change throws. */
export async function changeKeyFile<Outcome>(
  file: string,
  change: (keys: readonly StoredKey[]) => KeyChange<Outcome>,
): Promise<Outcome> {
  const lock = await locked(`${file}.lock`);
  try {
    const { keys, outcome } = change(readKeyFile(file));
    writeKeyFile(file, keys);
    return outcome;
  } finally {
    lock.release();
  }
}

async function locked(directory: string): Promise<DirectoryLock> {
  makeDirectory(directory, 0o700);
  let holder = "";
  for (let count = 0; count < LOCK_TRIES; count++) {
    const outcome = lockDirectory(directory, Date.now());
    if (outcome.kind === "locked") return outcome.lock;
    ({ holder } = outcome);
    await sleep(LOCK_RETRY_MS);
  }
  throw new Error(`The keys are being changed by ${holder}. Try again.`);
}

function writeKeyFile(file: string, keys: readonly StoredKey[]): void {
  const draft = `${file}.${process.pid}.tmp`;
  rmSync(draft, { force: true });
  const fd = openSync(draft, "wx", 0o600);
  try {
    const bytes = Buffer.from(`${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`);
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  renameSync(draft, file);
  syncPath(path.dirname(file));
}
