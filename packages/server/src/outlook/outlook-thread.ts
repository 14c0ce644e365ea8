/** Answers questions about the time to come on forks of the live state, away from the driver's event loop. */
import { parentPort } from "node:worker_threads";
import type { Engine } from "@headroom/engine";
import { estimateStarts, presentOf, usualEstimateOptions, whatIf } from "@headroom/sim";
import type { Present } from "@headroom/sim";
import {
  StartListings,
  applyForecastView,
  defragmentationView,
  estimateView,
  forecastView,
  startingChangesView,
  whatIfView,
} from "@headroom/views";
import type { StartEstimator } from "@headroom/views";
import type { OutlookAnswers, OutlookOutcome, OutlookQuestion, OutlookRequest } from "./outlook-question.ts";

const estimates =
  (nowMs: number): StartEstimator =>
  (engine) =>
    estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null }).map((each) => ({
      ...each,
      atMs: nowMs,
    }));

const listings = new StartListings();

function estimate(engine: Engine, id: string, nowMs: number): OutlookAnswers["estimate"] {
  const found = estimates(nowMs)(engine).find(({ workloadId }) => workloadId === id);
  return found === undefined ? null : estimateView(engine, found);
}

function answer(present: Present, question: OutlookQuestion): OutlookAnswers[OutlookQuestion["kind"]] {
  const { engine, nowMs } = present;
  switch (question.kind) {
    case "changes":
      return startingChangesView(engine, question.id);
    case "estimate":
      return estimate(engine, question.id, nowMs);
    case "estimates": {
      const { cursor, limit } = question.query;
      if (typeof cursor === "string") return listings.goOn(cursor, limit);
      return listings.begin(engine, estimates(nowMs), question.query);
    }
    case "defragmentation":
      return defragmentationView(engine);
    case "forecast":
      return forecastView(engine, question, estimates(nowMs));
    case "apply":
      return applyForecastView(engine, question, estimates(nowMs));
    case "whatIf":
      return whatIfView(present, question, whatIf);
  }
}

parentPort?.on("message", ({ question, snapshot, nowMs }: OutlookRequest) => {
  let outcome: OutlookOutcome;
  try {
    outcome = { kind: "answered", answer: answer(presentOf(snapshot, nowMs), question) };
  } catch (error) {
    outcome = { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort?.postMessage(outcome);
});
