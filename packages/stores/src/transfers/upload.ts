/**
 * Writes a file or directory to a store. The digest is computed from the very bytes that are sent, so that bytes which changed
 * meanwhile never get the name of others. Writings that a kill interrupted are abandoned by the next process.
 */
import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { contentFiles, digestOfFiles, OperationalError } from "@headroom/platform";
import { unreachableStore } from "../objects/object-store.ts";
import type { ObjectWriting } from "../objects/object-store.ts";
import { isAt } from "../objects/open-files.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Transfer } from "./download.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Parts that are sent at the same time, while another one is read. */
const AHEAD_MAX = 4;
const TRIES_MAX = 6;
const PAUSE_MS = 200;
const PAUSE_MAX_MS = 5_000;
/** Notes of this process begin with it: their writings go on, so nobody may abandon them. */
const OWN_NOTES = randomUUID();
let noteCount = 0;

/** `memory`: shared by all uploads of the process. */
export type Sending = Transfer & { readonly memory: ByteBudget };

export interface UploadTarget {
  /** Key of the file, or of the directory without a slash at the end. */
  readonly key: string;
  readonly expected: { readonly digest: string; readonly bytes: number };
  /** Directory for notes about writings that are not complete. */
  readonly notesDir: string;
}

/** Resolves when every object is complete and has the expected digest. `source` has no links. */
export async function upload(transfer: Sending, source: string, target: UploadTarget): Promise<void> {
  const files = await contentFiles(source, transfer.signal);
  if (files.length === 0)
    throw new OperationalError("unreadableContent", `${source} has no files, so there is nothing to upload.`);
  const hashes: { readonly hex: string; readonly bytes: number; readonly name: string }[] = [];
  for (const name of files) {
    const key = name === "" ? target.key : `${target.key}/${name}`;
    const from = name === "" ? source : path.join(source, name);
    hashes.push({ name, ...(await uploadFile(transfer, from, { ...target, key })) });
  }
  const { digest } = digestOfFiles(hashes);
  if (digest !== target.expected.digest)
    throw new OperationalError("contentChanged", `${source} changed while it was uploaded to ${transfer.uri}.`);
  if (files[0] !== "") await checkAlone(transfer, target.key, files);
}

/** An upload of other bytes that failed can have left files there, and whoever reads the directory would read them too. */
async function checkAlone({ store, signal, uri }: Transfer, key: string, files: readonly string[]): Promise<void> {
  const own = new Set(files.map((name) => `${key}/${name}`));
  for await (const page of store.list(`${key}/`, signal)) {
    const strange = page.find((each) => !own.has(each.key));
    if (strange === undefined) continue;
    throw new OperationalError(
      "strangeObject",
      `${uri} has an object of an earlier upload, ${JSON.stringify(strange.key.slice(0, 200))}. Remove it from the store, and run the work again.`,
    );
  }
}

async function uploadFile(
  transfer: Sending,
  source: string,
  { key, notesDir }: UploadTarget,
): Promise<{ readonly hex: string; readonly bytes: number }> {
  const { store, signal } = transfer;
  const file = await open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = await file.stat();
    // Work that still runs can put links in the place of directories. They could lead to any file of this user.
    if (!stat.isFile() || !(await isAt(file, source)))
      throw new OperationalError("unreadableContent", `${source} is no regular file any more.`);
    const before = (await again(transfer, () => store.head(key, signal)))?.tag;
    const writing = await again(transfer, () => store.write(key, stat.size, signal));
    const note = await noteWriting(notesDir, key, writing);
    try {
      const hex = await sendParts(transfer, { file, size: stat.size, source }, writing);
      await complete(transfer, writing, { key, size: stat.size, before });
      return { hex, bytes: stat.size };
    } catch (error) {
      await writing.abort().catch(() => {});
      throw error;
    } finally {
      await rm(note, { force: true });
    }
  } finally {
    await file.close();
  }
}

/**
 * The answer of a store can be lost after it has completed the object, so the object itself decides. One that was there
 * before is no proof: an earlier upload can have left other bytes of the same size.
 */
