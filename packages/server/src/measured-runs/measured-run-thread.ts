/** The thread that predicts and measures attempts: a prediction is a search that may take a second. */
import { parentPort, workerData } from "node:worker_threads";
import type { MeasuredRunAnswer, MeasuredRunRequest, MeasuredRunThreadData } from "./measured-run-messages.ts";
import { MeasuredRuns } from "./measured-runs.ts";

const runs = new MeasuredRuns(workerData as MeasuredRunThreadData);

parentPort?.on("message", (request: MeasuredRunRequest) => {
  const answer: MeasuredRunAnswer = {
    ...runs.answer(request),
    correction: runs.correction,
    problems: runs.takeProblems(),
  };
  parentPort?.postMessage(answer);
  if (request.kind === "close") parentPort?.close();
});
