/** The port of a store: objects by key, read in ranges and written whole. Implementations throw `OperationalError`. */
import type { FileHandle } from "node:fs/promises";
import { OperationalError } from "@headroom/platform";

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Changes when the object is replaced: the ETag, or the time and inode of a file. */
  readonly tag: string;
}

export interface ByteRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

export interface ObjectStore {
  /** Size of the parts in which large objects are read and written. */
  readonly partBytes: number;
  /** Tags are the digests of the bytes (`sha256:…`), and the store does not compare them. Absent: they are not. */
  readonly tagsAreDigests?: true;
  /** The object with exactly this key; `null`: there is none. */
  head(key: string, signal: AbortSignal): Promise<StoredObject | null>;
  /** Objects whose keys begin with the prefix, in pages. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<readonly StoredObject[]>;
  /**
   * Writes the bytes of a range to the same positions of an open file, in order, and yields how many were written. After its end,
   * also an early one, nothing is written. Fails with `objectChanged` if the object is no longer the one that was listed.
   */
  copy(object: StoredObject, range: ByteRange, file: FileHandle, signal: AbortSignal): AsyncIterable<number>;
  /** Begins the writing of an object. Nothing is visible under the key before `complete`. */
  write(key: string, bytes: number, signal: AbortSignal): Promise<ObjectWriting>;
  /** Removes an object. Without effect if there is none. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** Removes what a writing left that was interrupted. Without effect if there is nothing. */
  abandon(key: string, writing: string): Promise<void>;
  close(): void;
}

export interface ObjectWriting {
  /** Names the writing, so that a later process can abandon it; `null`: an interrupted one leaves nothing. */
  readonly id: string | null;
  readonly partBytes: number;
  /** Parts count from 0. All but the last one have `partBytes` bytes. The store checks that it received these bytes. */
  part(number: number, data: Buffer, signal: AbortSignal): Promise<void>;
  complete(signal: AbortSignal): Promise<void>;
  abort(): Promise<void>;
}

/** Parts of a transfer. Smaller ones cost more requests, larger ones more memory and a longer way back after a cut. */
export const PART_BYTES: number = 16 * 1024 * 1024;

export const missingObject = (uri: string): OperationalError =>
  new OperationalError("objectMissing", `${uri} does not exist. Check the path, or register the artifact again.`);

export const changedObject = (uri: string): OperationalError =>
  new OperationalError("objectChanged", `${uri} was replaced while it was read. Start the work again.`, {
    retryable: true,
  });

export const unreachableStore = (name: string, reason: string, cause?: unknown): OperationalError =>
  new OperationalError("storeUnreachable", `The store ${name} does not answer: ${reason}.`, { retryable: true, cause });

export const forbiddenStore = (name: string, reason: string, cause?: unknown): OperationalError =>
  new OperationalError(
    "storeForbidden",
    `The store ${name} refuses the access (${reason}). Check its accessKey and secretKey, and the rights of that key.`,
    { cause },
  );
