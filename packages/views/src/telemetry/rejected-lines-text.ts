/** Sentences for the workload's author about lines of a progress file that are not reports. */
import type { AttemptMetrics } from "@headroom/protocol";
import { grouped, plural } from "../plain-text.ts";

type LineFaults = NonNullable<AttemptMetrics["rejectedLines"]>;

export function rejectedLinesText(attemptId: string, { count }: Pick<LineFaults, "count">): string {
  const verb = count === 1 ? "is not a report and was" : "are not reports and were";
  return `${plural(count, "line")} that ${attemptId} appended to HEADROOM_PROGRESS_FILE ${verb} ignored.`;
}

export interface RejectedLineText {
  /** `worker 0, step: expected number, received string (12 lines, the first:)`. */
  readonly problem: string;
  readonly line: string;
  readonly expected: string;
}

export const rejectedLineTexts = ({ faults }: Pick<LineFaults, "faults">): readonly RejectedLineText[] =>
  faults.map(({ problem, line, expected, worker, count }) => {
    const who = worker === null ? "a worker" : `worker ${worker}`;
    const more = count === 1 ? "" : ` (${grouped(count)} lines; the first is:)`;
    return { problem: `${who}: ${problem}${more}`, line, expected };
  });
