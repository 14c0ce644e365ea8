/** Answers questions about offers from the feeds and documents in `offers/` of the state directory. */
import type { Offers, OffersQuery } from "@headroom/protocol";
import { OneAtATime } from "../threads/one-at-a-time.ts";
import type { OfferRequest, OfferResult } from "./offer-thread.ts";

interface OfferServiceOptions {
  readonly home: string;
  readonly nowMs: () => number;
}

const ANSWER_MS_MAX = 30_000;
const HEAP_MIB_MAX = 512;
const WAITING_MAX = 4;

export class OfferService {
  readonly #options: OfferServiceOptions;
  readonly #answers = new OneAtATime<OfferRequest, OfferResult>({
    thread: new URL("./offer-thread.ts", import.meta.url),
    heapMibMax: HEAP_MIB_MAX,
    answerMsMax: ANSWER_MS_MAX,
    waitingMax: WAITING_MAX,
    name: "comparisons of offers",
    advice: "Remove older feeds from offers/ of the state directory, or use headroom offers compare FILE.",
  });

  constructor(options: OfferServiceOptions) {
    this.#options = options;
  }

  async ask(query: OffersQuery, gone: AbortSignal): Promise<Offers> {
    const { home, nowMs } = this.#options;
    const atMs = nowMs();
    const result = await this.#answers.call({ home, conditions: query, nowMs: atMs }, gone);
    if (result.kind === "failed") throw new Error(`offers could not be compared: ${result.message}`);
    // The answer of the thread is plain data in the form of the API; the API validates it as every answer.
    const { answer, feeds, problems } = result;
    return {
      ...(answer as unknown as Omit<Offers, "feeds" | "problems" | "answeredAtMs">),
      feeds: [...feeds],
      problems: [...problems],
      answeredAtMs: atMs,
    };
  }

  close(): Promise<void> {
    return this.#answers.close();
  }
}
