import { firstSequenceToRead, type EventEnvelope, type Workload } from "@headroom/protocol";
import { Story } from "@headroom/views";
import { useEffect, useState } from "react";
import { useSession } from "../../../connect/session.ts";
import { emptyHistory, extend, type History, type ProgressPoint } from "./progress-history.ts";
import { useProgress, type ReportedProgress } from "./use-progress.ts";

interface EventHistory extends History {
  readonly isLoading: boolean;
  /** Whether older lines of the history are left out. */
  readonly isCut: boolean;
}

export interface WorkloadHistory extends EventHistory {
  /** Reports of the workload's attempts, oldest first. */
  readonly points: readonly ProgressPoint[];
  /** Attempts with lines in their progress file that are not reports. */
  readonly rejected: ReportedProgress["rejected"];
}

const nothingYet: EventHistory = { ...emptyHistory, isLoading: true, isCut: false };

/** Number of past events read between two updates of the screen. */
const BATCH = 2_000;

/** Reads a workload's past events, then follows new ones. Restarts only for another workload. */
export function useHistory(workload: Workload): WorkloadHistory {
  const { client, feed } = useSession();
  const [history, setHistory] = useState<EventHistory>(nothingYet);
  const { id, submittedAtMs } = workload;
  // Attempts known at the start. Later attempts are added from their placement events.
  const [story] = useState(() => new Story(id));
  for (const attempt of workload.attempts) story.learn(attempt);

  useEffect(() => {
    const abort = new AbortController();
    const head = feed.state.lastSequence;
    const take = (batch: readonly EventEnvelope[]): void => {
      setHistory((now) => {
        const next = extend(now, batch, story);
        return next === now ? now : { ...now, ...next };
      });
    };
    const live: EventEnvelope[] = [];
    let isCaughtUp = false;
    const leave = feed.subscribe((batch) => {
      const fresh = batch.filter(({ sequence }) => sequence > head);
      if (isCaughtUp) take(fresh);
      else live.push(...fresh);
    });
    const read = async (): Promise<void> => {
      const { from, isCut } = await firstSequenceToRead(client, { submittedAtMs, head });
      let batch: EventEnvelope[] = [];
      if (from <= head) {
        for await (const envelope of client.events({ from, signal: abort.signal })) {
          if (envelope.sequence <= head) batch.push(envelope);
          if (batch.length >= BATCH) {
            take(batch);
            batch = [];
          }
          if (envelope.sequence >= head) break;
        }
      }
      take([...batch, ...live]);
      isCaughtUp = true;
      setHistory((now) => ({ ...now, isLoading: false, isCut }));
    };
    read().catch(() => {
      // The request was aborted, or the control plane cannot be reached; the page shows this elsewhere. Live events are
      // still shown.
      isCaughtUp = true;
      if (!abort.signal.aborted) setHistory((now) => ({ ...now, isLoading: false, isCut: true }));
    });
    return () => {
      leave();
      abort.abort(new Error("the page was left"));
    };
  }, [client, feed, submittedAtMs, story]);
  return { ...history, ...useProgress(workload) };
}
