/** Answers questions about the time to come on forks of the live state, away from the driver's event loop. */
import { parentPort } from "node:worker_threads";
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { estimateStarts, usualEstimateOptions, whatIf } from "@headroom/sim";
import {
  applyForecastView,
  defragmentationView,
  estimateView,
  forecastView,
  startingChangesView,
  whatIfView,
} from "@headroom/views";
import type { StartEstimator } from "@headroom/views";
import type { OutlookAnswers, OutlookOutcome, OutlookQuestion, OutlookRequest } from "./outlook-question.ts";

/** Enough for a chart across a page. */
const SAMPLES = 96;

/** The engine as of the snapshot; time has passed since its last event. */
function fork({ snapshot, nowMs }: OutlookRequest): Engine {
  const engine = restoreEngine(snapshot);
  engine.receive([{ kind: "tick" }], nowMs);
  engine.advance();
  return engine;
}

const estimates =
  (nowMs: number): StartEstimator =>
  (engine) =>
    estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null }).map((each) => ({
      ...each,
      atMs: nowMs,
    }));

function estimate(engine: Engine, id: string, nowMs: number): OutlookAnswers["estimate"] {
  const found = estimates(nowMs)(engine).find(({ workloadId }) => workloadId === id);
  return found === undefined ? null : estimateView(engine, found);
}

function answer(engine: Engine, question: OutlookQuestion, nowMs: number): OutlookAnswers[OutlookQuestion["kind"]] {
  switch (question.kind) {
    case "changes":
      return startingChangesView(engine, question.id);
    case "estimate":
      return estimate(engine, question.id, nowMs);
    case "defragmentation":
      return defragmentationView(engine);
    case "forecast":
      return forecastView(engine, question, estimates(nowMs));
    case "apply":
      return applyForecastView(engine, question, estimates(nowMs));
    case "whatIf": {
      const options = {
        nowMs,
        horizonMs: question.horizonMs,
        stepMs: Math.ceil(question.horizonMs / SAMPLES),
        seed: 1,
      };
      return whatIfView(engine, whatIf(engine, question.change, options), options);
    }
  }
}

parentPort?.on("message", (request: OutlookRequest) => {
  let outcome: OutlookOutcome;
  try {
    outcome = { kind: "answered", answer: answer(fork(request), request.question, request.nowMs) };
  } catch (error) {
    outcome = { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort?.postMessage(outcome);
});
