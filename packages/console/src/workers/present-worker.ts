/**
 * Forecasts the next hours of a control plane in a worker, from the bytes of its state. The engine is restored for each
 * question.
 */
import { serveWorkerClient } from "@headroom/protocol";
import type { Snapshot } from "@headroom/protocol";
import { forecastPresentOf } from "@headroom/sim";
import { answerWhatIf } from "./answer-what-if.ts";

export interface PresentMessage {
  readonly snapshot: Snapshot;
  /** Message port on which questions arrive. */
  readonly calls: MessagePort;
}

function serve({ snapshot: { bytes, nowMs }, calls }: PresentMessage): void {
  const takenMs = performance.now();
  // Start of the forecast: the time of the state plus the time since the state was fetched.
  const atMs = (): number => nowMs + Math.floor(performance.now() - takenMs);
  serveWorkerClient(calls, { whatIf: async (question) => answerWhatIf(forecastPresentOf(bytes, atMs()), question) });
}

addEventListener("message", ({ data }: MessageEvent<PresentMessage>) => serve(data));
