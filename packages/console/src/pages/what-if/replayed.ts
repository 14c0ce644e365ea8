/** Runs a replay from its request to its report. */
import type { HeadroomClient, ReplayQuestionInput, ReplayReport } from "@headroom/protocol";

const LOOK_EVERY_MS = 300;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Polls until the replay is done. If the user leaves the page or cancels, the replay ends. */
export async function replayed(
  client: HeadroomClient,
  question: ReplayQuestionInput,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (progress: number) => void },
): Promise<ReplayReport | null> {
  const { id } = await client.startReplay(question);
  for (;;) {
    if (signal.aborted) {
      await client.cancelReplay(id);
      return null;
    }
    const replay = await client.replay(id);
    if (replay.phase === "done") return replay.report;
    if (replay.phase === "failed") throw new Error(replay.detail);
    onProgress(replay.progress);
    await pause(LOOK_EVERY_MS);
  }
}
