/**
 * Backups of a state directory, also while a control plane uses it. A backup is a folder with `manifest.json`, which has
 * the SHA-256 of every file, and `state/`. The journal is one committed state. The attempts' records are copied before
 * it, because a start refuses records that are newer than the journal.
 *
 * Left out is what a start makes again, and the data of the work itself (`work/`, `checkpoints/`, `mlflow-artifacts/`): it can be large, and
 * belongs to the users' own backups.
 */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { copyJournal, type CopiedJournal } from "@headroom/journal";
import { OperationalError, syncPath } from "@headroom/platform";

export interface Manifest {
  /** Version of the layout of backups. */
  readonly backup: typeof BACKUP_FORMAT;
  readonly headroom: string;
  readonly createdAt: string;
  readonly journal: CopiedJournal;
  /** SHA-256 by path below `state/`. */
  readonly files: Readonly<Record<string, string>>;
}

export const BACKUP_FORMAT = 1;
/** Folder of the state directory for the backups that an upgrade makes. */
export const OWN_BACKUPS = "backups";

/**
 * Entries of a state directory that are not part of a backup. In the image `tmp` is there, too, and has the backup itself
 * while it is written.
 */
const leftOut: ReadonlySet<string> = new Set([
  "cache",
  "checkpoints",
  "journal",
  "mlflow-artifacts",
  "server.json",
  "tmp",
  "work",
  OWN_BACKUPS,
]);
const isLeftOut = (name: string): boolean =>
  leftOut.has(name) || name.startsWith("before-restore-") || /^(?:lock\.db|owner\.json)$|-(?:wal|shm)$/.test(name);

const SQLITE_HEAD = Buffer.from("SQLite format 3\0");
/** More pages than a database has: the copy is one step, so that no commit makes it begin again. */
const ALL_PAGES = 2 ** 30;
const BUSY_TIMEOUT_MS = 5_000;

/** Writes a backup of `home` to the folder `target`, which must be new or empty. Returns its manifest. */
export async function backUp(home: string, target: string, version: string): Promise<Manifest> {
  if (existsSync(target) && (!statSync(target).isDirectory() || readdirSync(target).length > 0))
    throw new OperationalError("backupExists", `${target} exists already: name a new place for the backup.`);
  const state = path.join(target, "state");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  if (existsSync(home)) await copyTree(home, state, isLeftOut);
  const journal = await copyJournal(path.join(home, "journal"), path.join(state, "journal"));
  if (journal === null)
    throw new OperationalError(
      "backupEmpty",
      `${home} has no journal, so there is nothing to back up. Name another state directory with --home.`,
    );
  const files = Object.fromEntries(filesBelow(state).map((file) => [file, sha256Of(path.join(state, file))]));
  const manifest: Manifest = {
    backup: BACKUP_FORMAT,
    headroom: version,
    createdAt: new Date().toISOString(),
    journal,
    files,
  };
  const file = path.join(target, "manifest.json");
  writeFileSync(file, `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600 });
  syncPath(file);
  syncPath(target);
  return manifest;
}

/**
 * Copies files and folders. Links, sockets and pipes are left out: work can make them, and a copy must not follow them.
 * Files may disappear meanwhile.
 */
async function copyTree(from: string, to: string, skips: (name: string) => boolean): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(from).toSorted()) {
    if (skips(name)) continue;
    const [source, target] = [path.join(from, name), path.join(to, name)];
    const kind = lstatSync(source, { throwIfNoEntry: false });
    if (kind?.isDirectory() === true) await copyTree(source, target, (each) => /-(?:wal|shm)$/.test(each));
    else if (kind?.isFile() === true) await copyFile(source, target);
  }
}

async function copyFile(source: string, target: string): Promise<void> {
  try {
    if (!isDatabase(source)) copyFileSync(source, target);
    else {
      const database = new DatabaseSync(source, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
      try {
        await backup(database, target, { rate: ALL_PAGES });
      } finally {
        database.close();
      }
    }
    syncPath(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function isDatabase(file: string): boolean {
  return file.endsWith(".db") && readFileSync(file).subarray(0, SQLITE_HEAD.length).equals(SQLITE_HEAD);
}

/** Regular files below a folder, as relative paths in a fixed order. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted();
}

export function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
