/** The files at or below a URI, for whoever looks for new ones. Nothing is read. */
import { OperationalError } from "@headroom/platform";
import type { ContentPlace } from "./found-content.ts";

/** Files that one look compares. */
const LISTED_FILES_MAX = 100_000;

export interface ListedFile {
  /** Key below the URI; empty: the URI is this file. */
  readonly name: string;
  readonly tag: string;
}

/** Throws `tooManyFiles` if there are more than can be compared. */
export async function listFiles(
  { store, key, uri }: ContentPlace,
  signal: AbortSignal,
): Promise<readonly ListedFile[]> {
  const plain = key.replace(/\/+$/, "");
  const file = plain === "" || key.endsWith("/") ? null : await store.head(plain, signal);
  if (file !== null) return [{ name: "", tag: file.tag }];
  const prefix = plain === "" ? "" : `${plain}/`;
  const files: ListedFile[] = [];
  let pages = 0;
  for await (const page of store.list(prefix, signal)) {
    signal.throwIfAborted();
    pages += 1;
    for (const object of page)
      // Some clients write an empty object for each directory.
      if (object.key.startsWith(prefix) && !object.key.endsWith("/"))
        files.push({ name: object.key.slice(prefix.length), tag: object.tag });
    if (files.length > LISTED_FILES_MAX || pages > LISTED_FILES_MAX)
      throw new OperationalError(
        "tooManyFiles",
        `${uri} has more than ${LISTED_FILES_MAX} files. Name a narrower path, or move files that were handled elsewhere.`,
      );
  }
  return files;
}
