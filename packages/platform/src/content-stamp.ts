/** Tells whether a file or a directory was written since an earlier look, without reading its bytes. */
import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import path from "node:path";
import { contentFiles } from "./content-digest.ts";

/**
 * Sizes, inodes and times of writing of all files, as one hash. Links to the files and changed rights do not change it. Rejects where
 * `contentDigest` does.
 */
export async function contentStamp(target: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for (const name of await contentFiles(target, signal)) {
    signal?.throwIfAborted();
    const { size, mtimeNs, ino } = await lstat(name === "" ? target : path.join(target, name), { bigint: true });
    hash.update(`${size} ${mtimeNs} ${ino} ${JSON.stringify(name)}\n`);
  }
  return hash.digest("hex");
}
