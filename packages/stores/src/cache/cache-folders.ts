/**
 * The folders of a cache, held open while it is: jobs of this user can exchange the names in a directory that they share with this machine,
 * and nothing is written or removed through a link that they put there.
 */
import { lstat, stat } from "node:fs/promises";
import path from "node:path";
import { HeldDirectory, lockDirectory, makeDirectory, OperationalError } from "@headroom/platform";
import { bytesOnDisk } from "./cache-entry.ts";

/** Names of entries and drafts, and of what is being removed. An operator's own files in the folder are left alone. */
export const KEY = /^[0-9a-f]{64}$/;
const GONE = /^gone-/;
/** Entries, and drafts, that one opening takes in. Jobs of this user can fill the folders. */
const FOUND_MAX = 100_000;
/** Time for which a cut transfer can be continued. */
const DRAFT_KEPT_MS = 86_400_000;

export interface CacheFolders {
  readonly dir: HeldDirectory;
  readonly entries: HeldDirectory;
  readonly drafts: HeldDirectory;
  readonly leases: HeldDirectory;
}

/** Below `trusted`, no name on the path of `dir` may be a link. */
export async function holdFolders(dir: string, trusted = dir): Promise<CacheFolders> {
  makeDirectory(trusted, 0o700);
  const within = path.relative(trusted, dir);
  const held: HeldDirectory[] = [];
  try {
    const own = await HeldDirectory.make(trusted, within === "" ? [] : within.split(path.sep));
    held.push(own);
    const child = async (name: string): Promise<HeldDirectory> => {
      const folder = await own.child(name, 0o700);
      held.push(folder);
      return folder;
    };
    return {
      dir: own,
      entries: await child("entries"),
      drafts: await child("drafts"),
      leases: await child("leases"),
    };
  } catch (error) {
    for (const each of held) await each.close();
    if (!isNoFolder(error)) throw error;
    throw new OperationalError(
      "unusableDirectory",
      `${dir} or a folder in it is a link or a file. Remove that; the cache makes its folders itself.`,
      { retryable: true },
    );
  }
}

export async function closeFolders(folders: CacheFolders | null): Promise<void> {
  for (const each of Object.values(folders ?? {}) as readonly HeldDirectory[]) await each.close();
}

/** Two control planes would drop each other's leases, and evict what the other one uses. Returns the release. */
export function lockCache({ dir }: CacheFolders, name: string): () => void {
  const outcome = lockDirectory(dir.path, Date.now());
  if (outcome.kind === "locked") return () => outcome.lock.release();
  throw new OperationalError(
    "cacheInUse",
    `The cache in ${name} is used by ${outcome.holder}. Give each control plane a folder of its own (a store of the type local).`,
    { retryable: true },
  );
}

/** Keys of entries. The bytes of those that are left out are not used, and not counted. */
export const entryKeys = ({ entries }: CacheFolders, max = FOUND_MAX): Promise<readonly string[]> =>
  entries.names(max, (name) => KEY.test(name));

/** Bytes of drafts that can be continued, by key. Older ones are removed, and those that no transfer can have made. */
export async function readDrafts({ drafts }: CacheFolders, max = FOUND_MAX): Promise<ReadonlyMap<string, number>> {
  const kept = new Map<string, number>();
  for (const name of await drafts.names(max, (each) => KEY.test(each) || GONE.test(each))) {
    const at = drafts.at(name);
    const stat = GONE.test(name) ? null : await lstat(at).catch(unlessGone);
    const isOld = stat === null || Date.now() - stat.mtimeMs > DRAFT_KEPT_MS;
    const bytes = isOld ? null : await bytesOnDisk(at);
    if (bytes === null) await removeOrLeave(drafts, name);
    else kept.set(name, bytes);
  }
  return kept;
}

/** Jobs of this user can make directories that are too deep to be removed. The cache is used nevertheless. */
export async function removeOrLeave(folder: HeldDirectory, name: string): Promise<void> {
  await folder.remove(name).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    process.emitWarning(`${name} stays in the cache, because it could not be removed. ${reason}`);
  });
}

export const draftBytes = async ({ drafts }: CacheFolders, key: string): Promise<number> =>
  (await bytesOnDisk(drafts.at(key))) ?? 0;

/** Whether the held folders are those at the paths: nobody has removed them or put others in their places. */
export async function areThere({ entries, drafts, leases }: CacheFolders, dir: string): Promise<boolean> {
  const folders = Object.entries({ entries, drafts, leases });
  const same = await Promise.all(
    folders.map(async ([name, { path: held }]) => {
      const [own, found] = await Promise.all([stat(held), stat(path.join(dir, name))]);
      return own.nlink > 0 && own.ino === found.ino && own.dev === found.dev;
    }),
  ).catch(() => [false]);
  return same.every(Boolean);
}

/** Works in an entry. Rejects with `ENOTDIR` or `ELOOP` if there is something else. */
export async function inEntry<Result>(
  { entries }: CacheFolders,
  key: string,
  use: (dir: HeldDirectory) => Promise<Result>,
): Promise<Result> {
  const dir = await entries.child(key);
  try {
    return await use(dir);
  } finally {
    await dir.close();
  }
}

/** Something else in its place, such as a link, is removed. */
export async function makeDraft({ drafts }: CacheFolders, key: string): Promise<HeldDirectory> {
  if ((await lstat(drafts.at(key)).catch(() => null))?.isDirectory() === false) await drafts.remove(key);
  return drafts.child(key, 0o700);
}

/** `null` if an entry is missing, or something else is there. */
export function unlessGone(error: unknown): null {
  if (isNoFolder(error) || (error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}

function isNoFolder(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOTDIR" || code === "ELOOP";
}
