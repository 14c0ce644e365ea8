/**
 * Directories of the logs of gangs with parts. The launch record of a large gang has the environments of all workers, and a search
 * reads each stream by itself, so the directories of the newest attempts are kept. A launch record does not change.
 */
import type { AttemptFiles } from "./attempt-files.ts";
import { partFiles, partsOf } from "./attempt-parts.ts";
import type { LogSource } from "./log-reader.ts";

const KEPT_MAX = 64;

/** Directories by rank. */
type WorkerDirs = readonly string[];

export class LogSources {
  readonly #dirs = new Map<string, WorkerDirs>();

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
    this.#dirs.delete(name);
    const launch = files.readIfSound("launch.json");
    if (launch === null) return null;
    const dirs = launch.environments.map((_, rank) => files.workerDir(rank));
    for (const [part, { ranks }] of partsOf(launch).entries()) {
      const own = partFiles(files.key, part);
      for (const [worker, rank] of ranks.entries()) dirs[rank] = own.workerDir(worker);
    }
    this.#dirs.set(name, dirs);
    const [oldest = name] = this.#dirs.keys();
    if (this.#dirs.size > KEPT_MAX) this.#dirs.delete(oldest);
    return dirs;
  }
}
