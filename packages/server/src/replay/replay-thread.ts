/**
 * The thread of one replay, outside the driver's event loop. The thread ends after its answer; cancelling a replay
 * terminates its thread.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Replay } from "@headroom/sim";
import { replayView } from "@headroom/views";
import { readWindow } from "./read-window.ts";
import type { ReplayData, ReplayMessage } from "./replay-messages.ts";

/** Number of rounds simulated between two messages: some milliseconds of work. */
const ROUNDS_AT_ONCE = 1000;
const PROGRESS_EVERY_MS = 200;

const say = (message: ReplayMessage): void => parentPort?.postMessage(message);

function run({ journal, change, periodMs, nowMs }: ReplayData): void {
  const wantedFromMs = Math.max(0, nowMs - periodMs);
  const window = readWindow(journal, { fromMs: wantedFromMs, toMs: nowMs });
  if (window === null)
    return say({ kind: "failed", detail: "Nothing is recorded of that time, or its inputs are no longer kept." });
  const replay = new Replay(window, change);
  let saidAtMs = performance.now();
  while (!replay.advance(ROUNDS_AT_ONCE)) {
    if (performance.now() - saidAtMs < PROGRESS_EVERY_MS) continue;
    saidAtMs = performance.now();
    say({ kind: "progress", progress: replay.progress });
  }
  const refused = replay.changeRefusals;
  if (refused.length > 0)
    return say({
      kind: "failed",
      detail: `At the beginning of the period the change is refused: ${refused.join(", ")}.`,
    });
  say({ kind: "done", report: replayView(replay.report(), wantedFromMs) });
}

try {
  run(workerData as ReplayData);
} catch (error) {
  say({ kind: "failed", detail: error instanceof Error ? error.message : String(error) });
}
