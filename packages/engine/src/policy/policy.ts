/**
 * A policy is data: all settings ("knobs") of a round in one closed record. Presets (`presets.ts`) are named policies;
 * comparing with another system means running this engine under another policy. The first five knobs are required. The
 * others have the defaults in `rules.ts`, so that a policy in an old journal keeps its meaning.
 */
import type { ScheduleTimes } from "../model/schedule.ts";
import type { StrategyName } from "./strategies.ts";

export interface Policy {
  readonly name: string;
  /**
   * System whose rules of preemption, quotas and fabric placement the policy follows (`strategies.ts`); absent:
   * `headroom`.
   */
  readonly strategy?: StrategyName;
  /**
   * Order of requests within a team, most significant key first; ties end in the order of submission. `priority`:
   * larger first. `walltime`: shorter first, unlimited last. `running`: running work before new starts. `starting`:
   * gangs below their minimum number of workers first, then gangs at their minimum, then gangs above it. `user`: users
   * with less usage in the team first. `deadline`: earliest first. `submitted`: order of submission.
   */
  readonly order: readonly OrderKey[];
  /**
   * `stop`: no request starts before the head of the queue; requests that wait for a team's limit or a larger fleet are
   * skipped. `skip`: every request that fits starts, in order.
   */
  readonly whenHeadBlocked: "stop" | "skip";
  /** Choice among the nodes on which a worker fits. `fragmentation` without demand learns it from submissions. */
  readonly placement: NodeOrder | FragmentationFor;
  /**
   * Treatment of work that does not fit even on the empty fleet. `hold`: it waits and does not block other work.
   * `reject`: it is refused.
   */
  readonly exceedsFleet: "hold" | "reject";
  readonly phases?: readonly Phase[];
  readonly teams?: TeamRules;
  readonly backfill?: BackfillRules;
  /**
   * Choice of the fabric domains of a gang. `fullest`: the fullest domain that holds the gang. `fewest`: the fewest
   * domains, then the tightest. `balanced`: like `fewest`, but a gang that no single domain holds is split as evenly as
   * possible.
   */
  readonly fabric?: "fullest" | "fewest" | "balanced";
  readonly eviction?: EvictionRules;
  /**
   * When elastic gangs get further workers. `in-order`: one at a time, in the order of the queue. `last`: after all
   * other requests. With `-by-throughput`, gangs with a throughput curve grow by the step with the highest gain per
   * worker, and by none without gain; after all other requests, teams take turns and the gain decides within a team.
   */
  readonly elastic?: Growth;
  /** Maximum back-off, in ms, during which a task whose attempt failed keeps its place; 0: it never does. */
  readonly retryInPlaceMs?: number;
  /** Rules of the phase `defragment`, which has no effect without them. */
  readonly defragment?: DefragmentRules;
}

/**
 * A kind of worker: number of accelerators, thousandths of each (1000, or less for a fraction of one), cores in
 * thousandths, and its frequency.
 */
export interface TypicalDemand {
  readonly accelerators: number;
  readonly milli: number;
  readonly coresMilli: number;
  readonly count: number;
}

/** Node order `fragmentation` for stated demand, as published evaluations use it. */
export interface FragmentationFor {
  readonly order: "fragmentation";
  readonly typicalDemand: readonly TypicalDemand[];
}

export type OrderKey = "submitted" | "priority" | "walltime" | "starting" | "running" | "user" | "deadline";

/**
 * Order of the nodes on which a worker fits. `pack`: the fewest free accelerators first. `spread`: the most free
 * accelerators first. `random`: random, from seed and sequence. `best-fit`: the smallest rest of cores and
 * accelerators, as parts of the largest node. `fragmentation`: the smallest loss of usable capacity for typical demand
 * (`TypicalDemand`). `balanced`: the same for recent demand; empty nodes are kept for requests of whole nodes, and
 * requests of whole accelerators alone are packed (`placement/score`).
 * Ties: the node that joined first.
 */
