/** Runs the performance model in a worker, so that a search that takes seconds never blocks a slider. */
import { answerSizing } from "@headroom/perf";
import type { SizingQuestion } from "@headroom/perf";

addEventListener("message", (event: MessageEvent<SizingQuestion>) => {
  postMessage(answerSizing(event.data));
});
