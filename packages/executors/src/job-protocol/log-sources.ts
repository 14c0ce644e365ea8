/**
 * Directories of the logs of gangs with parts. The launch record of a large gang has the environments of all workers, and a search
 * reads each stream by itself, so the directories of the newest attempts are kept. A launch record does not change.
 */
import type { AttemptFiles } from "./attempt-files.ts";
import { partFiles, partsOf } from "./attempt-parts.ts";
import type { LogSource } from "./log-reader.ts";

const KEPT_MAX = 64;
/** Ranks of all kept attempts: a directory takes about 120 bytes. */
const KEPT_RANKS_MAX = 200_000;

/** Directories by rank. */
type WorkerDirs = readonly string[];

export class LogSources {
  readonly #dirs = new Map<string, WorkerDirs>();
  readonly #ranksMax: number;
  #rankCount = 0;

  /** `ranksMax`: ranks of all kept attempts. The newest attempt is kept, however large. */
  constructor(ranksMax = KEPT_RANKS_MAX) {
    this.#ranksMax = ranksMax;
  }

  /** `null`: the attempt has no records here. */
  sourceOf(files: AttemptFiles): LogSource | null {
    const dirs = this.#dirsOf(files);
    if (dirs === null) return null;
    return {
      workerDir: (worker) => dirs[worker] ?? files.workerDir(worker),
      workerCount: dirs.length,
      hasEnded: () => files.readIfSound("exit.json") !== null || !files.has("launch.json"),
    };
  }

  #dirsOf(files: AttemptFiles): WorkerDirs | null {
    const { name } = files.key;
    const known = this.#dirs.get(name);
    // The files of an ended attempt are removed at some time.
    if (known !== undefined && files.has("launch.json")) return known;
    this.#forget(name);
    const launch = files.readIfSound("launch.json");
    if (launch === null) return null;
    const dirs = launch.environments.map((_, rank) => files.workerDir(rank));
    for (const [part, { ranks }] of partsOf(launch).entries()) {
      const own = partFiles(files.key, part);
      for (const [worker, rank] of ranks.entries()) dirs[rank] = own.workerDir(worker);
    }
    this.#dirs.set(name, dirs);
    this.#rankCount += dirs.length;
    for (const oldest of this.#dirs.keys()) {
      if (oldest === name || (this.#dirs.size <= KEPT_MAX && this.#rankCount <= this.#ranksMax)) break;
      this.#forget(oldest);
    }
    return dirs;
  }

  #forget(name: string): void {
    this.#rankCount -= this.#dirs.get(name)?.length ?? 0;
    this.#dirs.delete(name);
  }
}
