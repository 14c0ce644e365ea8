/** The objects behind a URI: one file, or a directory of files. Keys come from the store, so each is checked as a path. */
import { OperationalError } from "@headroom/platform";
import { missingObject } from "../objects/object-store.ts";
import type { ObjectStore, StoredObject } from "../objects/object-store.ts";

/** Like the bounds of a digest (`content-digest.ts`). */
const FILES_MAX = 100_000;
const NAME_BYTES_MAX = 64 * 1024 * 1024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 64;
/** A path has at most 4,096 bytes, and the cache needs some of them. */
const PATH_BYTES_MAX = 3_000;
/** Pages and objects of a list, also those that are no files: a store can send empty pages without end. */
const LISTED_MAX = 4 * FILES_MAX;

export interface FoundFile {
  readonly object: StoredObject;
  /** Path in the directory; empty: the content is this one file. */
  readonly name: string;
}

export interface FoundContent {
  readonly files: readonly FoundFile[];
  readonly bytes: number;
}

export interface ContentPlace {
  readonly store: ObjectStore;
  readonly key: string;
  readonly uri: string;
}

export async function findContent({ store, key, uri }: ContentPlace, signal: AbortSignal): Promise<FoundContent> {
  const plain = key.replace(/\/+$/, "");
  const file = plain === "" || key.endsWith("/") ? null : await store.head(plain, signal);
  if (file !== null) return { files: [{ object: file, name: "" }], bytes: checkedBytes(file, uri) };
  const prefix = plain === "" ? "" : `${plain}/`;
  const files: FoundFile[] = [];
  let bytes = 0;
  let nameBytes = 0;
  let listed = 0;
  for await (const page of store.list(prefix, signal)) {
    signal.throwIfAborted();
    listed += 1 + page.length;
    if (listed > LISTED_MAX) throw refusal(uri, "has a list without end");
    for (const object of page) {
      if (!object.key.startsWith(prefix)) throw refusal(uri, "has an object in its list that is elsewhere");
      const name = object.key.slice(prefix.length);
      // Some clients write an empty object for each directory.
      if (object.key.endsWith("/") && object.bytes === 0) continue;
      checkName(name, uri);
      nameBytes += Buffer.byteLength(name);
      bytes += checkedBytes(object, uri);
      if (nameBytes > NAME_BYTES_MAX || files.length >= FILES_MAX)
        throw refusal(uri, `has more than ${FILES_MAX} files, or too long names`);
      files.push({ object, name });
    }
  }
  if (files.length === 0) throw missingObject(uri);
  checkTree(files, uri);
  return { files: files.toSorted((left, right) => (left.name < right.name ? -1 : 1)), bytes };
}

function checkedBytes({ bytes }: StoredObject, uri: string): number {
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw refusal(uri, "has an object of an impossible size");
  return bytes;
}

function checkName(name: string, uri: string): void {
  const segments = name.split("/");
  const isPlain = segments.every(
    (each) => each !== "" && each !== "." && each !== ".." && Buffer.byteLength(each) <= SEGMENT_BYTES_MAX,
  );
  const isShort = segments.length <= DEPTH_MAX && Buffer.byteLength(name) <= PATH_BYTES_MAX;
  if (!isPlain || name.includes("\0") || !isShort)
    throw refusal(uri, `has an object whose key is no path in it: ${JSON.stringify(name.slice(0, 100))}`);
}

/** Stores have keys that no directory can have beside each other, such as `a` and `a/b`. */
function checkTree(files: readonly FoundFile[], uri: string): void {
  const names = new Set(files.map(({ name }) => name));
  const twice = names.size < files.length;
  const inFile = files.find(({ name }) => {
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1))
      if (names.has(name.slice(0, at))) return true;
    return false;
  });
  if (twice || inFile !== undefined)
    throw refusal(uri, "has a key that is a file and a directory, or one that is listed twice");
}

const refusal = (uri: string, problem: string): OperationalError =>
  new OperationalError("badObject", `${uri} ${problem}. Remove it from the store, or name another path.`);
