/** The present size of a gang as text. */
import type { Attempt, Workload } from "@headroom/protocol";
import { plural } from "./plain-text.ts";

/**
 * Text such as `3 of at most 4 workers, 1 leaving` for an active elastic gang. For other gangs only terminating workers
 * are mentioned.
 */
export function gangSizeText(attempt: Attempt, { workers: most, minWorkers }: Workload["gang"]): string {
  if (attempt.phase === "ended") return "";
  const { workers, terminating = [], joinFailure } = attempt;
  return [
    minWorkers === undefined ? "" : `${workers.length} of at most ${plural(most, "worker")}`,
    terminating.length === 0
      ? ""
      : minWorkers === undefined
        ? `${plural(terminating.length, "worker")} leaving`
        : `${terminating.length} leaving`,
    joinFailure === undefined ? "" : `further workers did not start: ${joinFailure.detail}`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}
