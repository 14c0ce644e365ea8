/** Puts a backup in place of a state directory, after every digest has been checked. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { describeJournal, journalFormat, lockJournal } from "@headroom/journal";
import { makeDirectory, OperationalError, syncPath } from "@headroom/platform";
import { BACKUP_FORMAT, filesBelow, OWN_BACKUPS, sha256Of, type Manifest } from "./backup.ts";

export interface RestoreOptions {
  /** A folder that `backUp` wrote. */
  readonly source: string;
  readonly home: string;
  /** Whether the present state is moved aside. Otherwise a directory with a state is refused. */
  readonly replaces: boolean;
}

export interface Restored {
  readonly manifest: Manifest;
  /** Folder with the state that was replaced; `null`: there was none. */
  readonly earlier: string | null;
}

export function restore({ source, home, replaces }: RestoreOptions): Restored {
  const manifest = verifiedBackup(source);
  makeDirectory(home, 0o700);
  const present = readdirSync(home).filter((name) => name !== OWN_BACKUPS);
  if (present.length > 0 && !replaces)
    throw new OperationalError(
      "homeNotEmpty",
      `${home} is not empty: it has ${present.slice(0, 3).join(", ")}. Restore into another directory, or add --force, which moves the present state aside.`,
    );
  const lock = existsSync(path.join(home, "journal")) ? lockJournal(path.join(home, "journal"), Date.now()) : null;
  const draft = path.join(home, `.restore-${process.pid}`);
  try {
    cpSync(path.join(source, "state"), draft, { recursive: true });
    // The copy is checked too, so that a full disk or a torn read is found before anything is replaced.
    verifyFiles(draft, manifest);
    return { manifest, earlier: putInPlace(draft, home) };
  } finally {
    lock?.release();
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Moves the entries of the draft into the state directory, and entries of the same name aside. */
function putInPlace(draft: string, home: string): string | null {
  const aside = path.join(home, `before-restore-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`);
  // These entries belong to the replaced state, even if the backup has none of the kind.
  const replaced = new Set([...readdirSync(draft), "attempts", "mlflow", "server.json"]);
  const moved = [...replaced].filter((name) => existsSync(path.join(home, name)));
  if (moved.length > 0) mkdirSync(aside, { mode: 0o700 });
  for (const name of moved) renameSync(path.join(home, name), path.join(aside, name));
  for (const name of readdirSync(draft)) renameSync(path.join(draft, name), path.join(home, name));
  syncPath(home);
  return moved.length > 0 ? aside : null;
}

/** Reads and checks a backup. Throws if it is damaged, or too new for this version. */
function verifiedBackup(source: string): Manifest {
  const manifest = readManifest(path.join(source, "manifest.json"));
  if (manifest.backup !== BACKUP_FORMAT || manifest.journal.format > journalFormat)
    throw new OperationalError(
      "backupTooNew",
      `${source} is a backup of layout ${String(manifest.backup)} with a journal of format ${manifest.journal.format}, written by Headroom ${manifest.headroom}. This version reads layout ${BACKUP_FORMAT} and formats up to ${journalFormat}: restore with the newer version.`,
    );
  const state = path.join(source, "state");
  verifyFiles(state, manifest);
  return manifest;
}

function verifyFiles(state: string, manifest: Manifest): void {
  const found = new Set(filesBelow(state));
  const wrong = Object.entries(manifest.files).find(
    ([file, sha256]) => !found.delete(file) || sha256Of(path.join(state, file)) !== sha256,
  );
  const [extra] = found;
  if (wrong !== undefined || extra !== undefined)
    throw new OperationalError(
      "backupDamaged",
      `The backup is damaged: ${wrong?.[0] ?? extra ?? ""} ${wrong === undefined ? "is not in its manifest" : "is missing or differs from the digest in its manifest"}. Nothing was changed. Use another backup.`,
    );
  const { sequence, chain } = describeJournal(path.join(state, "journal"));
  if (sequence !== manifest.journal.sequence || chain !== manifest.journal.chain)
    throw new OperationalError(
      "backupDamaged",
      `The backup is damaged: its journal ends at event ${sequence}, but its manifest names event ${manifest.journal.sequence}.`,
    );
}

function readManifest(file: string): Manifest {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Manifest;
  } catch (error) {
    throw new OperationalError(
      "backupUnreadable",
      `This is no backup: ${error instanceof Error ? error.message : String(error)}. Name a folder or file that \`headroom backup\` wrote.`,
    );
  }
}
