/**
 * The users of the jobs of this executor. They are in the records of the attempts, which were written before the jobs were submitted:
 * a job of another user with the same name is none of an attempt.
 */
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import type { JobOwners } from "../commands/slurm-commands.ts";

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

  /** Reads whose job it is from the record of the launch. */
  note(name: string): void {
    const uid = this.#store.files(name).readIfSound("launch.json")?.runAs?.uid;
    if (uid === undefined) return;
    this.#byName.set(name, uid);
    this.#uids.add(uid);
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
