/**
 * Accelerator types whose replicas fail before they are ready, or are not ready in time. A type is turned away for ten minutes after such a failure,
 * and for twice as long after each further one, until a later replica of the present revision is ready on it, or the endpoint runs another revision.
 */
import { revisionNumberOf } from "@headroom/model";
import type { Attempt, EndedAttempt } from "@headroom/model";

const FIRST_MS = 600_000;
const LONGEST_MS = 24 * 3_600_000;

/** The replicas of an endpoint, as far as failed starts are concerned. */
export interface ReplicaStarts {
  readonly active: readonly Attempt[];
  readonly ended: readonly EndedAttempt[];
  /** Number of the present revision. */
  readonly revision: number;
  readonly isRollingOut: boolean;
}

interface SeenReplica {
  readonly revision: number;
  readonly wasReady: boolean;
}

interface TurnedAway {
  readonly failures: number;
  readonly untilMs: number;
  /** Placement of the replica that failed. Replicas that were ready before it do not show that new ones start. */
  readonly placedAtMs: number;
}

export class StartFailures {
  readonly #types = new Map<string, TurnedAway>();
  #revision = 1;
  #seen: ReadonlyMap<string, SeenReplica> = new Map();
  /** Ended attempts of the last look; `null`: before the first one. It is not known whether those were ever ready. */
  #judged: ReadonlySet<string> | null = null;

  /** Takes in what began, became ready and ended since the last look. `becameReady`: whether a replica did, also between two looks. */
  learn(
    { active, ended, revision, isRollingOut }: ReplicaStarts,
    becameReady: (attemptId: string) => boolean = () => false,
  ): void {
    if (revision !== this.#revision) this.#types.clear();
    this.#revision = revision;
    for (const attempt of this.#judged === null ? [] : ended) {
      if (this.#judged?.has(attempt.id) === true || !isOwnFailure(attempt)) continue;
      // An attempt that no look saw ended within seconds. During a rollout it may be one of the new revision.
      const seen = this.#seen.get(attempt.id) ?? { revision: isRollingOut ? null : revision, wasReady: false };
      if (!seen.wasReady && !becameReady(attempt.id) && seen.revision === revision) this.#turnAway(attempt);
    }
    this.#judged = new Set(ended.map(({ id }) => id));
    this.#seen = new Map(active.map((attempt) => [attempt.id, this.#seenNow(attempt)]));
    for (const attempt of active) {
      const turnedAway = this.#types.get(attempt.acceleratorType);
      if (turnedAway === undefined || attempt.ready === undefined || revisionNumberOf(attempt) !== revision) continue;
      if (attempt.ready.atMs >= turnedAway.placedAtMs) this.#types.delete(attempt.acceleratorType);
    }
  }

  /** Types that are turned away at this time. */
  typesAt(nowMs: number): readonly string[] {
    return [...this.#types].flatMap(([type, { untilMs }]) => (nowMs < untilMs ? [type] : []));
  }

  #seenNow(attempt: Attempt): SeenReplica {
    const { id, ready, notReadySinceMs } = attempt;
    const wasReady = ready !== undefined || notReadySinceMs !== undefined || this.#seen.get(id)?.wasReady === true;
    return { revision: revisionNumberOf(attempt), wasReady };
  }

  /** Replicas that began before the type was turned away fail for the same cause. */
  #turnAway({ acceleratorType, placedAtMs, endedAtMs }: EndedAttempt): void {
    const known = this.#types.get(acceleratorType);
    if (known !== undefined && endedAtMs < known.untilMs) return;
    const failures = (known?.failures ?? 0) + 1;
    const untilMs = endedAtMs + Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
    this.#types.set(acceleratorType, { failures, untilMs, placedAtMs });
  }
}

/** The engine stops a replica that is not ready in time, and counts the stop as a failure of the replica. */
const isOwnFailure = ({ outcome, stopReason }: EndedAttempt): boolean =>
  outcome === "failed" || (outcome === "stopped" && stopReason === "notReady");
