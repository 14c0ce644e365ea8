/**
 * The capacity plan of this control plane. A user stores the documents; they are solved once, on a thread that ends with the answer,
 * because the memory of the solver only grows. Reading the plan costs nothing.
 */
import { refuse } from "@headroom/protocol";
import type { PlanDocuments, PlanStored, StoredPlan } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import { OneAtATime } from "../threads/one-at-a-time.ts";
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
  readonly #solving: OneAtATime<PlanDocuments, PlanAnswer>;

  constructor(options: PlanServiceOptions) {
    this.#options = options;
    this.#stored = readStoredPlan(options.home, options.log);
    this.#solving = new OneAtATime({
      thread: new URL("./plan-thread.ts", import.meta.url),
      heapMibMax: HEAP_MIB_MAX,
      answerMsMax: options.answerMsMax ?? ANSWER_MS_MAX,
      waitingMax: WAITING_MAX,
      name: "plans",
      advice: "Use fewer months, options or levels of demand, or headroom plan FILE on your machine.",
    });
  }

  get stored(): StoredPlan {
    return this.#stored;
  }

  /** Solves the documents, and stores them unless it is a dry run. */
  async store(documents: PlanDocuments, { actor, dryRun, gone }: Storing): Promise<PlanStored> {
    const answer = await this.#solving.call(documents, gone);
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

  close(): Promise<void> {
    return this.#solving.close();
  }
}
