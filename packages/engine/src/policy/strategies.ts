/**
 * What a strategy decides that is no knob: rules that only the imitated system has. The code of each lies in `strategies/`; a policy
 * names its strategy and states the knobs that all strategies share.
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

/** How the victims of a plan are found. */
export type VictimRule = "lowest-cost" | "volcano" | "kai" | "kueue-fair-sharing" | "kueue-classical" | "cells";

export interface StrategyRules {
  readonly teams: {
    /** A team's fair share. `divide`: its guarantee, then the rest by weight. `weights`: by weight alone, among teams that want more. */
    readonly share: "divide" | "weights";
    /** Beyond its guarantee. `idle`: whatever is idle, up to the limit. `borrow`: what other teams lend (quota tree with lending and borrowing limits). */
    readonly overGuarantee: "idle" | "borrow";
    /** Work of this priority or above is placed in the reserved topology of its team; absent: reserved topology plays no part. */
    readonly reservedTopology?: { readonly fromPriority: number };
  };
  readonly fabric: {
    /** Gangs are placed in topology cells, whatever the knob `fabric` says. */
    readonly inCells: boolean;
    /** Work without placement constraints goes to the fullest domains. */
    readonly unconstrainedToFullest: boolean;
  };
  readonly eviction: {
    readonly search: VictimRule;
    /** For `kueue-fair-sharing`: the tests that a victim's team has to pass, in turn. */
    readonly shareTests: readonly ("final" | "initial")[];
    /** `kept`: the place is kept for the preemptor until it is free. `forgotten`: the preemptor asks again in the next round. */
    readonly nominations: "kept" | "forgotten";
    /** Guaranteed work that gives up its cells keeps running as an opportunistic job, and is evicted only where it is in the way. */
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
