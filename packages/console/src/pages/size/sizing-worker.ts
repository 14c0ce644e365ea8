/** Answers questions to the performance model beside the page, so that a search of seconds never holds a slider. */
import { answerSizing } from "@headroom/perf";
import type { SizingQuestion } from "@headroom/perf";

addEventListener("message", (event: MessageEvent<SizingQuestion>) => {
  postMessage(answerSizing(event.data));
});
