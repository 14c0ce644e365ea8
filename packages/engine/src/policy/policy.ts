/**
 * A policy is data: every knob of a round in one closed record. Presets (`presets.ts`) bundle them; comparing with another
 * system is running this engine under another policy. The first five knobs every policy states; the others may be left out
 * and are then as in `rules.ts`, so that a policy in an old journal still means what it said.
 */
import type { ScheduleTimes } from "../model/schedule.ts";
import type { StrategyName } from "./strategies.ts";

export interface Policy {
  readonly name: string;
  /** The system whose preemption, quotas and placement in the fabric the policy follows (`strategies.ts`); absent: `headroom`. */
  readonly strategy?: StrategyName;
  /**
   * Who goes first within a team, most significant key first; every order ends in the order of submission. `priority`: larger
   * first. `walltime`: shorter first, unlimited last. `running`: what runs and would go on before what would start. `starting`: what does not run with its minimum yet, then what runs with no more than that, then what has grown beyond.
   * `user`: whose user holds less of the team goes first. `deadline`: the one due first. `submitted`: nothing but the order of submission.
   */
  readonly order: readonly OrderKey[];
  /** `stop`: nothing starts past the first that does not fit; who is held by a team's limit, or by a fleet too small for it, waits aside. `skip`: whatever fits starts, in order. */
  readonly whenHeadBlocked: "stop" | "skip";
  /** Which of the nodes that fit a worker goes to: see `NodeOrder`. */
  readonly placement: NodeOrder;
  /**
   * For `fragmentation`: what is typically asked for, kind by kind and how often. Absent: it is learned from what is submitted,
   * as it always is for `balanced`.
   */
  readonly typicalDemand?: readonly TypicalDemand[];
  /** Work that the fleet could not hold even if it were empty: `hold` keeps it waiting and lets others pass; `reject` refuses it. */
  readonly exceedsFleet: "hold" | "reject";
  readonly phases?: readonly Phase[];
  readonly teams?: TeamRules;
  readonly backfill?: BackfillRules;
  /**
   * Which domains of the fabric a gang gets. `fullest`: of those that hold it the fullest. `fewest`: the fewest domains, then the
   * tightest. `balanced`: the same, but a gang that no single domain holds is split as evenly as possible.
   */
  readonly fabric?: "fullest" | "fewest" | "balanced";
  readonly eviction?: EvictionRules;
  readonly elastic?: ElasticRules;
  /** A task whose attempt failed keeps its place during a back-off of at most this long; 0: it gives the place up. */
  readonly retryInPlaceMs?: number;
  /** For the phase `defragment`, which does nothing without it. */
  readonly defragment?: DefragmentRules;
}

/** A kind of worker: accelerators and thousandths of each (1000, or less of one), cores, and how many of what is asked are such. */
export interface TypicalDemand {
  readonly accelerators: number;
  readonly milli: number;
  readonly coresMilli: number;
  readonly count: number;
}

export type OrderKey = "submitted" | "priority" | "walltime" | "starting" | "running" | "user" | "deadline";

/**
 * `pack`: the node with the fewest free accelerators that fits. `spread`: the one with the most. `random`: any, drawn by seed and
 * sequence. `best-fit`: what is left of cores and accelerators after placing, as parts of the largest node, is least.
 * `fragmentation`: least becomes useless for what is typically asked (`typicalDemand`). `balanced`: what has lately been asked for
 * loses least by it; untouched nodes are kept for those who want all of one, and who asks for whole accelerators alone is packed: see `schedule/scores`.
 * Ties: the node that joined first.
 */
export type NodeOrder = "pack" | "spread" | "random" | "best-fit" | "fragmentation" | "balanced";

/**
 * What a round does after time has been dealt with, in this order. `place`: starts what fits. `consolidate`: moves work that may
 * be moved to make room. `reclaim`: takes back for a team what others hold beyond theirs. `preempt`: takes from work of lower
 * priority in the same team. `refill`: tentatively evicts what teams hold above their share and guarantee, and fills
 * up anew in fair order. `defragment`: while nobody waits for room, moves a little work to gather what is idle. `grow`: gives elastic gangs what is left. `drop-incomplete`: ends gangs that fell below their minimum.
 */
