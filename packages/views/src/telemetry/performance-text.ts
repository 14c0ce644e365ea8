/** The slow ranks and the bottleneck of an attempt in words. */
import type { AttemptPerformance } from "@headroom/protocol";
import { stepText } from "../slow-run-text.ts";

const bounds: Record<NonNullable<AttemptPerformance["bottleneck"]>["bound"], string> = {
  compute: "computation",
  memory: "memory traffic",
  computeOrMemory: "computation or memory traffic (counters of memory are not measured)",
  io: "input and output",
  network: "the network",
};

export function performanceSentences({
  stragglers,
  bottleneck,
}: Pick<AttemptPerformance, "stragglers" | "bottleneck">): readonly string[] {
  return [...rankSentences(stragglers), bottleneckSentence(bottleneck)];
}

function rankSentences(stragglers: AttemptPerformance["stragglers"]): readonly string[] {
  if (stragglers === null) return ["Ranks are not compared: its workers report no step times."];
  const { ranks, comparedRanks, step } = stragglers;
  if (comparedRanks < RANKS_COMPARED_MIN)
    return [`Ranks are not compared: ${comparedRanks} reported step ${step}, ${RANKS_COMPARED_MIN} are needed.`];
  if (ranks.length === 0) return [`No rank is slow: ${comparedRanks} ranks were compared up to step ${step}.`];
  return ranks.map(
    ({ rank, nodeId, slowerPercent, sinceStep, part }) =>
      `Rank ${rank}${nodeId === null ? "" : ` on ${nodeId}`} is ${part?.slowerPercent ?? slowerPercent}% slower${part === undefined ? "" : ` in ${part.name}`} than the median of ${comparedRanks} ranks since step ${sinceStep}${part === undefined ? "" : ` (the whole step: ${slowerPercent}%)`}.`,
  );
}

/** Fewer ranks have no median that says something. */
const RANKS_COMPARED_MIN = 4;

function bottleneckSentence(bottleneck: AttemptPerformance["bottleneck"]): string {
  if (bottleneck === null)
    return "The bottleneck is not measured: report computeSeconds, networkSeconds and storageSeconds among the metrics of its progress.";
  const { bound, share, ground, stepSeconds } = bottleneck;
  const percent = `${Math.round(100 * share)}%`;
  if (ground === "idle") return `Bound by ${bounds[bound]}: its accelerators wait for ${percent} of the time.`;
  if (ground === "counters")
    return `Bound by ${bounds[bound]}: active for ${percent} of the time by counters of accelerators.`;
  return `Bound by ${bounds[bound]}: ${percent} of a step${stepSeconds === null ? "" : ` of ${stepText(stepSeconds)}`}.`;
}
