/** Targets for the scaling of an endpoint, from a load test. Pure. */
import type { LevelResult } from "./measure-endpoint.ts";

export interface Objectives {
  readonly ttftMs: number | null;
  readonly tpotMs: number | null;
}

export interface Proposal {
  /** Requests in progress for each replica. */
  readonly concurrency: number;
  /** The level that it is taken from, over all replicas. */
  readonly level: LevelResult;
  /**
   * `objectives`: the highest level within them. `knee`: more concurrency gives hardly more tokens. `refused`: at the next level
   * requests failed or left by the overflow. `last`: higher levels were not measured, and may be better.
   */
  readonly ground: "objectives" | "knee" | "refused" | "last";
}

/** Share of the tokens per second of the best level that the knee has at least. */
const KNEE_SHARE = 0.9;
/** Share of the measured concurrency that is proposed: load comes unevenly. */
const RESERVE_SHARE = 0.8;
/** Growth of tokens per second below which a level is no better than the one before. */
const GROWTH_MIN = 0.05;
const FAILED_SHARE_MAX = 0.01;
const LEFT_SHARE_MAX = 0.05;

/** The levels for a number of replicas: 1, 2, 4 and so on for each of them. */
export const levelsFor = (replicas: number, perReplicaMax: number): readonly number[] => {
  const levels: number[] = [];
  for (let each = 1; each <= perReplicaMax; each *= 2) levels.push(each * replicas);
  return levels;
};

const isUsable = ({ requests, failed, left, ttftP95Ms }: LevelResult): boolean =>
  ttftP95Ms !== null && failed <= FAILED_SHARE_MAX * requests && left <= LEFT_SHARE_MAX * requests;

const isWithin = (level: LevelResult, { ttftMs, tpotMs }: Objectives): boolean =>
  isUsable(level) &&
  (ttftMs === null || (level.ttftP95Ms ?? Infinity) <= ttftMs) &&
  (tpotMs === null || (level.tpotP95Ms ?? 0) <= tpotMs);

/** Whether higher levels say nothing more: an objective is missed, requests fail or leave, or the replicas are full. */
export function isOver(levels: readonly LevelResult[], objectives: Objectives): boolean {
  const [before, last] = [levels.at(-2), levels.at(-1)];
  if (last === undefined) return false;
  if (!isWithin(last, objectives)) return true;
  return before !== undefined && last.tokensPerSecond < (1 + GROWTH_MIN) * before.tokensPerSecond;
}

/** `null`: no level is within the objectives. */
export function proposedTargets(
  levels: readonly LevelResult[],
  replicas: number,
  objectives: Objectives,
): Proposal | null {
  const within = levels.filter((level) => isWithin(level, objectives));
  const most = Math.max(0, ...within.map(({ tokensPerSecond }) => tokensPerSecond));
  const hasObjective = objectives.ttftMs !== null || objectives.tpotMs !== null;
  const isMissed = levels.length > within.length && hasObjective;
  const level = isMissed ? within.at(-1) : within.find(({ tokensPerSecond }) => tokensPerSecond >= KNEE_SHARE * most);
  if (level === undefined) return null;
  const perReplica = (RESERVE_SHARE * level.concurrency) / Math.max(1, replicas);
  return {
    concurrency: Math.max(1, Math.floor(perReplica)),
    level,
    ground: groundOf(levels, level, objectives),
  };
}

function groundOf(levels: readonly LevelResult[], level: LevelResult, objectives: Objectives): Proposal["ground"] {
  const next = levels[levels.indexOf(level) + 1];
  if (next !== undefined && !isUsable(next)) return "refused";
  if (next !== undefined && !isWithin(next, objectives)) return "objectives";
  return isOver(levels, objectives) ? "knee" : "last";
}
