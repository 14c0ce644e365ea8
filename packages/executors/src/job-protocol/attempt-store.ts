/**
 * All attempts in one home directory: their names on disk, and the key from which the secrets of their records are
 * derived.
 */
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { chmodSync, linkSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { AttemptId } from "@headroom/model";
import { makeDurableDirectory } from "@headroom/platform";
import { syncPath } from "@headroom/platform";
import { AttemptFiles, attemptsDirOf, claimsDirOf, requestRootOf, workRootOf } from "./attempt-files.ts";
import { ASIDE_PREFIX, attemptDirName } from "./attempt-names.ts";

/** Prefix of other names: directories of attempts never begin with a dot. */
const KEY_FILE = ".key";
export const FORGOTTEN_PREFIX = ".forgotten-";
const KEY_BYTES = 32;

export class AttemptStore {
  readonly homeDir: string;
  readonly attemptsDir: string;
  readonly workRoot: string;
  readonly requestRoot: string;
  readonly #key: string;

  /**
   * Creates missing directories. Throws if nothing can be written. `keyFile`: where the key is, if not beside the
   * records. `mode`: of the directory of all attempts. It never changes in between: jobs of other users write records below it.
   */
  constructor(homeDir: string, onProblem: (message: string) => void, keyFile?: string, mode: 0o700 | 0o711 = 0o700) {
    this.homeDir = homeDir;
    this.attemptsDir = attemptsDirOf(homeDir);
    this.workRoot = workRootOf(homeDir);
    this.requestRoot = requestRootOf(homeDir);
    makeDurableDirectory(this.attemptsDir, mode);
    chmodSync(this.attemptsDir, mode);
    for (const directory of [claimsDirOf(homeDir), this.requestRoot]) makeDurableDirectory(directory, 0o700);
    this.#key = loadKey(keyFile ?? path.join(this.attemptsDir, KEY_FILE), () => {
      const known = this.names().length;
      if (known > 0)
        onProblem(`The key of the attempts' records was missing or damaged; ${known} attempts on disk are unreadable.`);
    });
  }

  /** Names of the attempts, except those that are being removed. */
  names(): string[] {
    return readdirSync(this.attemptsDir).filter((name) => !name.startsWith("."));
  }

  /** Files and links that were moved aside, because they were in the places of directories of attempts. */
  pathsAside(): string[] {
    return [this.attemptsDir, this.workRoot, this.requestRoot].flatMap((directory) =>
      namesIn(directory)
        .filter((name) => name.startsWith(ASIDE_PREFIX))
        .map((name) => path.join(directory, name)),
    );
  }

  forgottenNames(): string[] {
    return readdirSync(this.attemptsDir).filter((name) => name.startsWith(FORGOTTEN_PREFIX));
  }

  /** Each attempt has its own secret, so a supervisor knows only the secrets of its attempts. */
  files(name: string): AttemptFiles {
    const secret = createHmac("sha256", this.#key).update(`attempt\0${name}`).digest("hex");
    return new AttemptFiles({ homeDir: this.homeDir, name, secret });
  }

  filesOf(attemptId: AttemptId): AttemptFiles {
    return this.files(attemptDirName(attemptId));
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // A job that is not isolated may have removed the directory. The next launch creates it.
    return [];
  }
}

/** The key is created once, and is on disk before any record depends on it. */
function loadKey(file: string, onNew: () => void): string {
  const known = readKey(file);
  if (known !== null) return known;
  onNew();
  rmSync(file, { recursive: true, force: true });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, randomBytes(KEY_BYTES).toString("hex"), { mode: 0o600, flush: true, flag: "wx" });
  try {
    linkSync(draft, file);
  } finally {
    unlinkSync(draft);
  }
  syncPath(path.dirname(file));
  const made = readKey(file);
  if (made === null) throw new Error(`${file} cannot be written`);
  return made;
}

/** The key; `null`: it is missing or damaged. */
function readKey(file: string): string | null {
  try {
    const text = readFileSync(file, "utf8").trim();
    return /^[0-9a-f]{64}$/.test(text) ? text : null;
  } catch {
    return null;
  }
}
