/** An attempt as spans on a common time scale: waiting, launching, running, and its result. */
import type { Attempt, ClosedBy, StopReason, Workload } from "@headroom/protocol";
import { closedByText } from "@headroom/views";
import type { Tone } from "../../parts/phase-badge.tsx";

export interface AttemptSpan {
  readonly kind: "waiting" | "launching" | "running";
  readonly fromMs: number;
  readonly toMs: number;
}

export interface AttemptLine {
  readonly attempt: Attempt;
  readonly spans: readonly AttemptSpan[];
  readonly tone: Tone;
  readonly word: string;
}

export function attemptLines(
  workload: Pick<Workload, "submittedAtMs" | "attempts">,
  nowMs: number,
): readonly AttemptLine[] {
  const endOfTask = new Map<number, number>();
  return workload.attempts.map((attempt) => {
    const readyAtMs = endOfTask.get(attempt.task) ?? workload.submittedAtMs;
    const endAtMs = attempt.phase === "ended" ? attempt.endedAtMs : Math.max(nowMs, attempt.placedAtMs);
    endOfTask.set(attempt.task, endAtMs);
    return { attempt, spans: spansOf(attempt, readyAtMs, endAtMs), ...wordFor(attempt) };
  });
}

function spansOf(attempt: Attempt, readyAtMs: number, endAtMs: number): AttemptSpan[] {
  const spans: AttemptSpan[] = [
    { kind: "waiting", fromMs: readyAtMs, toMs: attempt.placedAtMs },
    { kind: "launching", fromMs: attempt.placedAtMs, toMs: attempt.startedAtMs ?? endAtMs },
  ];
  if (attempt.startedAtMs !== null) spans.push({ kind: "running", fromMs: attempt.startedAtMs, toMs: endAtMs });
  return spans.filter(({ fromMs, toMs }) => toMs > fromMs);
}

const stopWords = {
  cancelled: "Stopped on request",
  walltimeExceeded: "Stopped at its walltime",
  nodeDrained: "Stopped to drain a node",
  nodeLost: "A node was lost",
  preempted: "Stopped for higher priority",
  reclaimed: "Stopped for another team",
  migrated: "Migrated to free capacity",
  incomplete: "Too few workers left",
  scaledDown: "Its endpoint needs fewer replicas",
  notReady: "Not ready in time",
  restarted: "Stopped for a restart",
  budgetSpent: "Its team's budget is used up",
} as const satisfies Record<StopReason, string>;

function wordFor(attempt: Attempt): { tone: Tone; word: string } {
  switch (attempt.phase) {
    case "launching":
      return { tone: "run", word: attempt.staging === undefined ? "Launching" : "Staging" };
    case "running":
      return { tone: "run", word: "Running" };
    case "stopping":
      if (attempt.stop?.checkpointUntilMs !== undefined) return { tone: "stop", word: "Writing a checkpoint" };
      return {
        tone: "stop",
        word: attempt.stop === null ? "Stopping" : stopWord(attempt.stop.reason, attempt.stop.closedBy),
      };
    case "ended":
      return endWord(attempt);
  }
}

const stopWord = (reason: StopReason, closedBy: ClosedBy | undefined): string =>
  closedBy === undefined ? stopWords[reason] : `Stopped for ${closedByText(closedBy)}`;

function endWord({ outcome, stopReason, closedBy }: Attempt & { readonly phase: "ended" }): {
  tone: Tone;
  word: string;
} {
  if (stopReason !== null && outcome !== "succeeded") {
    return { tone: stopReason === "cancelled" ? "idle" : "bad", word: stopWord(stopReason, closedBy) };
  }
  switch (outcome) {
    case "succeeded":
      return { tone: "good", word: "Succeeded" };
    case "failed":
      return { tone: "bad", word: "Failed" };
    case "stopped":
      return { tone: "idle", word: "Stopped" };
    case "lost":
      return { tone: "bad", word: "Lost" };
  }
}
