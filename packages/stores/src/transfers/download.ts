/**
 * Brings the bytes of a URI into a draft directory: parts in parallel, each repeated after a cut. Parts that are complete are
 * noted beside the draft, so that a later process goes on with the rest.
 */
import { constants } from "node:fs";
import { appendFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { holdParent, OperationalError } from "@headroom/platform";
import type { HeldDirectory } from "@headroom/platform";
import { unreachableStore } from "../objects/object-store.ts";
import type { ByteRange, ObjectStore, StoredObject } from "../objects/object-store.ts";
import type { ArrivingDigests, ArrivingFile } from "./arriving-digests.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { FoundContent, FoundFile } from "./found-content.ts";

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Attempts of one part in a row without a new byte. With the pauses below they take about 12 s. */
const TRIES_MAX = 6;
const PAUSE_MS = 200;
const PAUSE_MAX_MS = 5_000;
/** A request that stays below this rate after `SLOW_AFTER_MS` counts as cut, so that a store that drips holds no turn. */
const RATE_MIN_BYTES_S = 4_096;
const SLOW_AFTER_MS = 15_000;
/** A request gives its turn to a waiting transfer after this time, and goes on with its rest afterwards. */
const TURN_MS = 30_000;

export interface Transfer {
  readonly store: ObjectStore;
  readonly turns: FairTurns;
  /** Those with the same holder share one share of the turns. */
  readonly holder: object;
  readonly uri: string;
  /** Requests of this transfer at the same time. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
  /** Bytes of `onBytes` that an earlier process has brought. */
  readonly onKept?: (bytes: number) => void;
  /** Called with the bytes of a part when it is complete, and noted for a later process. */
  readonly onPart?: (bytes: number) => void;
  /** Computes the digests meanwhile; absent: nothing compares them. */
  readonly digests?: Pick<ArrivingDigests, "arrived"> | null;
}

interface Part extends ByteRange {
  readonly file: FoundFile;
  /** Numbers of the file in the content and of the part in the file. */
  readonly fileNumber: number;
  readonly number: number;
  /** As it is noted when it is complete. */
  readonly mark: string;
}

const APPEND = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;

/** Name of the content within the draft: a file, or a directory. */
export const CONTENT = "content";

const nameInDraft = ({ name }: FoundFile): string => (name === "" ? CONTENT : path.join(CONTENT, name));

/** The files of a draft, for their digests. */
export const draftFiles = (dir: HeldDirectory, { files }: FoundContent): readonly ArrivingFile[] =>
  files.map((file) => ({ name: file.name, path: path.join(dir.path, nameInDraft(file)), bytes: file.object.bytes }));

/**
 * `bootId`: after a restart of the machine, noted parts may not be on the disk, so they are read again. The draft is held open, and no
 * link below it is followed: jobs of the same user may see it.
 */
export async function download(
  transfer: Transfer,
  content: FoundContent,
  draft: { readonly dir: HeldDirectory; readonly bootId: string },
): Promise<void> {
  const parts = content.files.flatMap((file, index) => partsOf(file, index, transfer.store.partBytes));
  const done = await resume(content, { ...draft, parts, partBytes: transfer.store.partBytes });
  const noted = draft.dir.at("parts");
  for (const { from, to, fileNumber, number } of parts.filter(({ mark }) => done.has(mark))) {
    transfer.onKept?.(to - from);
    transfer.onBytes(to - from);
    transfer.digests?.arrived(fileNumber, number, to);
  }
  const left = parts.filter(({ mark }) => !done.has(mark)).values();
  for (const file of content.files) if (file.object.bytes === 0) await (await openDraft(draft.dir, file)).close();
  await inParallel(transfer, async (signal) => {
    for (const part of left) {
      const file = await openDraft(draft.dir, part.file);
      try {
        await readPart({ ...transfer, signal }, part, file);
      } finally {
        await file.close();
      }
      await appendFile(noted, `${part.mark}\n`, { mode: 0o600, flag: APPEND });
      transfer.onPart?.(part.to - part.from);
    }
  });
}

function partsOf(file: FoundFile, index: number, partBytes: number): readonly Part[] {
  const count = Math.ceil(file.object.bytes / partBytes);
  return Array.from({ length: count }, (_, number) => ({
    file,
    fileNumber: index,
    number,
    mark: `${index} ${number}`,
    from: number * partBytes,
    to: Math.min(file.object.bytes, (number + 1) * partBytes),
  }));
}

/** The marks of complete parts. The draft begins again if the objects or the boot of the machine differ. */
async function resume(
  { files }: FoundContent,
  {
    dir,
    bootId,
    parts,
    partBytes,
  }: {
    readonly dir: HeldDirectory;
    readonly bootId: string;
    readonly parts: readonly { readonly mark: string }[];
    readonly partBytes: number;
  },
): Promise<ReadonlySet<string>> {
  const objects = files.map(({ name, object }) => [name, object.bytes, object.tag]);
  const plan = JSON.stringify({ bootId, partBytes, objects });
  const isSame = (await dir.read("plan.json", Buffer.byteLength(plan)).catch(() => null)) === plan;
  if (!isSame) {
    await dir.empty();
    await dir.write("plan.json", plan);
    return new Set();
  }
  // Each part is noted once, beside halves of lines. Jobs of this user can write more.
  const noted = parts.reduce((sum, { mark }) => sum + mark.length + 1, 0);
  const text = await dir.read("parts", 2 * noted).catch(() => "");
  // A kill can leave half a line at the end, which is a part of its own otherwise.
  return new Set(text.split("\n").slice(0, -1));
}

/** Runs as many copies of the work as the transfer may have requests. The first failure stops the others. */
async function inParallel(
  { parallel, signal }: Pick<Transfer, "parallel" | "signal">,
  work: (failed: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const failed = AbortSignal.any([signal, stop.signal]);
  const copies = Array.from({ length: parallel }, async () => {
    try {
      await work(failed);
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(copies);
  await Promise.all(copies);
}

async function readPart(transfer: Transfer, part: Part, file: FileHandle): Promise<void> {
  const { object } = part.file;
  let at = part.from;
  const onPosition = (position: number): void => {
    at = position;
    transfer.digests?.arrived(part.fileNumber, part.number, position);
  };
  for (let tries = 1; at < part.to; tries++) {
    const before = at;
    try {
      const isWhole = await readOnce(transfer, { object, from: at, to: part.to }, file, onPosition);
      // A turn that was passed on is no failure.
      if (!isWhole) tries = 0;
    } catch (error) {
      transfer.signal.throwIfAborted();
      if (!(error instanceof OperationalError) || !error.retryable || error.code === "objectChanged") throw error;
      if (at > before && error.code !== "storeSlow") tries = 1;
      if (tries >= TRIES_MAX) throw error;
      await sleep(Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** (tries - 1)), undefined, { signal: transfer.signal });
    }
  }
}

/** Returns false if the turn was passed on before the end of the range. */
async function readOnce(
  { store, turns, holder, signal, onBytes, uri }: Transfer,
  { object, from, to }: ByteRange & { readonly object: StoredObject },
  file: FileHandle,
  onPosition: (position: number) => void,
): Promise<boolean> {
  const giveBack = await turns.take(holder, signal);
  const sinceMs = performance.now();
  let at = from;
  try {
    for await (const bytes of store.copy(object, { from, to }, file, signal)) {
      signal.throwIfAborted();
      at += bytes;
      onPosition(at);
      onBytes(bytes);
      const heldMs = performance.now() - sinceMs;
      if (at < to && isTooSlow(at - from, heldMs)) throw slowStore(uri, (at - from) / (heldMs / 1_000));
      if (at < to && heldMs >= TURN_MS && turns.areAwaited) return false;
    }
  } finally {
    giveBack();
  }
  if (at < to) throw unreachableStore(uri, `the answer ended ${to - at} bytes early`);
  return true;
}

const isTooSlow = (bytes: number, heldMs: number): boolean =>
  heldMs >= SLOW_AFTER_MS && bytes < (RATE_MIN_BYTES_S * heldMs) / 1_000;

const slowStore = (uri: string, rate: number): OperationalError =>
  new OperationalError("storeSlow", `${uri}: the store sends ${Math.round(rate)} bytes/s.`, { retryable: true });

/** Opened for each part: a directory can have more files than a process may open. An earlier process may have written parts. */
async function openDraft(dir: HeldDirectory, file: FoundFile): Promise<FileHandle> {
  const [folder, name] = await holdParent(dir, nameInDraft(file));
  try {
    return await folder.openFile(name, O_WRONLY | O_CREAT);
  } finally {
    await folder.close();
  }
}
