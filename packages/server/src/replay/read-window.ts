/** Reads a recorded period for the simulator: the initial state, the inputs from outside, and the events. */
import { readInputs } from "@headroom/engine";
import { openRecorded } from "@headroom/journal";
import type { JournalAddress } from "@headroom/journal";
import { outsideInputs } from "@headroom/sim";
import type { OutsideInput, RecordedWindow } from "@headroom/sim";

/** Number of samples of a replay: enough for a chart as wide as a page. */
const SAMPLES = 96;

/**
 * Reads a recorded period; `null`: nothing of it is recorded. If rounds were dropped, the period begins with the first
 * round kept.
 */
export function readWindow(
  address: JournalAddress,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): RecordedWindow | null {
  const recorded = openRecorded(address);
  try {
    const inputs: OutsideInput[] = [];
    let beginsAtMs: number | null = null;
    let firstSequence: number | null = null;
    for (const round of recorded.roundsFrom(fromMs)) {
      if (round.atMs > toMs) break;
      beginsAtMs ??= round.atMs;
      firstSequence ??= round.firstSequence;
      const { atMs } = round;
      for (const each of outsideInputs({ atMs, inputs: readInputs(round.inputs) })) inputs.push(each);
    }
    if (beginsAtMs === null || firstSequence === null) return null;
    const head = recorded.head();
    const engine = recorded.engineAt(firstSequence - 1);
    const groups = [...recorded.groups(firstSequence - 1, head.sequence)].filter(({ atMs }) => atMs <= toMs);
    // If no older rounds were dropped, the state did not change between the requested start and the first round.
    const startsAtMs = Math.max(engine.state.nowMs, recorded.isFirstKept(beginsAtMs) ? beginsAtMs : fromMs);
    return {
      snapshot: engine.snapshot(),
      groups,
      inputs,
      fromMs: startsAtMs,
      toMs,
      stepMs: Math.max(1, Math.ceil((toMs - startsAtMs) / SAMPLES)),
    };
  } finally {
    recorded.close();
  }
}
