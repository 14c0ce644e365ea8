/**
 * Finds the checkpoint from which an attempt resumes: the newest one that was reported here, or else the copy in the store,
 * which is brought to the checkpoint directory. A copy gets its name there only when it is complete.
 */
import { randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, readlink, rename } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import type { LaunchGang, StoredCheckpoint } from "@headroom/model";
import { contentDigest } from "@headroom/platform";
import { rootOf } from "./attempt-roots.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";
import { StagingFailure } from "./input-staging.ts";
import type { Bring, StagedLaunch } from "./input-staging.ts";
import { TreeRemover } from "../processes/tree-remover.ts";
import { isWithin } from "./untrusted-files.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, COPYFILE_FICLONE, COPYFILE_EXCL } = constants;

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
  readonly isSound: (checkpoint: { readonly path: string }) => boolean;
}

/** `null`: the work begins from its start. Throws a `StagingFailure` if the store does not give the copy. */
export async function restoreCheckpoint(
  { resume }: LaunchGang,
  { checkpointDir, homes, isSound }: RestoreSetup,
  bring: Bring,
): Promise<ResumePoint | null> {
  const { reported, stored } = resume ?? {};
  const isHere = reported !== undefined && isWithin(checkpointDir, reported.path) && existsSync(reported.path);
  if (isHere && isSound(reported)) return reported;
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
  const segments = name.split(path.sep);
  const last = segments.pop() ?? "";
  let folder: FileHandle = await open(checkpointDir, O_RDONLY | O_DIRECTORY);
  try {
    // Also the directory itself can be a link by now.
    if ((await readlink(held(folder))) !== root)
      throw new StagingFailure(
        `${checkpointDir} is a link or was moved. Remove it, and start the work again.`,
        "inputs",
      );
    for (const segment of segments) {
      const child = path.join(held(folder), segment);
      await mkdir(child, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      const next = await open(child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await folder.close();
      folder = next;
    }
    const draft = path.join(held(folder), `.headroom-${randomUUID()}`);
    await copyInto(folder, path.basename(draft), from);
    const target = path.join(held(folder), last);
    const aside = path.join(await readlink(held(folder)), `.headroom-${randomUUID()}`);
    await rename(target, path.join(held(folder), path.basename(aside))).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(draft, target);
    await folder.sync();
    await new TreeRemover().remove([aside]);
  } finally {
    await folder.close();
  }
}

/**
 * The cache is read-only, and work may write to its own copy. The cache has regular files and directories only. Work can exchange names
 * in its directory meanwhile, so each directory is held open, and each file is new in the held one.
 */
async function copyInto(folder: FileHandle, name: string, from: string): Promise<void> {
  // The cache can be in a directory that work sees, so nothing is read through a link either.
  const source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    await copyHeld(folder, name, source);
  } finally {
    await source.close();
  }
}

async function copyHeld(folder: FileHandle, name: string, source: FileHandle): Promise<void> {
  const at = path.join(held(folder), name);
  if (!(await source.stat()).isDirectory()) {
    await copyFile(held(source), at, COPYFILE_FICLONE | COPYFILE_EXCL);
    const file = await open(at, O_RDONLY | O_NOFOLLOW);
    try {
      await file.chmod(0o600);
    } finally {
      await file.close();
    }
    return;
  }
  await mkdir(at, { mode: 0o700 });
  const child = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    if ((await readlink(held(child))) !== path.join(await readlink(held(folder)), name))
      throw new StagingFailure(`${name} was moved while a checkpoint was written to it.`, "inputs");
    for (const entry of await readdir(held(source))) await copyInto(child, entry, path.join(held(source), entry));
  } finally {
    await child.close();
  }
}

/** The folder itself, whatever its path leads to by now. */
const held = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;
