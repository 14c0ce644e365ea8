/** A predicted run time in words, with its basis, for all places that show it. */
import { durationText, plural } from "./plain-text.ts";

interface Predicted {
  readonly durationMs: number;
  readonly runs: number;
  readonly corrections?: number | undefined;
}

/** The end of a sentence, such as `predicted to run 2 h 10 min, as the last 2 runs of its kind; stated: 24 h`. */
export function predictionText({ durationMs, runs, corrections = 0 }: Predicted, walltimeMs: number | null): string {
  const stated = walltimeMs === null ? "" : `; stated: ${durationText(walltimeMs)}`;
  const outlived = corrections === 0 ? "" : `, extended ${plural(corrections, "time")}`;
  return `predicted to run ${durationText(durationMs)}, by the last ${plural(runs, "run")} of its kind${outlived}${stated}`;
}
