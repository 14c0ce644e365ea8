/** A run and its prediction, compared in words. */
import type { MeasuredRun } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

const parts = { compute: "computation", network: "the network", storage: "storage" } as const;
type Shown = Pick<MeasuredRun, "slow" | "measured" | "predicted" | "acceleratorType">;

/** The text; `null`: the run is not slow. */
export function slowRunText(run: Shown): string | null {
  const { slow, measured, acceleratorType } = run;
  if (slow === null || measured === null) return null;
  const { expectedSeconds, excessShare, otherRuns } = slow;
  const ground =
    otherRuns === 0 ? "from the performance model alone" : `from ${plural(otherRuns, "other run")} of its kind`;
  return (
    `${Math.round(excessShare * 100)}% slower than predicted for its kind on ${acceleratorType}: ` +
    `${stepText(measured.seconds)} a step, expected ${stepText(expectedSeconds)} ${ground}; ${causeText(slow, run)}`
  );
}

function causeText(
  { responsible, ground, missing }: NonNullable<Shown["slow"]>,
  { measured, predicted }: Shown,
): string {
  if (responsible === null) {
    if (missing.length === 0) return "the reported components do not explain the difference";
    // All components except one are enough: the last one is the rest of the step.
    const names = missing.length > 2 ? `two of ${missing.join(", ")}` : missing.join(" or ");
    return `the cause is unknown: report ${names} (seconds of a step) among the metrics of its progress`;
  }
  const known = measured?.parts[responsible] ?? null;
  const share = `${parts[responsible]} causes most of the difference`;
  if (known === null) return share;
  if (ground === "idle") return `${share}: its accelerators are idle for ${stepText(known)} of a step`;
  return `${share}: ${stepText(known)} of a step, while the prediction is ${stepText(predicted.parts[responsible])}`;
}

/** A time with three significant figures: `0.213 s`, `1.52 s`, `12.4 s`. */
export function stepText(seconds: number): string {
  if (seconds === 0) return "0 s";
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