export type Phase =
  | "place"
  | "consolidate"
  | "reclaim"
  | "preempt"
  | "rebalance"
  | "defragment"
  | "grow"
  | "drop-incomplete";

export interface TeamRules {
  /** How siblings are ordered, most significant key first, each seen with its best waiting request; empty: teams play no part in the order. */
  readonly order: readonly TeamOrderKey[];
  /** `guarantee`: work that is not preemptible stays within the guarantee of its team and of every team above it that has one. `limit`: it may go as far as any. */
  readonly nonPreemptible: "guarantee" | "limit";
  /**
   * Past use counts, and halves in this time (`ordering/weights-after-use.ts`); `null`: only what is held now. It decides the
   * order; an eviction needs the shares by what is held now to agree. Beside `refill` it does not count.
   */
  readonly usageHalfLifeMs: number | null;
}

/**
 * `above-share-last`: whoever is above its fair share in every resource goes last. `within-guarantee`: who stays within its guarantee with the request goes first. `priority`: larger
 * first. `without-entitlement-last`: who may claim nothing of a resource it would use goes last. `share-with`: the smaller dominant share with the request. `share`: without it.
 * `claim`: the smaller claim, of accelerators, then cores, then memory. `weighted-use`: the smaller use with the request for its weight. `guarantee-ratio`: the smaller ratio of use to guarantee. `name`. Ties end in the order of definition.
 */
export type TeamOrderKey =
  | "above-share-last"
  | "within-guarantee"
  | "priority"
  | "without-entitlement-last"
  | "share-with"
  | "share"
  | "entitlement"
  | "weighted-use"
  | "guarantee-ratio"
  | "name";

export interface BackfillRules {
  /** `none`: no reservation is kept. `head`: the first that does not fit is given a protected start (EASY). `all`: the first `depth` are (conservative). */
  readonly reserve: "none" | "head" | "all";
  readonly depth: number;
  /** Work without a walltime is taken to last this long. */
  readonly assumedWalltimeMs: number;
  /** Work is taken to last as long as the last so many of its kind took on average (`usage/run-times.ts`), 1 to `RUNS_KEPT`; absent: as its walltime says. */
  readonly predictFrom?: number;
}

export interface EvictionRules {
  /** Work that says nothing about it is preemptible below this priority; `null`: always. */
  readonly preemptibleBelowPriority: number | null;
  /** Work at or above that priority that says nothing: `aboveGuarantee`, or, also if absent, `never`. */
  readonly unstatedPreemptible?: "never" | "aboveGuarantee";
  /** For plans that move work to make room: how many moves a plan may make at most, and how much work each may lose (ms since its last checkpoint); absent: 8, and 10 minutes. */
  readonly movesMax?: number;
  readonly moveLossMsMax?: number;
  /** Work is asked for a checkpoint before it is stopped, and given this long. */
  readonly checkpointTimeoutMs: number;
}

export interface DefragmentRules {
  /** At most so many moves within any hour. */
  readonly movesPerHour: number;
  /** A workload is moved at most once in so long; an hour or more. */
  readonly restMs: number;
  /** What a move may cost (work done again, and a place that would come free within the hour anyway, in accelerators times ms) for each pair of idle accelerators that it brings together on a node. */
  readonly lossPerPairMs: number;
  /** From each of these instants on for so long; absent: always. */
  readonly during?: { readonly times: ScheduleTimes; readonly lastsMs: number };
}

export interface ElasticRules {
  /** `in-order`: a gang asks for each further worker in the order of the queue. `last`: gangs grow after all else was served. */
  readonly grow: "in-order" | "last" | "never";
  /**
   * `order`: one further worker at a time, in the order of serving. `throughput`: gangs that came with a curve ask for the step that
   * brings most for each of its workers, and for none that brings nothing; those that grow `last` go by what the next step brings,
   * after the turns of their teams. Absent: `order`.
   */
  readonly by?: "order" | "throughput";
}