export type NodeOrder = "pack" | "spread" | "random" | "best-fit" | "fragmentation" | "balanced";

/**
 * Phases of a round, after events that time causes. `place`: starts requests that fit. `consolidate`: migrates work to free
 * whole nodes. `reclaim`: stops work of teams above their entitlement for a team below its own. `preempt`: stops work of lower
 * priority in the same team. `rebalance`: tentatively evicts usage above share and guarantee, and reschedules all work in
 * fair order. `defragment`: while no request waits for capacity, migrates a little work to gather idle accelerators. `grow`:
 * gives idle capacity to elastic gangs. `drop-incomplete`: ends gangs that fell below their minimum.
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
  /**
   * Order of sibling teams, most significant key first; each team is compared with its best waiting request. Empty:
   * teams do not affect the order.
   */
  readonly order: readonly TeamOrderKey[];
  /**
   * Bound of non-preemptible work. `guarantee`: the guarantee of its team and of every team above that states one.
   * `unguaranteed`: above its team's guarantee, capacity that other teams' unused guarantees do not need
   * (`cluster/unguaranteed.ts`). `limit`: the same limit as for other work.
   */
  readonly nonPreemptible: "guarantee" | "unguaranteed" | "limit";
  /**
   * Half-life of usage history in ms (`ordering/weights-after-usage.ts`); `null`: only current usage counts. Usage
   * history affects the order; an eviction also requires that shares by current usage allow it. Ignored by the phase
   * `rebalance`.
   */
  readonly usageHalfLifeMs: number | null;
}

/**
 * Keys that order sibling teams. `above-share-last`: teams above their fair share of every resource go last.
 * `within-guarantee`: teams that stay within their guarantee with the request go first. `priority`: larger first.
 * `without-entitlement-last`: teams without an entitlement to a requested resource go last. `share-with`: smaller
 * dominant share with the request first. `share`: the same without the request. `entitlement`: smaller entitlement
 * first, of accelerators, then cores, then memory. `weighted-use`: smaller usage with the request for its weight first.
 * `guarantee-ratio`: smaller part of its guarantee first. `name`. Ties end in the order of definition.
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
  /**
   * Number of blocked requests, from the head of the queue, whose start backfilled work must not delay. 0: none. 1: the
   * head (EASY). More: conservative backfill.
   */
  readonly protectedStarts: number;
  /** Assumed run time of work without a walltime, in ms. */
  readonly assumedWalltimeMs: number;
  /**
   * Predicts the run time of work as the mean of this number of recent runs of its kind (`usage/run-times.ts`), 1 to
   * `RUNS_KEPT`; absent: the walltime counts.
   */
  readonly predictFrom?: number;
}

export interface EvictionRules {
  readonly preemptible: UnstatedPreemptible;
  /** Maximum number of migrations in a plan; absent: 8. */
  readonly movesMax?: number;
  /** Time limit, in ms, of the checkpoint that work is asked for before it is stopped; 0: none is requested. */
  readonly checkpointTimeoutMs: number;
}

/** Default of `preemptible`, for work that does not state it. */
export interface UnstatedPreemptible {
  /** Work below this priority is preemptible; `null`: all work. */
  readonly belowPriority: number | null;
  /** Work at or above `belowPriority`; absent: `never`. */
  readonly otherwise?: "never" | "aboveGuarantee";
}

export interface DefragmentRules {
  /** Maximum number of migrations within any hour. */
  readonly movesPerHour: number;
  /**
   * Maximum cost of a migration for each pair of idle accelerators that it gathers on a node, in accelerators times ms:
   * repeated work, and capacity that would be freed within the hour anyway.
   */
  readonly lossPerPairMs: number;
  /** Start times and length, in ms, of the periods in which work may be migrated; absent: always. */
  readonly during?: { readonly times: ScheduleTimes; readonly lastsMs: number };
}

export type Growth = "never" | "in-order" | "last" | "in-order-by-throughput" | "last-by-throughput";
