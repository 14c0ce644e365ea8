/** Compares the step times of the ranks of running gangs. Memory is bounded by the workers of running attempts. */
import { StragglerWatch, type RankStepTime, type Stragglers } from "@headroom/health";
import { nodeOfRank, ranksOf } from "@headroom/model";
import type { Attempt, AttemptId } from "@headroom/model";
import type { TelemetrySample } from "@headroom/views";

/** Interval in ms after which an unchanged comparison is recorded again, if further steps were compared. */
const REPEATED_MS = 30_000;
/** Change of a slowdown in percent that is recorded at once. */
const CHANGE_MIN = 5;

/** Steps in which a slow rank is named again. Until then it counts as named. */
const AGAIN_STEPS = 20;

const NONE: readonly number[] = [];

interface ComparedAttempt {
  readonly watch: StragglerWatch;
  /** The attempt's workers when the watch was made; a change of nodes makes other objects. */
  workers: Attempt["workers"];
  missing: readonly number[];
  recorded: Stragglers | null;
  recordedAtMs: number;
  /** Whether earlier comparisons of the attempt may have named ranks, and the first step that was compared since. */
  readonly isAgain: boolean;
  firstStep: number | null;
}

export class RankComparisons {
  readonly #sinceMs: number;
  readonly #byAttempt = new Map<AttemptId, ComparedAttempt>();

  /** `sinceMs`: start of the process. Comparisons of attempts that started earlier are not known. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  get size(): number {
    return this.#byAttempt.size;
  }

  /** The comparison, if it is to be recorded. A gang with a rank on another node is compared from the start. */
  take(attempt: Attempt, times: readonly RankStepTime[], atMs: number): TelemetrySample | null {
    const own = this.#comparedOf(attempt);
    const found = own.watch.take(times);
    if (found === null || found.step === own.recorded?.step) return null;
    own.firstStep = Math.min(own.firstStep ?? found.step, found.step);
    if (own.isAgain && own.recorded === null && found.ranks.length === 0 && found.step - own.firstStep < AGAIN_STEPS)
      return null;
    if (!hasNews(own.recorded, found) && atMs - own.recordedAtMs < REPEATED_MS) return null;
    own.recorded = found;
    own.recordedAtMs = atMs;
    const ranks = found.ranks.flatMap((each) => {
      const nodeId = nodeOfRank(attempt, each.rank);
      return nodeId === null ? [] : [{ ...each, nodeId }];
    });
    return { kind: "stragglers", atMs, ...found, ranks };
  }

  end(id: AttemptId): void {
    this.#byAttempt.delete(id);
  }

  /** Removes attempts that the engine ended by itself. */
  sweep(isRunning: (id: AttemptId) => boolean): void {
    for (const id of this.#byAttempt.keys()) if (!isRunning(id)) this.#byAttempt.delete(id);
  }

  #comparedOf(attempt: Attempt): ComparedAttempt {
    const { id, workers, missing = NONE } = attempt;
    const known = this.#byAttempt.get(id);
    if (known !== undefined && hasSameNodes(known, { workers, missing })) {
      known.workers = workers;
      known.missing = missing;
      return known;
    }
    const watch = new StragglerWatch(ranksOf(attempt));
    const isAgain = known !== undefined || (attempt.startedAtMs ?? Infinity) < this.#sinceMs;
    const own = { watch, workers, missing, recorded: null, recordedAtMs: 0, isAgain, firstStep: null };
    this.#byAttempt.set(id, own);
    return own;
  }
}

type Ranks = Pick<ComparedAttempt, "workers" | "missing">;

/** Whether each rank is on the same node. */
function hasSameNodes(before: Ranks, { workers, missing }: Ranks): boolean {
  if (before.workers === workers && before.missing === missing) return true;
  if (before.workers.length !== workers.length || before.missing.length !== missing.length) return false;
  const missed = new Set(before.missing);
  return (
    missing.every((rank) => missed.has(rank)) &&
    workers.every(({ node }, index) => node === before.workers[index]?.node)
  );
}

function hasNews(before: Stragglers | null, { ranks }: Stragglers): boolean {
  if (before === null || before.ranks.length !== ranks.length) return true;
  const known = new Map(before.ranks.map(({ rank, slowerPercent }) => [rank, slowerPercent]));
  return ranks.some(
    ({ rank, slowerPercent }) => !(Math.abs((known.get(rank) ?? Infinity) - slowerPercent) < CHANGE_MIN),
  );
}
