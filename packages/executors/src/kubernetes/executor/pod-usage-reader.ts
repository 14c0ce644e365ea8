/** Asks the containers of an attempt for their usage. Answers are kept for some seconds, and only a few containers are asked at a time. */
import type { WorkerUsage } from "../../executor.ts";
import type { Connection } from "../api/connection.ts";
import { allOf } from "./pod-actions.ts";
import { startPodExec } from "./pod-exec.ts";
import { USAGE_ANSWER_BYTES, USAGE_COMMAND, usageIn } from "./pod-usage.ts";
import type { PodPlace } from "./watched-gang.ts";

/** Age in ms at which an answer is asked for again, and attempts whose answers are kept. */
const FRESH_MS = 10_000;
const KEPT_MAX = 200;
/** Workers of an attempt that are asked: a gang of thousands would hold up the API server. */
const WORKERS_MAX = 64;
const ANSWER_TIMEOUT_MS = 5_000;

interface UsageAnswer {
  readonly atMs: number;
  readonly workers: Promise<readonly WorkerUsage[]>;
}

export class PodUsage {
  readonly #connection: Connection;
  readonly #answers = new Map<string, UsageAnswer>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Workers that do not answer are missing: their container has ended, shows no control group, or may not be asked. */
  of(place: PodPlace, workerCount: number): Promise<readonly WorkerUsage[]> {
    const nowMs = performance.now();
    const known = this.#answers.get(place.base);
    if (known !== undefined && nowMs - known.atMs < FRESH_MS) return known.workers;
    const ranks = Array.from({ length: Math.min(workerCount, WORKERS_MAX) }, (_, rank) => rank);
    const workers = allOf(ranks, (rank) => this.#usageOf(place, rank)).then((all) =>
      all.filter((each) => each !== null),
    );
    this.#answers.delete(place.base);
    this.#answers.set(place.base, { atMs: nowMs, workers });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > KEPT_MAX && oldest !== undefined) this.#answers.delete(oldest);
    return workers;
  }

  async #usageOf(place: PodPlace, worker: number): Promise<WorkerUsage | null> {
    try {
      const request = { worker, command: USAGE_COMMAND, terminal: null };
      const session = await startPodExec(this.#connection, place, "", request);
      const timer = setTimeout(() => session.close(), ANSWER_TIMEOUT_MS);
      let text = "";
      for await (const { stream, data } of session.output()) {
        if (stream === "stdout") text += Buffer.from(data).toString("latin1");
        if (text.length > USAGE_ANSWER_BYTES) break;
      }
      clearTimeout(timer);
      session.close();
      return usageIn(text, worker);
    } catch {
      return null;
    }
  }
}
