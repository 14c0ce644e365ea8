/**
 * Opens files in directories that a job can write to. A job can put a symbolic link, a hard link, a FIFO or a directory
 * in the place of any name there, also while the name is used. So every path is walked from a trusted directory, one
 * name at a time and without following links, and the opened file itself is checked, not its name. Node has no
 * openat(2): `/proc/self/fd/<fd>/<name>` resolves the name in the opened directory instead (proc(5)).
 *
 * Nothing here may pass a path below such a directory to a function that follows links.
 *
 * Root can hand the directory of a job over to the user as whom the job runs. It lies in a directory in which only root creates
 * names; below it, files of root and of that user count as the job's own, and what root creates there belongs to that user.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import type { Stats } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, O_CREAT, O_EXCL, O_WRONLY } = constants;

/** The error for a name that is not what it should be: a link, another kind of file, or a file of another owner. */
class UntrustedFile extends Error {
  override readonly name = "UntrustedFile";
}

/** Path of a name in an opened directory. Only the name is resolved, in the directory itself. */
export const nameIn = (directory: number, name: string): string => `/proc/self/fd/${directory}/${name}`;

/**
 * Opens a directory below a trusted one, and passes its descriptor to `use`. No component below `trusted` may be a link,
 * nor may `trusted` itself. The descriptor is closed at the end.
 */
export function inDirectory<Result>(
  trusted: string,
  segments: readonly string[],
  use: (directory: number) => Result,
): Result {
  const directory = openDirectory(trusted, segments);
  const done = (): void => closeSync(directory);
  try {
    const result = use(directory);
    if (result instanceof Promise) return result.finally(done) as Result;
    done();
    return result;
  } catch (error) {
    done();
    throw error;
  }
}

function openDirectory(trusted: string, segments: readonly string[]): number {
  let directory = openOneDirectory(trusted, null);
  for (const [depth, segment] of segments.entries()) {
    try {
      const above = fstatSync(directory);
      const next = openOneDirectory(nameIn(directory, checkedName(segment)), { above, isTrusted: depth === 0 });
      closeSync(directory);
      directory = next;
    } catch (error) {
      closeSync(directory);
      throw error;
    }
  }
  return directory;
}

interface Above {
  readonly above: Stats;
  /** True: it is the trusted directory, in which jobs create no names. */
  readonly isTrusted: boolean;
}

/** `within`: the directory above; `null`: the directory is the trusted one, which can be root's on a node. */
function openOneDirectory(directory: string, within: Above | null): number {
  const opened = openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const { uid } = fstatSync(opened);
  if (within === null ? isOwn(uid) || uid === 0 : belongsTo(uid, within)) return opened;
  closeSync(opened);
  throw new UntrustedFile(`${directory} belongs to another user`);
}

function belongsTo(uid: number, { above, isTrusted }: Above): boolean {
  if (isOwn(uid) || uid === above.uid) return true;
  return isTrusted && isRoot() && above.uid === 0 && (above.mode & OTHERS_WRITE) === 0;
}

/** Opens a regular file of this user, or of the owner of the directory, for reading. Waits for nothing, and follows no link. The caller closes it. */
export function openRegular(directory: number, name: string): number {
  const file = openSync(nameIn(directory, checkedName(name)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stat = fstatSync(file);
  // A hard link in a job's directory could lead to any file of this user on the same file system.
  if (stat.isFile() && stat.nlink === 1 && (isOwn(stat.uid) || stat.uid === fstatSync(directory).uid)) return file;
  closeSync(file);
  throw new UntrustedFile(`${name} is not a file of its own`);
}

/**
 * Replaces a file by one with this content. A file or link that had the name is unlinked, and a directory is renamed,
 * because its content must not be walked.
 */
export function replaceFile(directory: number, name: string, content: string): void {
  const draft = nameIn(directory, `.${checkedName(name)}.${randomUUID()}`);
  const file = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    writeFileSync(file, content);
    inheritOwner(file, fstatSync(directory));
  } finally {
    closeSync(file);
  }
  try {
    renameSync(draft, nameIn(directory, name));
  } catch (error) {
    if (!hasCode(error, "EISDIR", "ENOTEMPTY", "EEXIST")) throw error;
    renameSync(nameIn(directory, name), nameIn(directory, `.${name}.replaced-${randomUUID()}`));
    renameSync(draft, nameIn(directory, name));
  }
}

/**
 * Creates a directory that only its owner can enter: `owner`, or that of the parent. A link or another kind of file in its place is
 * renamed to `asideName`; an existing directory is kept, with all that is in it.
 */
export function ensureDirectory(parent: number, name: string, asideName: string, owner: FileOwner | null = null): void {
  const target = nameIn(parent, checkedName(name));
  for (;;) {
    try {
      mkdirSync(target, { mode: 0o700 });
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
    if (keepDirectory(target, { above: fstatSync(parent), isTrusted: owner !== null }, owner)) return;
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined)
      renameSync(target, nameIn(parent, checkedName(asideName)));
  }
}

/** Returns false if the target is no directory, or one of another user. */
function keepDirectory(target: string, within: Above, owner: FileOwner | null): boolean {
  const stat = lstatSync(target, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true || !belongsTo(stat.uid, within)) return false;
  if (!isRoot()) {
    chmodSync(target, 0o700);
    return true;
  }
  let directory: number;
  try {
    directory = openSync(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return false;
    throw error;
  }
  try {
    // The name could have come to lead to a directory of someone else, who must not lose it.
    if (!belongsTo(fstatSync(directory).uid, within)) return false;
    fchmodSync(directory, 0o700);
    inheritOwner(directory, owner ?? within.above);
  } finally {
    closeSync(directory);
  }
  return true;
}

/** A user as whom jobs run. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** Gives a file that root has just created to the owner of its directory. Without effect for other users. */
export function inheritOwner(file: number, { uid, gid }: FileOwner): void {
  if (isRoot() && uid !== 0) fchownSync(file, uid, gid);
}

/** Whether a path is a directory or below it, by its text alone. */
export const isWithin = (directory: string, file: string): boolean =>
  file === directory || file.startsWith(directory.endsWith("/") ? directory : `${directory}/`);

const isOwn = (uid: number): boolean => uid === process.getuid?.();
const isRoot = (): boolean => process.getuid?.() === 0;
/** Bits of a mode that let others than the owner create names in a directory. */
const OTHERS_WRITE = 0o022;

function checkedName(name: string): string {
  if (name === "" || name === "." || name === ".." || path.basename(name) !== name || name.includes("\0"))
    throw new UntrustedFile(`${JSON.stringify(name)} is not the name of a file`);
  return name;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