async function complete(
  { store, signal, uri }: Transfer,
  writing: ObjectWriting,
  { key, size, before }: { readonly key: string; readonly size: number; readonly before: string | undefined },
): Promise<void> {
  await again({ signal }, async () => {
    const failure = await writing.complete(signal).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    const object = await store.head(key, signal);
    if (object?.bytes === size && (failure === null || object.tag !== before)) return;
    if (failure !== null) {
      // The store knows the writing no longer. It is complete with the same tag as before, or lost: another upload finds out.
      const isGone = failure.error instanceof OperationalError && failure.error.code === "objectMissing";
      throw isGone ? unreachableStore(uri, "it has not confirmed the upload", failure.error) : failure.error;
    }
    throw unreachableStore(uri, `it has ${object?.bytes ?? "no"} bytes of ${size} after the upload`);
  });
}

/** Reads in order, for the digest, and sends a few parts at once. */
async function sendParts(
  transfer: Sending,
  { file, size, source }: { readonly file: FileHandle; readonly size: number; readonly source: string },
  writing: ObjectWriting,
): Promise<string> {
  const hash = createHash("sha256");
  const { partBytes } = writing;
  const sending = new Set<Promise<void>>();
  const failed = new AbortController();
  const signal = AbortSignal.any([transfer.signal, failed.signal]);
  /** Gives back the memory of the part that is read. */
  let unsent: (() => void) | null = null;
  const changed = (): OperationalError =>
    new OperationalError("contentChanged", `${source} changed while it was uploaded to ${transfer.uri}.`);
  try {
    for (let number = 0; number === 0 || number * partBytes < size; number++) {
      const bytes = Math.min(partBytes, size - number * partBytes);
      unsent = await transfer.memory.take(bytes, transfer.store, signal);
      const data = await readFull(file, number * partBytes, bytes);
      if (data === null) throw changed();
      hash.update(data);
      if (sending.size >= AHEAD_MAX) await Promise.race(sending);
      signal.throwIfAborted();
      const giveBack = unsent;
      unsent = null;
      const sent = sendPart({ ...transfer, signal }, writing, { number, data })
        .finally(giveBack)
        .then(
          () => {
            sending.delete(sent);
          },
          (error: unknown) => failed.abort(error),
        );
      sending.add(sent);
    }
    await Promise.all(sending);
    signal.throwIfAborted();
    if ((await file.read(Buffer.alloc(1), 0, 1, size)).bytesRead > 0) throw changed();
    return hash.digest("hex");
  } finally {
    failed.abort(new Error("the upload has ended"));
    unsent?.();
    await Promise.all(sending);
  }
}

async function sendPart(
  transfer: Transfer,
  writing: ObjectWriting,
  { number, data }: { readonly number: number; readonly data: Buffer },
): Promise<void> {
  const giveBack = await transfer.turns.take(transfer.holder, transfer.signal);
  try {
    await again(transfer, () => writing.part(number, data, transfer.signal));
  } finally {
    giveBack();
  }
  transfer.onBytes(data.length);
}

async function readFull(file: FileHandle, from: number, bytes: number): Promise<Buffer | null> {
  const data = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(data, at, bytes - at, from + at);
    if (bytesRead === 0) return null;
    at += bytesRead;
  }
  return data;
}

/** Repeats a call whose failure may pass. */
async function again<Result>({ signal }: Pick<Transfer, "signal">, call: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof OperationalError) || !error.retryable || tries >= TRIES_MAX) throw error;
      await sleep(Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (tries - 1)), undefined, { signal });
    }
  }
}

async function noteWriting(notesDir: string, key: string, { id }: ObjectWriting): Promise<string> {
  const note = path.join(notesDir, `${OWN_NOTES}.${++noteCount}`);
  if (id === null) return note;
  await mkdir(notesDir, { recursive: true, mode: 0o700 });
  await writeFile(note, JSON.stringify({ key, id }), { mode: 0o600 });
  return note;
}

/** Abandons what killed processes left in a store. Notes stay if the store does not answer. */
export async function abandonLeft(store: Transfer["store"], notesDir: string): Promise<void> {
  for (const name of await readdir(notesDir).catch(() => [])) {
    if (name.startsWith(OWN_NOTES)) continue;
    const note = path.join(notesDir, name);
    const { key, id } = readNote(await readFile(note, "utf8").catch(() => ""));
    if (key !== "" && id !== "") await store.abandon(key, id);
    await rm(note, { force: true });
  }
}

/** A kill can cut the note. It was then written before any part was sent, and the store expires empty writings. */
function readNote(text: string): { readonly key: string; readonly id: string } {
  try {
    const { key, id } = JSON.parse(text) as { readonly key?: unknown; readonly id?: unknown };
    return typeof key === "string" && typeof id === "string" ? { key, id } : { key: "", id: "" };
  } catch {
    return { key: "", id: "" };
  }
}
