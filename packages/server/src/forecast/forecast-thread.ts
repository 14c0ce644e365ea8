/** Answers forecast questions on forks of the live state, outside the driver's event loop. */
import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import type { Engine } from "@headroom/engine";
import {
  LiveCalibration,
  estimateStarts,
  forecastPresentOf,
  presentOf,
  usualEstimateOptions,
  whatIf,
} from "@headroom/sim";
import type { Present, StartEstimate as EstimatedStart } from "@headroom/sim";
import {
  StartListings,
  applyForecastView,
  changeForecastView,
  defragmentationView,
  drillForecast,
  estimateView,
  forecastView,
  orderAdviceView,
  stagingEstimate,
  startingChangesView,
  whatIfView,
} from "@headroom/views";
import type { StartEstimator } from "@headroom/views";
import { makesRoom } from "./makes-room.ts";
import type {
  ForecastAnswers,
  ForecastOutcome,
  ForecastQuestion,
  ForecastReply,
  ForecastRequest,
} from "./forecast-question.ts";

/** Calibration of forecasts. A new thread starts with an empty one. */
const calibration = new LiveCalibration();

const rangesAt = (engine: Engine, nowMs: number, past = engine.state): readonly EstimatedStart[] =>
  estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: calibration.ranges, past });

/**
 * Adds the time of the question to the answer. Relative times in sentences count from it; instants stay those of the
 * forecast.
 */
function told(starts: readonly EstimatedStart[], askedMs: number): ReturnType<StartEstimator> {
  const { accuracy } = calibration;
  return starts.map((each) => ({ ...each, atMs: askedMs, ...(accuracy !== null && { accuracy }) }));
}

/**
 * Estimates for a fork of the present that contains work which is not submitted. The calibration learns nothing from
 * these estimates.
 */
const imagined =
  ({ engine, nowMs }: Present): StartEstimator =>
  (fork) =>
    told(rangesAt(fork, nowMs, engine.state), nowMs);

/** The forecast of the newest state. All questions at the same sequence get the same forecast. */
let forecast: { readonly sequence: number; readonly nowMs: number; readonly starts: readonly EstimatedStart[] } | null =
  null;

function forecastOf({ engine, sequence, nowMs }: Present): readonly EstimatedStart[] {
  if (forecast?.sequence !== sequence || forecast.nowMs !== nowMs) {
    const starts = rangesAt(engine, nowMs);
    calibration.recordRange(engine.state, starts, nowMs);
    forecast = { sequence, nowMs, starts };
  }
  return forecast.starts;
}

const listings = new StartListings();

interface Asked {
  readonly snapshot: Uint8Array;
  readonly nowMs: number;
}

function answer(question: ForecastQuestion, { snapshot, nowMs }: Asked): ForecastAnswers[ForecastQuestion["kind"]] {
  const isOfForecast = question.kind === "estimate" || question.kind === "estimates" || question.kind === "whatIf";
  const present = isOfForecast ? forecastPresentOf(snapshot, nowMs) : presentOf(snapshot, nowMs);
  const { engine } = present;
  calibration.learn(engine.state, nowMs);
  switch (question.kind) {
    case "changes":
      return startingChangesView(engine, question.id);
    case "estimate": {
      const found = forecastOf(present).filter(({ workloadId }) => workloadId === question.id);
      return (
        told(found, nowMs).map((each) => estimateView(engine, each))[0] ?? stagingEstimate(engine, question.id, nowMs)
      );
    }
    case "estimates": {
      const { query, readable } = question;
      if (typeof query.cursor === "string") return listings.goOn(query.cursor, query.limit, readable);
      return listings.begin(engine, () => told(forecastOf(present), nowMs), { ...query, readable });
    }
    case "defragmentation":
      return defragmentationView(engine);
    case "orderAdvice":
      return orderAdviceView(engine, question.query, nowMs);
    case "forecast":
      return forecastView(engine, question, imagined(present));
    case "changeWorkload":
      return changeForecastView(engine, question, imagined(present));
    case "apply":
      return applyForecastView(engine, question, imagined(present));
    case "makesRoom": {
      const first = question.commands.findIndex((command) => makesRoom(engine, question.waiting, command));
      return first < 0 ? null : first;
    }
    case "drill":
      return drillForecast(present, question, whatIf);
    case "whatIf":
      return whatIfView(present, question, whatIf, forecastOf(present));
  }
}

parentPort?.on("message", ({ question, snapshot, nowMs }: ForecastRequest) => {
  let outcome: ForecastOutcome;
  try {
    outcome = { kind: "answered", answer: answer(question, { snapshot, nowMs }) };
  } catch (error) {
    outcome = { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  const reply: ForecastReply = { outcome, heapBytes: getHeapStatistics().total_heap_size };
  parentPort?.postMessage(reply);
});
