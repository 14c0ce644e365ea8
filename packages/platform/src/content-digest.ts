/**
 * The digest of a file or a directory, as artifacts have it. A file's digest is the SHA-256 of its bytes. A directory's is
 * the SHA-256 of a list with one line for each file, `DIGEST  BYTES  PATH`, in the order of the paths. Links and special
 * files have no content of their own, so a directory with one is refused; nothing is opened through a link.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { OperationalError } from "./operational-error.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
/** Files of one directory, their names together, and how deep it may be: a job writes what it likes. */
const FILES_MAX = 100_000;
const NAME_BYTES_MAX = 64 * 1024 * 1024;
const DEPTH_MAX = 64;
/** Small pieces: one piece is hashed in a millisecond, so the event loop stays free. */
const PIECE_BYTES = 1024 * 1024;

interface ContentDigest {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly bytes: number;
  readonly files: number;
}

interface HashedFile {
  /** Path in the directory; empty: the content is this one file. */
  readonly name: string;
  /** SHA-256 in hexadecimal digits. */
  readonly hex: string;
  readonly bytes: number;
}

interface Walk {
  readonly signal: AbortSignal | undefined;
  readonly names: string[];
  nameBytes: number;
}

/** The signal ends the reading: a file may be as large as its owner likes. A file that grows meanwhile is refused. */
export async function contentDigest(target: string, signal?: AbortSignal): Promise<ContentDigest> {
  const files: HashedFile[] = [];
  for (const name of await contentFiles(target, signal))
    files.push(await hashFile(name === "" ? target : path.join(target, name), name, signal));
  return digestOfFiles(files);
}

/** The digest of files whose bytes were hashed one by one, in the order of their paths. */
export function digestOfFiles(files: readonly HashedFile[]): ContentDigest {
  const [only] = files;
  if (files.length === 1 && only?.name === "") return { digest: `sha256:${only.hex}`, bytes: only.bytes, files: 1 };
  const hash = createHash("sha256");
  for (const { hex, bytes, name } of files) hash.update(`${hex}  ${bytes}  ${JSON.stringify(name)}\n`);
  const bytes = files.reduce((sum, each) => sum + each.bytes, 0);
  return { digest: `sha256:${hash.digest("hex")}`, bytes, files: files.length };
}

/** The order of paths in a digest: a directory stands where its name does, among the names beside it. */
export function comparePaths(left: string, right: string): number {
  const [lefts, rights] = [left.split("/"), right.split("/")];
  for (const [depth, one] of lefts.entries()) {
    const other = rights[depth];
    if (other === undefined) return 1;
    if (one !== other) return one < other ? -1 : 1;
  }
  return lefts.length - rights.length;
}

/** Paths of the files in a directory in the order of the digest; one empty path: the target is a file. */
export async function contentFiles(target: string, signal?: AbortSignal): Promise<readonly string[]> {
  const file = await openPlain(target);
  try {
    const stat = await file.stat();
    if (stat.isFile()) return [""];
    if (!stat.isDirectory()) throw refusal(target, "is no regular file and no directory");
  } finally {
    await file.close();
  }
  const walk: Walk = { signal, names: [], nameBytes: 0 };
  await addDirectory(walk, target, "", 0);
  return walk.names;
}

async function addDirectory(walk: Walk, target: string, within: string, depth: number): Promise<void> {
  if (depth > DEPTH_MAX) throw refusal(target, `has more than ${DEPTH_MAX} levels of directories`);
  walk.signal?.throwIfAborted();
  const entries = await readdir(target, { withFileTypes: true });
  walk.nameBytes += entries.reduce((sum, { name }) => sum + name.length + within.length, 0);
  if (walk.nameBytes > NAME_BYTES_MAX || walk.names.length + entries.length > FILES_MAX)
    throw refusal(target, `has more than ${FILES_MAX} files, or too long names`);
  const byName = entries.toSorted((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
  for (const entry of byName) {
    const child = path.join(target, entry.name);
    const name = within === "" ? entry.name : `${within}/${entry.name}`;
    if (entry.isDirectory()) await addDirectory(walk, child, name, depth + 1);
    else if (entry.isFile()) walk.names.push(name);
    else throw refusal(child, "is a link or a special file");
  }
}

async function hashFile(target: string, name: string, signal: AbortSignal | undefined): Promise<HashedFile> {
  const file = await openPlain(target);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw refusal(target, "is no regular file any more");
    return { name, ...(await hashOf(file, { target, size: stat.size, signal })) };
  } finally {
    await file.close();
  }
}

async function openPlain(target: string): Promise<FileHandle> {
  try {
    return await open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    throw refusal(
      target,
      code === "ELOOP" ? "is a link" : code === "ENOENT" ? "does not exist" : `cannot be read (${code})`,
    );
  }
}

interface Reading {
  readonly target: string;
  readonly size: number;
  readonly signal: AbortSignal | undefined;
}

async function hashOf(
  file: FileHandle,
  { target, size, signal }: Reading,
): Promise<{ readonly hex: string; readonly bytes: number }> {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let bytes = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, bytes);
    bytes += bytesRead;
    if (bytes > size || (bytesRead === 0 && bytes < size)) throw refusal(target, "changed while it was read");
    if (bytesRead === 0) return { hex: hash.digest("hex"), bytes };
    hash.update(piece.subarray(0, bytesRead));
  }
}

const refusal = (target: string, problem: string): OperationalError =>
  new OperationalError("unreadableContent", `${target} ${problem}`);
