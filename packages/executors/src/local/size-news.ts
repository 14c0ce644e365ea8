/** What is to be told of the size of one attempt's gang: who has left, and who did not come. */
import type { AttemptId } from "@headroom/engine";
import type { ExecutorInput } from "../executor.ts";
import type { AttemptFiles } from "./attempt-files.ts";

export class SizeNews {
  readonly #files: AttemptFiles;
  /** The request for a size that somebody waits to hear of; `null`: nobody. Asked for again in each life of the control plane. */
  #awaited: number | null = null;
  #failureTold = 0;

  constructor(files: AttemptFiles) {
    this.#files = files;
  }

  awaitLeaving(request: number): void {
    this.#awaited = request;
  }

  /** Of a gang that runs. */
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

  /** A supervisor of an older release will never answer: nobody has joined, and nobody that it launched is asked to leave. */
  #refusal(): { readonly number: number; readonly workers: number; readonly detail: string } | null {
    const wanted = this.#files.read("resize.json");
    if (wanted === null || this.#files.read("running.json")?.resizes === true) return null;
    const workers = this.#files.read("launch.json")?.environments.length ?? wanted.size;
    if (this.#awaited !== null && wanted.size >= workers) this.#awaited = 0;
    if (wanted.size <= workers && wanted.sizeMax <= workers) return null;
    return { number: wanted.joinerCount, workers, detail: "its supervisor is of a release that does not resize gangs" };
  }
}
