/** Reads and compares price feeds outside the event loop of the control plane. */
import { parentPort } from "node:worker_threads";
import { offerQuestion, offersAnswer } from "@headroom/usage";
import type { OffersAnswer, StatedConditions } from "@headroom/usage";
import { readOfferFiles, type OfferFiles } from "./offer-files.ts";

export interface OfferRequest {
  readonly home: string;
  readonly conditions: StatedConditions;
  readonly nowMs: number;
}

export type OfferResult =
  | ({ readonly kind: "answered"; readonly answer: OffersAnswer } & Pick<OfferFiles, "feeds" | "problems">)
  | { readonly kind: "failed"; readonly message: string };

/** Prices of a feed that is read daily are a month old at most. */
const STALE_AFTER_MS = 30 * 24 * 3_600_000;

function answer({ home, conditions, nowMs }: OfferRequest): OfferResult {
  const { rows, documents, feeds, problems } = readOfferFiles(home);
  const sources = { rows, documents, nowMs, staleAfterMs: STALE_AFTER_MS };
  return {
    kind: "answered",
    answer: offersAnswer(sources, offerQuestion(conditions)),
    feeds,
    problems,
  };
}

parentPort?.once("message", (request: OfferRequest) => {
  try {
    parentPort?.postMessage(answer(request));
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ kind: "failed", message } satisfies OfferResult);
  }
});
