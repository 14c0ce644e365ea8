/**
 * Finds attempts that have stopped to make progress while they hold their accelerators. Utilization does not show this: a
 * hung collective reads 100%. An attempt is stalled if it is silent for several times its own longest pause between
 * reports. Only time in which the watch looked counts, so that a pause of the control plane is no silence.
 */
import type { AttemptId, TeamName, WorkloadId } from "@headroom/model";
import { ground, shortReason } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Pauses between reports that must be known. */
const PAUSES_MIN = 4;
const PAUSES_KEPT = 16;
/** Shortest silence that counts, so that a stall is named within a minute, and a checkpoint of 40 s is none. */
const SILENCE_MIN_MS = 45_000;
/** Silence in longest pauses. */
const SILENCE_PAUSES = 4;
/** One look adds at most this much silence. */
const LOOK_MS_MAX = 5_000;
/** If more than half of at least this many attempts of an executor are silent, their reports are not read. */
const SILENT_TOGETHER_MIN = 3;

/** One running attempt, and its newest report. */
export interface WatchedAttempt {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly name: string;
  readonly team: TeamName;
  readonly executor: string;
  /** Counted for findings only: every attempt is watched each second. */
  readonly accelerators: () => number;
  readonly workers: number;
  /** `null`: it has reported no progress. */
  readonly progress: { readonly atMs: number; readonly step: number; readonly totalSteps: number | null } | null;
}

interface Pace {
  /** Number of the newest look that had the attempt. */
  look: number;
  reportAtMs: number;
  pauses: readonly number[];
  silentMs: number;
}

export class StallWatch {
  readonly #tracks = new Map<AttemptId, Pace>();
  #lookedAtMs: number | null = null;
  #looks = 0;

  /** Attempts that are stalled now. Attempts that are left out are forgotten. */
  look(attempts: readonly WatchedAttempt[], nowMs: number): readonly Finding[] {
    const passedMs = Math.min(LOOK_MS_MAX, Math.max(0, nowMs - (this.#lookedAtMs ?? nowMs)));
    this.#lookedAtMs = nowMs;
    this.#looks++;
    const executors = new Map<string, FollowedOfExecutor>();
    for (const attempt of attempts) {
      const track = this.#follow(attempt, passedMs);
      if (track === null) continue;
      const followed = executors.get(attempt.executor) ?? { count: 0, silent: [] };
      executors.set(attempt.executor, followed);
      followed.count++;
      if (isSilent(track)) followed.silent.push({ attempt, track });
    }
    for (const [id, { look }] of this.#tracks) if (look !== this.#looks) this.#tracks.delete(id);
    return [...executors.values()].flatMap(({ count, silent }) => {
      const areUnread = silent.length >= SILENT_TOGETHER_MIN && silent.length > count / 2;
      return areUnread ? [] : silent.map(({ attempt, track }) => stallFinding(attempt, track, nowMs));
    });
  }

  #follow({ attemptId, progress }: WatchedAttempt, passedMs: number): Pace | null {
    if (progress === null || (progress.totalSteps !== null && progress.step >= progress.totalSteps)) return null;
    const known = this.#tracks.get(attemptId);
    if (known === undefined) {
      const track = { look: this.#looks, reportAtMs: progress.atMs, pauses: [], silentMs: 0 };
      this.#tracks.set(attemptId, track);
      return track;
    }
    known.look = this.#looks;
    if (progress.atMs > known.reportAtMs) {
      known.pauses = [...known.pauses, progress.atMs - known.reportAtMs].slice(-PAUSES_KEPT);
      known.reportAtMs = progress.atMs;
      known.silentMs = 0;
    } else known.silentMs += passedMs;
    return known;
  }
}

interface FollowedOfExecutor {
  count: number;
  readonly silent: { readonly attempt: WatchedAttempt; readonly track: Pace }[];
}

const isSilent = ({ pauses, silentMs }: Pace): boolean =>
  silentMs >= SILENCE_MIN_MS && pauses.length >= PAUSES_MIN && silentMs >= SILENCE_PAUSES * Math.max(...pauses);

function stallFinding(attempt: WatchedAttempt, { reportAtMs, pauses, silentMs }: Pace, nowMs: number): Finding {
  const { attemptId, workloadId, name, team, accelerators, workers, progress } = attempt;
  const longestMs = Math.max(...pauses);
  const step = progress?.step ?? 0;
  return {
    id: `stall:${attemptId}:${step}`,
    kind: "stall",
    sinceMs: Math.min(reportAtMs, nowMs),
    change: { kind: "restart", workloadId },
    team,
    reason: shortReason(`${name} has made no progress since step ${step}; it holds its accelerators`),
    ground: [
      ground("silence", silentMs / 1000, "s"),
      ground("longest pause before", longestMs / 1000, "s"),
      ground("accelerators held", accelerators()),
      ground("workers", workers),
    ],
  };
}
