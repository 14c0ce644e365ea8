/**
 * The users of the jobs of this executor: the owners of the directories of the attempts, which root has handed over before the jobs were
 * submitted. A job of another user with the same name is none of an attempt. Records do not say whose job it is: they are authentic for
 * the user of the attempt, who would become root, or anyone, with a record of another user.
 */
import { lstatSync } from "node:fs";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import type { FileOwner } from "../../job-protocol/untrusted-files.ts";
import type { JobOwners } from "../commands/slurm-commands.ts";

/**
 * The user as whom an attempt runs. Only root can change the owner of its directory, or put another one in its place. `null`: the user
 * of this process. Throws if there is no such directory.
 */
export function runAsOf({ recordsDir }: AttemptFiles): FileOwner | null {
  const stat = lstatSync(recordsDir);
  if (!stat.isDirectory()) throw new Error(`${recordsDir} is not a directory`);
  const { uid, gid } = stat;
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : null;
}

export class RecordedOwners implements JobOwners {
  readonly #store: AttemptStore;
  readonly #jobPrefix: string;
  readonly #ownUid: number;
  readonly #uids: Set<number>;
  /** Attempts that run as another user, by name. */
  readonly #byName = new Map<string, number>();

  constructor(store: AttemptStore, jobPrefix: string, ownUid: number = process.getuid?.() ?? 0) {
    this.#store = store;
    this.#jobPrefix = jobPrefix;
    this.#ownUid = ownUid;
    this.#uids = new Set([ownUid]);
    // Only root can have submitted jobs as other users.
    if (ownUid === 0) for (const name of store.names()) this.note(name);
  }

  get uids(): ReadonlySet<number> {
    return this.#uids;
  }

  /** Reads whose job it is. */
  note(name: string): void {
    const uid = this.#uidIn(name);
    if (uid === null) return;
    this.#byName.set(name, uid);
    this.#uids.add(uid);
  }

  /** `null`: that of this process, or the directory of the attempt is being removed. */
  #uidIn(name: string): number | null {
    try {
      return runAsOf(this.#store.files(name))?.uid ?? null;
    } catch {
      return null;
    }
  }

  forget(name: string): void {
    this.#byName.delete(name);
  }

  uidOf(jobName: string): number {
    return this.#byName.get(jobName.slice(this.#jobPrefix.length)) ?? this.#ownUid;
  }

  owns(uid: number, jobName: string): boolean {
    return uid === this.uidOf(jobName);
  }
}
