/** A policy with its strategy's rules and all defaults: the form that the phases of a round read. */
import type { ElasticRules, EvictionRules, Phase, Policy, TeamRules } from "./policy.ts";
import { strategyRules } from "./strategies.ts";
import type { StrategyRules } from "./strategies.ts";

export type Rules = Required<Omit<Policy, Optional | "strategy" | "teams" | "fabric" | "eviction" | "elastic">> &
  Pick<Policy, Optional> & {
    readonly teams: TeamRules & StrategyRules["teams"];
    readonly fabric: {
      readonly choose: "fullest" | "fewest" | "cells";
      /** A gang that no single domain holds is split as evenly as possible. */
      readonly balanced: boolean;
      readonly unconstrainedToFullest: boolean;
    };
    readonly eviction: EvictionRules & StrategyRules["eviction"];
    readonly elastic: Required<ElasticRules>;
  };

/** Sections without a default. */
type Optional = "typicalDemand" | "defragment";

/** Defaults: every request that fits starts, and no work is evicted. */
const plain = {
  phases: ["place"],
  teams: { order: [], nonPreemptible: "limit", usageHalfLifeMs: null },
  backfill: { reserve: "none", depth: 1, assumedWalltimeMs: 24 * 3_600_000 },
  eviction: { preemptibleBelowPriority: null, checkpointTimeoutMs: 0 },
  elastic: { grow: "never", by: "order" },
  retryInPlaceMs: 0,
} as const;

/** Whether the node scores use recent demand. */
export const learnsDemand = ({ placement, typicalDemand }: Rules): boolean =>
  placement === "balanced" || (placement === "fragmentation" && typicalDemand === undefined);

/** Whether the first request that does not fit has an effect on others: it blocks them, or its start is protected. */
export const heedsHead = ({ whenHeadBlocked, backfill }: Rules): boolean =>
  whenHeadBlocked === "stop" || backfill.reserve !== "none";

/** Whether any phase evicts or migrates work. */
export const mayEvict = ({ phases }: Rules): boolean => phases.some(requestsTermination);

const requestsTermination = (phase: Phase): boolean => phase !== "place" && phase !== "grow";

export function rulesOf({ strategy = "headroom", ...policy }: Policy): Rules {
  const { teams, fabric, eviction } = strategyRules[strategy];
  const { fabric: choose = "fullest" } = policy;
  return {
    ...plain,
    ...policy,
    teams: { ...plain.teams, ...policy.teams, ...teams },
    fabric: {
      choose: fabric.inCells ? "cells" : choose === "balanced" ? "fewest" : choose,
      balanced: choose === "balanced",
      unconstrainedToFullest: fabric.unconstrainedToFullest,
    },
    eviction: { ...plain.eviction, ...policy.eviction, ...eviction },
    elastic: { ...plain.elastic, ...policy.elastic },
  };
}
