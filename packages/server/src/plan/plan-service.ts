/**
 * The capacity plan of this control plane. A user stores the documents; they are solved once, on a thread that ends with the answer,
 * because the memory of the solver only grows. Reading the plan costs nothing.
 */
import { ThreadCalls, isOutOfMemory } from "@headroom/platform";
import { refuse } from "@headroom/protocol";
import type { PlanDocuments, PlanStored, StoredPlan } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import { readStoredPlan, writeStoredPlan } from "./plan-file.ts";
import type { PlanAnswer } from "./plan-thread.ts";

interface PlanServiceOptions {
  readonly home: string;
  readonly log: Pick<DriverLog, "warn">;
  readonly nowMs: () => number;
  /** Maximum time of an answer in ms; default 60 s. */
  readonly answerMsMax?: number;
}

const ANSWER_MS_MAX = 60_000;
const HEAP_MIB_MAX = 512;
/** Plans that wait for the one in work. At up to a minute each, clients would give up before later ones are answered. */
const WAITING_MAX = 2;

interface Storing {
  readonly actor: string;
  readonly dryRun: boolean;
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal;
}

export class PlanService {
  readonly #options: PlanServiceOptions;
  #stored: StoredPlan;
  /** Settles when the plan in work has ended. */
  #last: Promise<unknown> = Promise.resolve();
  #pendingCount = 0;
  readonly #closing = new AbortController();

  constructor(options: PlanServiceOptions) {
    this.#options = options;
    this.#stored = readStoredPlan(options.home, options.log);
  }

  get stored(): StoredPlan {
    return this.#stored;
  }

  /** Solves the documents, and stores them unless it is a dry run. */
  async store(documents: PlanDocuments, storing: Storing): Promise<PlanStored> {
    if (this.#closing.signal.aborted) throw closing();
    if (this.#pendingCount > WAITING_MAX)
      throw refuse("overloaded", `${this.#pendingCount} plans are being solved already; try again in a minute.`);
    this.#pendingCount += 1;
    const turn = this.#last.then(() => this.#solveAndStore(documents, storing));
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#pendingCount -= 1;
    }
  }

  async #solveAndStore(documents: PlanDocuments, { actor, dryRun, gone }: Storing): Promise<PlanStored> {
    const answer = await this.#solve(documents, gone);
    if (answer.kind === "failed") throw new Error(`the plan could not be solved: ${answer.message}`);
    if (answer.kind === "refused") {
      const [first] = answer.problems;
      const place = first === undefined ? "" : ` ${first.pointer}: ${first.message}.`;
      throw refuse("invalidRequest", `The documents are not valid.${place}`, { errors: [...answer.problems] });
    }
    // The answer of the thread is plain data in the form of the API; the API validates it as every answer.
    const solved = answer.solved as PlanStored["solved"];
    if (!dryRun) {
      const stored: StoredPlan = { storedAtMs: this.#options.nowMs(), actor, documents, solved };
      writeStoredPlan(this.#options.home, stored);
      this.#stored = stored;
    }
    return { dryRun, solved };
  }

  async #solve(documents: PlanDocuments, gone: AbortSignal): Promise<PlanAnswer> {
    const { answerMsMax = ANSWER_MS_MAX } = this.#options;
    const stop = AbortSignal.any([gone, this.#closing.signal, AbortSignal.timeout(answerMsMax)]);
    const refusal = (): Error => (this.#closing.signal.aborted ? closing() : tooLong(answerMsMax));
    if (stop.aborted) throw refusal();
    const thread = new ThreadCalls<PlanDocuments, PlanAnswer>(
      new URL("./plan-thread.ts", import.meta.url),
      null,
      HEAP_MIB_MAX,
    );
    const end = (): void => void thread.terminate();
    stop.addEventListener("abort", end, { once: true });
    try {
      return await thread.call(documents);
    } catch (error) {
      if (stop.aborted) throw refusal();
      throw isOutOfMemory(error) ? tooLarge() : error;
    } finally {
      stop.removeEventListener("abort", end);
      await thread.terminate();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
  }
}

const closing = (): Error => refuse("closing", "The control plane is closing.");

function tooLong(afterMs: number): Error {
  return refuse(
    "tookTooLong",
    `The plan was cancelled after ${afterMs / 1000} s. Use fewer months, options or levels of demand, or headroom plan FILE on your machine.`,
  );
}

function tooLarge(): Error {
  return refuse(
    "tookTooLong",
    `The plan was cancelled: it needs more than ${HEAP_MIB_MAX} MiB of memory. Use fewer months, options or levels of demand.`,
  );
}
