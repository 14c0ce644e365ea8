/** Reports about the size of one attempt's gang: workers that were removed, and workers that failed to join. */
import type { AttemptId } from "@headroom/model";
import type { ExecutorInput } from "../executor.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";

export class SizeNews {
  readonly #files: AttemptFiles;
  /** Number of the request whose result is awaited; `null`: none. After a restart it is registered again. */
  #awaited: number | null = null;
  #failureTold = 0;

  constructor(files: AttemptFiles) {
    this.#files = files;
  }

  awaitLeaving(request: number): void {
    this.#awaited = request;
  }

  /** Reports of a running gang. */
  read(attemptId: AttemptId): readonly ExecutorInput[] {
    const news: ExecutorInput[] = [];
    const size = this.#files.read("size.json");
    const failure = size === null ? this.#refusal() : size.failure;
    if (failure !== null && failure.number > this.#failureTold) {
      this.#failureTold = failure.number;
      news.push({ kind: "joinFailed", attemptId, workers: failure.workers, detail: failure.detail });
    }
    if (this.#awaited !== null && (size?.request ?? 0) >= this.#awaited) {
      this.#awaited = null;
      news.push({ kind: "workersLeft", attemptId, ...(size === null ? {} : { workers: size.size }) });
    }
    return news;
  }

  /** A supervisor of an older release never answers. Its gang keeps the size with which it was launched. */
  #refusal(): { readonly number: number; readonly workers: number; readonly detail: string } | null {
    const wanted = this.#files.read("resize.json");
    if (wanted === null || this.#files.read("running.json")?.resizes === true) return null;
    const workers = this.#files.read("launch.json")?.environments.length ?? wanted.size;
    if (this.#awaited !== null && wanted.size >= workers) this.#awaited = 0;
    if (wanted.size <= workers && wanted.sizeMax <= workers) return null;
    return {
      number: wanted.joinerCount,
      workers,
      detail: "its supervisor is of a release that does not resize gangs",
    };
  }
}
