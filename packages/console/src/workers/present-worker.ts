/** Plays the next hours of a control plane beside the page, on its state as bytes: its engine, restored for each question. */
import { serveWorkerClient } from "@headroom/protocol";
import type { Snapshot } from "@headroom/protocol";
import { presentOf } from "@headroom/sim";
import { answerWhatIf } from "./answer-what-if.ts";

export interface PresentMessage {
  readonly snapshot: Snapshot;
  /** Where questions about it come in. */
  readonly calls: MessagePort;
}

function serve({ snapshot: { bytes, nowMs }, calls }: PresentMessage): void {
  const takenMs = performance.now();
  // Time goes on after the state was taken, as it does where it was taken.
  const atMs = (): number => nowMs + Math.floor(performance.now() - takenMs);
  serveWorkerClient(calls, { whatIf: async (question) => answerWhatIf(presentOf(bytes, atMs()), question) });
}

addEventListener("message", ({ data }: MessageEvent<PresentMessage>) => serve(data));
