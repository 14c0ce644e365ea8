/** A training run from the first to the last token, with usual values for what a question about capacity leaves open. */
import type { OpenTrainingSizing, TrainingReport } from "@headroom/perf";

type CompleteTraining = typeof import("@headroom/perf").completeTraining;

interface Pretraining extends Pick<OpenTrainingSizing, "model" | "tokens" | "acceleratorCount"> {
  readonly accelerator: string;
  readonly pricePerAcceleratorHour?: number;
}

/** A function that gives the report of a run, or the reason why it is impossible. */
export async function pretrainingSizer(): Promise<(asked: Pretraining) => TrainingReport | string> {
  const { completeTraining } = await import("@headroom/perf");
  return (asked) => sized(completeTraining, asked);
}

function sized(completeTraining: CompleteTraining, asked: Pretraining): TrainingReport | string {
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
