/**
 * A policy with the rules of its strategy and with all defaults filled in: the form that the phases of a round read.
 */
import type {
  EvictionRules,
  Growth,
  NodeOrder,
  Phase,
  Policy,
  TeamRules,
  TypicalDemand,
  UnstatedPreemptible,
} from "./policy.ts";
import { strategyRules } from "./strategies.ts";
import type { PlacementRule, StrategyRules } from "./strategies.ts";

export type Rules = Required<
  Omit<Policy, Optional | "strategy" | "placement" | "teams" | "fabric" | "eviction" | "elastic">
> &
  Pick<Policy, Optional> & {
    readonly placement: NodeOrder;
    /** Demand that the node order `fragmentation` assumes. Absent: it is learned from submissions. */
    readonly typicalDemand?: readonly TypicalDemand[];
    readonly teams: TeamRules & StrategyRules["teams"];
    readonly fabric: {
      readonly placedBy: PlacementRule | null;
      readonly choose: "fullest" | "fewest";
      /** Whether a gang that no single domain holds is split as evenly as possible. */
      readonly balanced: boolean;
      readonly unconstrainedToFullest: boolean;
    };
    readonly eviction: Omit<EvictionRules, "preemptible"> &
      StrategyRules["eviction"] & {
        /**
         * Work that does not state `preemptible` is preemptible below this priority. `null`: it is always preemptible.
         */
        readonly preemptibleBelowPriority: number | null;
        /**
         * Value of `preemptible` for work that does not state it and whose priority is `preemptibleBelowPriority` or
         * higher.
         */
        readonly unstatedPreemptible: NonNullable<UnstatedPreemptible["otherwise"]>;
      };
    readonly elastic: {
      readonly grow: "in-order" | "last" | "never";
      /** Choice of the gang that grows: the next one in queue order, or the one with the highest gain. */
      readonly by: "order" | "throughput";
    };
  };

/** Sections of a policy that have no default. */
type Optional = "defragment";

/** Defaults of a policy: every request that fits starts, and no work is evicted. */
const plain = {
  phases: ["place"],
  teams: { order: [], nonPreemptible: "limit", usageHalfLifeMs: null },
  backfill: { protectedStarts: 0, assumedWalltimeMs: 24 * 3_600_000 },
  eviction: { preemptible: { belowPriority: null }, checkpointTimeoutMs: 0 },
  retryInPlaceMs: 0,
} as const;

/** Whether node scores depend on recent demand. */
export const learnsDemand = ({ placement, typicalDemand }: Rules): boolean =>
  placement === "balanced" || (placement === "fragmentation" && typicalDemand === undefined);

/** Whether the first request that does not fit affects other requests: it blocks them, or its start is protected. */
export const heedsHead = ({ whenHeadBlocked, backfill }: Rules): boolean =>
  whenHeadBlocked === "stop" || backfill.protectedStarts > 0;

/** Whether any phase evicts or migrates work. */
export const mayEvict = ({ phases }: Rules): boolean => phases.some(requestsTermination);

const growth: { readonly [Value in Growth]: Rules["elastic"] } = {
  never: { grow: "never", by: "order" },
  "in-order": { grow: "in-order", by: "order" },
  last: { grow: "last", by: "order" },
  "in-order-by-throughput": { grow: "in-order", by: "throughput" },
  "last-by-throughput": { grow: "last", by: "throughput" },
};

const requestsTermination = (phase: Phase): boolean => phase !== "place" && phase !== "grow";

export function rulesOf({ strategy = "headroom", ...policy }: Policy): Rules {
  const { placement, elastic = "never" } = policy;
  const { preemptible, ...evicting }: EvictionRules = { ...plain.eviction, ...policy.eviction };
  const { teams, fabric, eviction } = strategyRules[strategy];
  const { fabric: choose = "fullest" } = policy;
  return {
    ...plain,
    ...policy,
    ...(typeof placement === "string"
      ? { placement }
      : { placement: placement.order, typicalDemand: placement.typicalDemand }),
    teams: { ...plain.teams, ...policy.teams, ...teams },
    fabric: {
      placedBy: fabric.placedBy,
      choose: fabric.placedBy !== null ? "fullest" : choose === "balanced" ? "fewest" : choose,
      balanced: choose === "balanced",
      unconstrainedToFullest: fabric.unconstrainedToFullest,
    },
    eviction: {
      ...evicting,
      preemptibleBelowPriority: preemptible.belowPriority,
      unstatedPreemptible: preemptible.otherwise ?? "never",
      ...eviction,
    },
    elastic: growth[elastic],
  };
}
