import type { AttemptMetrics, HeadroomClient, Workload } from "@headroom/protocol";
import { useEffect, useState } from "react";
import { useSession } from "../../../connect/session.ts";
import { REPORTS_POLL_MS } from "../../../live/use-live-query.ts";
import type { ProgressPoint } from "./progress-history.ts";

/** Maximum number of attempts whose reports are drawn. If an array has more tasks, the first ones are drawn. */
const ATTEMPTS_MAX = 100;

export interface ReportedProgress {
  readonly points: readonly ProgressPoint[];
  /** Attempts with lines in their progress file that are not reports. */
  readonly rejected: readonly Pick<AttemptMetrics, "attemptId" | "rejectedLines">[];
}

const nothingYet: ReportedProgress = { points: [], rejected: [] };

/**
 * Reads the reports of a workload's attempts. While the workload runs, the page with the newest reports is read again.
 */
export function useProgress({ id, phase }: Workload): ReportedProgress {
  const { client } = useSession();
  const [reported, setReported] = useState(nothingYet);
  const isRunning = phase === "running";
  useEffect(() => {
    const abort = new AbortController();
    const reader = new ProgressReader(client, id);
    const read = async (): Promise<void> => {
      if (document.hidden) return;
      const read = await reader.read(abort.signal);
      if (!abort.signal.aborted) setReported(read);
    };
    // The request was aborted, or the control plane cannot be reached; the page shows this elsewhere. The next turn
    // reads again.
    const turn = (): void => void read().catch(() => undefined);
    turn();
    const timer = isRunning ? setInterval(turn, REPORTS_POLL_MS) : undefined;
    return () => {
      clearInterval(timer);
      abort.abort(new Error("the page was left"));
    };
  }, [client, id, isRunning]);
  return reported;
}

/** Reads pages of reports. A page that is followed by another one is complete, because later attempts are appended. */
class ProgressReader {
  readonly #client: HeadroomClient;
  readonly #id: string;
  readonly #complete: AttemptMetrics[] = [];
  #cursor: string | undefined;

  constructor(client: HeadroomClient, id: string) {
    this.#client = client;
    this.#id = id;
  }

  async read(signal: AbortSignal): Promise<ReportedProgress> {
    for (;;) {
      const page = await this.#client.metrics(this.#id, { cursor: this.#cursor }, { signal });
      if (page.nextCursor === null || this.#complete.length >= ATTEMPTS_MAX)
        return reportedOf([...this.#complete, ...page.items]);
      this.#complete.push(...page.items);
      this.#cursor = page.nextCursor;
    }
  }
}

const reportedOf = (attempts: readonly AttemptMetrics[]): ReportedProgress => ({
  points: attempts.flatMap(({ progress }) => progress),
  rejected: attempts.filter(({ rejectedLines }) => rejectedLines !== undefined),
});
