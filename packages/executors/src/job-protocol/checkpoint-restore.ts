/**
 * Finds the checkpoint from which an attempt resumes: the newest one that was reported here, or else the copy in the store,
 * which is brought to the checkpoint directory. A copy gets its name there only when it is complete.
 */
import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, open, readlink, rename } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import type { LaunchGang, StoredCheckpoint } from "@headroom/model";
import { contentDigest, HeldDirectory, holdParent, syncPath } from "@headroom/platform";
import { rootOf } from "./attempt-roots.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";
import { StagingFailure } from "./input-staging.ts";
import type { Bring, StagedLaunch } from "./input-staging.ts";
import { TreeRemover } from "../processes/tree-remover.ts";
import { isWithin } from "./untrusted-files.ts";

const { O_RDONLY, O_NOFOLLOW, COPYFILE_FICLONE, COPYFILE_EXCL } = constants;

export interface ResumePoint {
  readonly path: string;
  readonly step: number;
}

/** A launch whose bytes are where its workers read them. */
export interface PreparedLaunch extends StagedLaunch {
  /** `null`: the work begins from its start. */
  readonly resume: ResumePoint | null;
}

interface RestoreSetup {
  readonly checkpointDir: string;
  /** Where attempts have their directories. */
  readonly homes: Pick<AttemptPlaces, "homeDir" | "namedBelow">;
  /** Whether the bytes at a reported path are complete on this machine. */
  readonly isSound: (checkpoint: { readonly path: string }) => Promise<boolean>;
}

/** `null`: the work begins from its start. Throws a `StagingFailure` if the store does not give the copy. */
export async function restoreCheckpoint(
  { resume }: LaunchGang,
  { checkpointDir, homes, isSound }: RestoreSetup,
  bring: Bring,
): Promise<ResumePoint | null> {
  const { reported, stored } = resume ?? {};
  const isHere = reported !== undefined && isWithin(checkpointDir, reported.path) && existsSync(reported.path);
  if (isHere && (await isSound(reported))) return reported;
  if (stored === undefined) return null;
  const target = path.join(checkpointDir, stored.path);
  if (stored.path === "" || !isWithin(checkpointDir, target) || target === checkpointDir)
    throw new StagingFailure(`${stored.version} has no path in the checkpoint directory.`, "inputs");
  if (!(await hasDigest(target, stored))) {
    const { uri, version: name, digest, rule } = stored;
    const from = await bring({ uri, name, digest, ...(rule === undefined ? {} : { rule }) });
    const root = await rootOf(checkpointDir, homes);
    if (root === null)
      throw new StagingFailure(
        `${name} cannot be brought to ${checkpointDir}: checkpoints are brought to directories of the executor, and below its uploadsFrom. Leave out checkpoint.dir.`,
        "inputs",
      );
    await place(from, { checkpointDir, root }, stored.path);
  }
  return { path: target, step: stored.step };
}

/**
 * Whether the bytes at a path that an earlier process found for this launch are still there: the disk may have been lost since, or work
 * that ended meanwhile may have written there.
 */
export async function isRestored(
  { resume: { reported, stored } = {} }: LaunchGang,
  at: string,
  { checkpointDir, isSound }: Pick<RestoreSetup, "checkpointDir" | "isSound">,
): Promise<boolean> {
  if (reported?.path === at && (await isSound(reported))) return true;
  return stored !== undefined && path.join(checkpointDir, stored.path) === at && hasDigest(at, stored);
}

/** Work that has resumed before, or was killed while it wrote the same step again, left bytes there. */
const hasDigest = async (target: string, { digest }: StoredCheckpoint): Promise<boolean> =>
  existsSync(target) &&
  (await contentDigest(target).then(
    (found) => found.digest === digest,
    () => false,
  ));

/** Links that work put into the checkpoint directory are not followed: they could lead to files of this user. */
async function place(
  from: string,
  { checkpointDir, root }: { readonly checkpointDir: string; readonly root: string },
  name: string,
): Promise<void> {
  const [folder, last] = await holdTarget(checkpointDir, root, name);
  const [draft, aside] = [draftName(), draftName()];
  let isReplaced = false;
  try {
    const source = await HeldDirectory.open(path.dirname(from));
    try {
      await copyInto(folder, draft, { source, name: path.basename(from) });
    } finally {
      await source.close();
    }
    await rename(folder.at(last), folder.at(aside)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(folder.at(draft), folder.at(last));
    isReplaced = true;
    syncPath(folder.path);
  } finally {
    // The bytes that were there go back; if a job has written there again, they stay beside that.
    if (!isReplaced) await rename(folder.at(aside), folder.at(last)).catch(() => {});
    await removeTrees(folder, isReplaced ? [draft, aside] : [draft]).catch((error: unknown) => {
      process.emitWarning(
        `A draft of a checkpoint, or the bytes in its place, could not be removed from ${checkpointDir}: ${String(error)}`,
      );
    });
    await folder.close();
  }
}

/** The draft of a copy that failed, or what the copy has replaced. They may be large. */
async function removeTrees(folder: HeldDirectory, names: readonly string[]): Promise<void> {
  const real = await readlink(folder.path);
  await new TreeRemover().remove(names.map((name) => path.join(real, name)));
}

const draftName = (): string => `.headroom-${randomUUID()}`;

async function holdTarget(checkpointDir: string, root: string, name: string): Promise<[HeldDirectory, string]> {
  const directory = await HeldDirectory.open(checkpointDir);
  try {
    // Also the directory itself can be a link by now.
    if ((await readlink(directory.path)) !== root)
      throw new StagingFailure(
        `${checkpointDir} is a link or was moved. Remove it, and start the work again.`,
        "inputs",
      );
    return await holdParent(directory, name);
  } finally {
    await directory.close();
  }
}

/**
 * The cache is read-only, and work may write to its own copy. The cache has regular files and directories only, and can be in a directory
 * that work sees, so nothing else is read. Work can exchange names in its directory meanwhile, so each directory is held open, and each
 * file is new in the held one.
 */
async function copyInto(
  folder: HeldDirectory,
  name: string,
  from: { readonly source: HeldDirectory; readonly name: string },
): Promise<void> {
  const source = await from.source.childOrNull(from.name);
  if (source === null) return copyHeldFile(folder.at(name), await from.source.openFile(from.name, O_RDONLY));
  try {
    await mkdir(folder.at(name), { mode: 0o700 });
    const child = await folder.child(name);
    try {
      if ((await readlink(child.path)) !== path.join(await readlink(folder.path), name))
        throw new StagingFailure(`${name} was moved while a checkpoint was written to it.`, "inputs");
      for (const each of await source.names()) await copyInto(child, each, { source, name: each });
    } finally {
      await child.close();
    }
  } finally {
    await source.close();
  }
}

async function copyHeldFile(at: string, source: FileHandle): Promise<void> {
  try {
    await copyFile(`/proc/self/fd/${source.fd}`, at, COPYFILE_FICLONE | COPYFILE_EXCL);
    const file = await open(at, O_RDONLY | O_NOFOLLOW);
    try {
      await file.chmod(0o600);
    } finally {
      await file.close();
    }
  } finally {
    await source.close();
  }
}
