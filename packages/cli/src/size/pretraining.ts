/** A training run from the first to the last token, with usual values for what a question about capacity leaves open. */
import { completeTraining } from "@headroom/perf";
import type { OpenTrainingSizing, TrainingReport } from "@headroom/perf";

interface Pretraining extends Pick<OpenTrainingSizing, "model" | "tokens" | "acceleratorCount"> {
  readonly accelerator: string;
  readonly pricePerAcceleratorHour?: number;
}

/** The report of the run, or the reason why it is impossible. */
export function sizePretraining(asked: Pretraining): TrainingReport | string {
  const completed = completeTraining({
    pricePerAcceleratorHour: 0,
    ...asked,
    method: { kind: "full" },
    restartSeconds: 300,
    scaling: "strong",
    checkpointOverlapped: false,
    checkpointGbPerS: 100,
    tiers: [],
  });
  const answer = "answer" in completed ? completed.answer : completed;
  return answer.kind === "impossible" ? answer.reason : answer;
}
