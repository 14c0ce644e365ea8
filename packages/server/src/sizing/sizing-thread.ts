/** Answers questions to the performance model outside the driver's event loop: a search may take a second. */
import { parentPort } from "node:worker_threads";
import { answerSizing, type SizingQuestion } from "@headroom/perf";
import type { SizingOutcome } from "./sizing-service.ts";

parentPort?.on("message", (question: SizingQuestion) => {
  let outcome: SizingOutcome;
  try {
    outcome = { kind: "answered", answer: answerSizing(question) };
  } catch (error) {
    outcome = { kind: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  parentPort?.postMessage(outcome);
});
