/** Compares the step times of the ranks of running gangs. Memory is bounded by the workers of running attempts. */
import { StragglerWatch, type RankStepTime, type Stragglers } from "@headroom/health";
import type { Attempt, AttemptId } from "@headroom/model";
import type { TelemetrySample } from "@headroom/views";

/** Interval in ms after which an unchanged comparison is recorded again. */
const REPEATED_MS = 30_000;
/** Change of a slowdown in percent that is recorded at once. */
const CHANGE_MIN = 5;

interface ComparedAttempt {
  readonly watch: StragglerWatch;
  readonly workers: number;
  recorded: Stragglers | null;
  recordedAtMs: number;
}

export class RankComparisons {
  readonly #byAttempt = new Map<AttemptId, ComparedAttempt>();

  /** The comparison, if it is to be recorded. A gang that was resized is compared from the start. */
  take({ id, workers }: Attempt, times: readonly RankStepTime[], atMs: number): TelemetrySample | null {
    let own = this.#byAttempt.get(id);
    if (own?.workers !== workers.length) {
      own = { watch: new StragglerWatch(workers.length), workers: workers.length, recorded: null, recordedAtMs: 0 };
      this.#byAttempt.set(id, own);
    }
    const found = own.watch.take(times);
    if (found === null || (!hasNews(own.recorded, found) && atMs - own.recordedAtMs < REPEATED_MS)) return null;
    own.recorded = found;
    own.recordedAtMs = atMs;
    return { kind: "stragglers", atMs, ...found };
  }

  end(id: AttemptId): void {
    this.#byAttempt.delete(id);
  }
}

function hasNews(before: Stragglers | null, { ranks }: Stragglers): boolean {
  if (before === null || before.ranks.length !== ranks.length) return true;
  const known = new Map(before.ranks.map(({ rank, slowerPercent }) => [rank, slowerPercent]));
  return ranks.some(
    ({ rank, slowerPercent }) => !(Math.abs((known.get(rank) ?? Infinity) - slowerPercent) < CHANGE_MIN),
  );
}
