/** A run beside its prediction in words. */
import type { MeasuredRun } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

const parts = { compute: "computation", network: "the network", storage: "storage" } as const;
const rest = "it reports no computeSeconds, networkSeconds or storageSeconds, so the cause is not known";

/** `null`: the run is not slow. */
export function slowRunText(run: Pick<MeasuredRun, "slow" | "measured" | "acceleratorType">): string | null {
  const { slow, measured, acceleratorType } = run;
  if (slow === null || measured === null) return null;
  const { expectedSeconds, excessShare, responsible, otherRuns } = slow;
  const ground = otherRuns === 0 ? "by the model alone" : `by ${plural(otherRuns, "other run")} of its kind`;
  const cause = responsible === null ? rest : `${parts[responsible]} takes most of the difference`;
  return (
    `${Math.round(excessShare * 100)}% slower than predicted for its kind on ${acceleratorType}: ` +
    `${stepText(measured.seconds)} a step, expected ${stepText(expectedSeconds)} ${ground}; ${cause}`
  );
}

/** Three significant figures: `0.213 s`, `1.52 s`, `12.4 s`. */
export function stepText(seconds: number): string {
  return seconds >= 100 ? `${Math.round(seconds)} s` : `${seconds.toPrecision(3)} s`;
}

/** `predicted 1.20 s (80%: 1.05 s to 1.40 s), measured 1.31 s over 420 steps, 9% slower`. */
export function stepComparisonText({ predicted, measured }: Pick<MeasuredRun, "predicted" | "measured">): string {
  const { seconds, lowSeconds, highSeconds } = predicted;
  const expected = `predicted ${stepText(seconds)} (80%: ${stepText(lowSeconds)} to ${stepText(highSeconds)})`;
  if (measured === null) return `${expected}, not measured yet`;
  const difference = Math.round((measured.seconds / seconds - 1) * 100);
  const words = difference === 0 ? "as predicted" : `${Math.abs(difference)}% ${difference > 0 ? "slower" : "faster"}`;
  return `${expected}, measured ${stepText(measured.seconds)} over ${plural(measured.steps, "step")}, ${words}`;
}
