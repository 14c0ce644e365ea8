/**
 * Rules of a strategy that are not knobs of a policy, because only the imitated system has them. Their code is in
 * `strategies/`. A policy names its strategy and states the knobs that all strategies share.
 */

export const strategyNames = [
  "headroom",
  "kai",
  "volcano",
  "armada",
  "kueue-fair-sharing",
  "kueue-fair-sharing-final",
  "kueue-fair-sharing-initial",
  "kueue-classical",
  "kueue-topology",
  "hived",
  "hived-eager",
] as const;

export type StrategyName = (typeof strategyNames)[number];

/** Method by which the victims of a plan are searched. */
export type VictimRule = "lowest-cost" | "volcano" | "kai" | "kueue-fair-sharing" | "kueue-classical" | "cells";

/** Properties of all plans of a search. No knob of a policy changes them. */
interface VictimRuleTraits {
  /** Whether guarantees and entitlements of teams decide what may be evicted. */
  readonly teamGuarantees: boolean;
  /**
   * Whether the indexes of victim candidates list everything that a plan may evict, and a plan evicts no more than its
   * preemptor needs.
   */
  readonly leastVictims: boolean;
  /** Whether a plan may evict single workers of a gang. */
  readonly singleWorkers: boolean;
}

const imitated: VictimRuleTraits = { teamGuarantees: false, leastVictims: false, singleWorkers: false };

const victimRuleTraits: { readonly [Rule in VictimRule]: VictimRuleTraits } = {
  "lowest-cost": { teamGuarantees: true, leastVictims: true, singleWorkers: true },
  kai: { ...imitated, singleWorkers: true },
  volcano: imitated,
  "kueue-fair-sharing": imitated,
  "kueue-classical": imitated,
  cells: imitated,
};

/** Method by which a strategy places work: in topology cells. */
export type PlacementRule = "cells";

export interface StrategyRules {
  readonly teams: {
    /**
     * How a team's fair share is computed. `divide`: the team's guarantee, then a part of the rest by weight.
     * `weights`: by weight alone, among teams with unmet demand.
     */
    readonly share: "divide" | "weights";
    /**
     * Capacity that a team may use beyond its guarantee. `idle`: all idle capacity, up to the team's limit. `borrow`:
     * capacity that other teams lend (a quota tree with lending and borrowing limits).
     */
    readonly overGuarantee: "idle" | "borrow";
    /**
     * Work with at least this priority is placed in its team's reserved topology. Absent: reserved topology has no
     * effect.
     */
    readonly reservedTopology?: { readonly fromPriority: number };
  };
  readonly fabric: {
    /** Placement strategy that chooses nodes, whatever the value of the knob `fabric`; `null`: none. */
    readonly placedBy: PlacementRule | null;
    /** Whether work without placement constraints goes to the fullest domains. */
    readonly unconstrainedToFullest: boolean;
  };
  readonly eviction: VictimRuleTraits & {
    readonly search: VictimRule;
    /** For `kueue-fair-sharing`: the tests of shares that the team of a victim must pass, in order. */
    readonly shareTests: readonly ("final" | "initial")[];
    /**
     * Effect of a plan after its round. `kept`: the preemptor stays nominated for the place until the place is free.
     * `forgotten`: the preemptor requests a place again in the next round.
     */
    readonly nominations: "kept" | "forgotten";
    /**
     * Whether guaranteed work that gives up its cells continues as opportunistic work. It is then evicted only when
     * other work needs its place.
     */
    readonly lazyPreemption: boolean;
  };
}

const teams: StrategyRules["teams"] = { share: "divide", overGuarantee: "idle" };
const fabric: StrategyRules["fabric"] = { placedBy: null, unconstrainedToFullest: false };
const evictionBy = (search: VictimRule): StrategyRules["eviction"] => ({
  search,
  ...victimRuleTraits[search],
  shareTests: [],
  nominations: "kept",
  lazyPreemption: false,
});
const headroom: StrategyRules = { teams, fabric, eviction: evictionBy("lowest-cost") };

const kueue = (search: VictimRule, shareTests: StrategyRules["eviction"]["shareTests"]): StrategyRules => ({
  ...headroom,
  teams: { ...teams, overGuarantee: "borrow" },
  eviction: { ...evictionBy(search), shareTests },
});

const hived = (lazyPreemption: boolean): StrategyRules => ({
  teams: { ...teams, reservedTopology: { fromPriority: 0 } },
  fabric: { ...fabric, placedBy: "cells" },
  eviction: { ...evictionBy("cells"), lazyPreemption },
});

export const strategyRules: { readonly [Name in StrategyName]: StrategyRules } = {
  headroom,
  kai: { ...headroom, eviction: { ...evictionBy("kai"), nominations: "forgotten" } },
  volcano: { ...headroom, eviction: evictionBy("volcano") },
  armada: { ...headroom, teams: { ...teams, share: "weights" } },
  "kueue-fair-sharing": kueue("kueue-fair-sharing", ["final", "initial"]),
  "kueue-fair-sharing-final": kueue("kueue-fair-sharing", ["final"]),
  "kueue-fair-sharing-initial": kueue("kueue-fair-sharing", ["initial"]),
  "kueue-classical": kueue("kueue-classical", []),
  "kueue-topology": { ...headroom, fabric: { ...fabric, unconstrainedToFullest: true } },
  hived: hived(true),
  "hived-eager": hived(false),
};
