/** Answers questions about the time to come on forks of the live state, away from the driver's event loop. */
import { parentPort } from "node:worker_threads";
import type { Engine } from "@headroom/engine";
import { LiveCalibration, estimateStarts, presentOf, usualEstimateOptions, whatIf } from "@headroom/sim";
import type { Present, StartEstimate as EstimatedStart } from "@headroom/sim";
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
import type { ForecastAnswers, ForecastOutcome, ForecastQuestion, ForecastRequest } from "./forecast-question.ts";

/** It begins anew with the thread. */
const calibration = new LiveCalibration();

const rangesAt = (engine: Engine, nowMs: number, past = engine.state): readonly EstimatedStart[] =>
  estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: calibration.ranges, past });

const told = (starts: readonly EstimatedStart[], atMs: number): ReturnType<StartEstimator> =>
  starts.map((each) => ({ ...each, atMs }));

/** Of a fork of the present, in which there is work that nobody has submitted: nothing is learned from what is told of it. */
const imagined =
  ({ engine, nowMs }: Present): StartEstimator =>
  (fork) =>
    told(rangesAt(fork, nowMs, engine.state), nowMs);

/** Of the present. */
const estimates =
  (nowMs: number): StartEstimator =>
  (engine) => {
    const starts = rangesAt(engine, nowMs);
    calibration.recordRange(engine.state, starts, nowMs);
    return told(starts, nowMs);
  };

const listings = new StartListings();

function estimate(engine: Engine, id: string, nowMs: number): ForecastAnswers["estimate"] {
  const found = estimates(nowMs)(engine).find(({ workloadId }) => workloadId === id);
  return found === undefined ? null : estimateView(engine, found);
}

function answer(present: Present, question: ForecastQuestion): ForecastAnswers[ForecastQuestion["kind"]] {
  const { engine, nowMs } = present;
  calibration.learn(engine.state, nowMs);
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
      return forecastView(engine, question, imagined(present));
    case "apply":
      return applyForecastView(engine, question, imagined(present));
    case "whatIf":
      return whatIfView(present, question, whatIf);
  }
}

parentPort?.on("message", ({ question, snapshot, nowMs }: ForecastRequest) => {
  let outcome: ForecastOutcome;
  try {
    outcome = { kind: "answered", answer: answer(presentOf(snapshot, nowMs), question) };
  } catch (error) {
    outcome = { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort?.postMessage(outcome);
});
