/** Reads one workload's log stream into a buffer while the panel is mounted. */
import { ProblemError } from "@headroom/protocol";
import type { HeadroomClient, LogChunk, LogQuery } from "@headroom/protocol";
import { useEffect, useState } from "react";
import { useClient } from "../../../connect/session.ts";
import { problemText } from "../../../format/problem-text.ts";
import { LogBuffer, type LogLine } from "./log-buffer.ts";

export interface LogState {
  readonly lines: readonly LogLine[];
  readonly droppedCount: number;
  readonly longestChars: number;
  readonly phase: "connecting" | "following" | "ended" | "interrupted";
  readonly detail: string;
}

const nothing: LogState = { lines: [], droppedCount: 0, longestChars: 0, phase: "connecting", detail: "" };

/** Number of past lines that are read at first. Older lines are in the log files; `headroom logs` prints them. */
const TAIL_LINES = 5_000;
/** Time in ms for which chunks are gathered into one update of the screen. */
const FLUSH_MS = 100;
const RETRY_MS = 3_000;

type Selection = Pick<LogQuery, "attempt" | "worker">;

export function useLogs(workloadId: string, { attempt, worker }: Selection): LogState {
  const client = useClient();
  const [state, setState] = useState<LogState>(nothing);
  useEffect(() => {
    setState(nothing);
    const abort = new AbortController();
    void followLogs({ client, workloadId, selection: { attempt, worker }, signal: abort.signal, onState: setState });
    return () => abort.abort(new Error("the log is not shown any more"));
  }, [client, workloadId, attempt, worker]);
  return state;
}

interface Following {
  readonly client: HeadroomClient;
  readonly workloadId: string;
  readonly selection: Selection;
  readonly signal: AbortSignal;
  readonly onState: (state: LogState) => void;
}

async function followLogs(following: Following): Promise<void> {
  const { signal } = following;
  while (!signal.aborted) {
    const outcome = await followOnce(following);
    if (signal.aborted || outcome === "over") return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * Reads from the newest lines until the stream ends. Every connection fills its own buffer, so that no line appears
 * twice.
 */
async function followOnce({ client, workloadId, selection, signal, onState }: Following): Promise<"over" | "again"> {
  const buffer = new LogBuffer();
  let pending: LogChunk[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const show = (phase: LogState["phase"], detail = ""): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    buffer.add(pending);
    pending = [];
    if (phase === "ended") buffer.finish();
    const { lines, droppedCount, longestChars } = buffer;
    if (!signal.aborted) onState({ lines, droppedCount, longestChars, phase, detail });
  };
  timer = setTimeout(() => show("following"), FLUSH_MS);
  try {
    for await (const chunk of client.logs(workloadId, { ...selection, follow: true, tailLines: TAIL_LINES, signal })) {
      pending.push(chunk);
      timer ??= setTimeout(() => show("following"), FLUSH_MS);
    }
    show("ended");
    return "over";
  } catch (error) {
    show("interrupted", problemText(error).detail);
    // A missing attempt or an unreachable control plane can appear later; a refusal is final.
    const isPassing =
      !(error instanceof ProblemError) || error.problem.status >= 500 || error.code === "unknownAttempt";
    return isPassing && !(error instanceof ProblemError && error.code === "notSupported") ? "again" : "over";
  }
}
