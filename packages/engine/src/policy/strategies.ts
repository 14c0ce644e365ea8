/**
 * Rules of a strategy that are no knobs, because only the imitated system has them. Their code is in `strategies/`. A
 * policy names its strategy and states the knobs that all strategies share.
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

/** Search for the victims of a plan. */
export type VictimRule = "lowest-cost" | "volcano" | "kai" | "kueue-fair-sharing" | "kueue-classical" | "cells";

export interface StrategyRules {
  readonly teams: {
    /** A team's fair share. `divide`: its guarantee, then the rest by weight. `weights`: by weight alone, among teams that want more. */
    readonly share: "divide" | "weights";
    /**
     * Usage beyond the guarantee. `idle`: all idle capacity, up to the limit. `borrow`: capacity that other teams lend
     * (a quota tree with lending and borrowing limits).
     */
    readonly overGuarantee: "idle" | "borrow";
    /**
     * Work with at least this priority is placed in the reserved topology of its team; absent: reserved topology has no
     * effect.
     */
    readonly reservedTopology?: { readonly fromPriority: number };
  };
  readonly fabric: {
    /** Gangs are placed in topology cells, whatever the value of the knob `fabric`. */
    readonly inCells: boolean;
    /** Work without placement constraints goes to the fullest domains. */
    readonly unconstrainedToFullest: boolean;
  };
  readonly eviction: {
    readonly search: VictimRule;
    /** For `kueue-fair-sharing`: the share tests that a victim's team must pass, in order. */
    readonly shareTests: readonly ("final" | "initial")[];
    /**
     * `kept`: the preemptor is nominated for the place until it is free. `forgotten`: the preemptor asks again in the
     * next round.
     */
    readonly nominations: "kept" | "forgotten";
    /**
     * Guaranteed work that gives up its cells continues as opportunistic work, and is evicted only if it is in the way.
     */
    readonly lazyPreemption: boolean;
  };
}

const teams: StrategyRules["teams"] = { share: "divide", overGuarantee: "idle" };
const fabric: StrategyRules["fabric"] = { inCells: false, unconstrainedToFullest: false };
const eviction: StrategyRules["eviction"] = {
  search: "lowest-cost",
  shareTests: [],
  nominations: "kept",
  lazyPreemption: false,
};
const headroom: StrategyRules = { teams, fabric, eviction };

const searching = (search: VictimRule): StrategyRules => ({ ...headroom, eviction: { ...eviction, search } });

const kueue = (search: VictimRule, shareTests: StrategyRules["eviction"]["shareTests"]): StrategyRules => ({
  ...headroom,
  teams: { ...teams, overGuarantee: "borrow" },
  eviction: { ...eviction, search, shareTests },
});

const hived = (lazyPreemption: boolean): StrategyRules => ({
  teams: { ...teams, reservedTopology: { fromPriority: 0 } },
  fabric: { ...fabric, inCells: true },
  eviction: { ...eviction, search: "cells", lazyPreemption },
});

export const strategyRules: { readonly [Name in StrategyName]: StrategyRules } = {
  headroom,
  kai: { ...headroom, eviction: { ...eviction, search: "kai", nominations: "forgotten" } },
  volcano: searching("volcano"),
  armada: { ...headroom, teams: { ...teams, share: "weights" } },
  "kueue-fair-sharing": kueue("kueue-fair-sharing", ["final", "initial"]),
  "kueue-fair-sharing-final": kueue("kueue-fair-sharing", ["final"]),
  "kueue-fair-sharing-initial": kueue("kueue-fair-sharing", ["initial"]),
  "kueue-classical": kueue("kueue-classical", []),
  "kueue-topology": { ...headroom, fabric: { ...fabric, unconstrainedToFullest: true } },
  hived: hived(true),
  "hived-eager": hived(false),
};
