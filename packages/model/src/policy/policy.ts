/**
 * A policy is data: all settings ("knobs") of a round in one closed record. Presets (`presets.ts`) are named policies.
 * To compare with another system, this engine runs under the preset that imitates it. The first five knobs are
 * required. The others have the defaults in `rules.ts`, so that a policy in an old journal keeps its meaning.
 */
import type { ScheduleTimes } from "../resources/schedule.ts";
import type { StrategyName } from "./strategies.ts";

export interface Policy {
  readonly name: string;
  /**
   * System whose rules of preemption, quotas and fabric placement the policy follows (`strategies.ts`). Absent:
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
  /**
   * Order in which nodes are preferred among those on which a worker fits. `fragmentation` without stated demand learns
   * the demand from submissions.
   */
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
   * other requests. With `-by-throughput`, a gang with a throughput curve grows by the step with the highest gain per
   * worker, and does not grow if no step has a gain. With `last-by-throughput`, teams take turns, and the gain decides
   * within a team.
   */
  readonly elastic?: Growth;
  /**
   * Maximum length, in ms, of a back-off during which a task keeps its place after a failed attempt. 0: a task never
   * keeps its place.
   */
  readonly retryInPlaceMs?: number;
  /** Rules of the phase `defragment`. Absent: the phase has no effect. */
  readonly defragment?: DefragmentRules;
}

/**
 * A kind of worker: its number of accelerators, the thousandths that it takes of each (1000, or less for a fraction of
 * one), its cores in thousandths, and how frequent it is.
 */
export interface TypicalDemand {
  readonly accelerators: number;
  readonly milli: number;
  readonly coresMilli: number;
  readonly count: number;
}

/** Node order `fragmentation` for a stated demand, in the form that published evaluations use. */
export interface FragmentationFor {
  readonly order: "fragmentation";
  readonly typicalDemand: readonly TypicalDemand[];
}

export type OrderKey = "submitted" | "priority" | "walltime" | "starting" | "running" | "user" | "deadline";

/**
 * Order of the nodes on which a worker fits. `pack`: the fewest free accelerators first. `spread`: the most free
 * accelerators first. `random`: a random order, drawn from seed and sequence. `best-fit`: the least cores and
 * accelerators that remain free, as parts of the largest node. `fragmentation`: the smallest loss of usable capacity
 * for typical demand (`TypicalDemand`). `balanced`: the same for recent demand; empty nodes are kept for requests of
 * whole nodes, and requests of whole accelerators alone are packed (`placement/score`). Among equal nodes, the one that
 * joined first is preferred.
 */
export type NodeOrder = "pack" | "spread" | "random" | "best-fit" | "fragmentation" | "balanced";

/**
 * Phases of a round. They follow the events that are due by time. `place`: starts requests that fit. `consolidate`:
 * migrates work to free whole nodes. `reclaim`: stops work of teams above their entitlement for a team below its own.
 * `preempt`: stops work of lower priority in the same team. `rebalance`: tentatively evicts usage above share and
 * guarantee, and reschedules all work in fair order. `defragment`: while no request waits for capacity, migrates a
 * little work to gather idle accelerators. `grow`: gives idle capacity to elastic gangs. `drop-incomplete`: ends gangs
 * that fell below their minimum.
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
   * Order of sibling teams, most significant key first; each team is compared with its best waiting request. If the
   * list is empty, teams do not affect the order.
   */
  readonly order: readonly TeamOrderKey[];
  /**
   * Bound of the usage by non-preemptible work. `guarantee`: the guarantees of its team and of the teams above it,
   * where they are stated. `unguaranteed`: beyond its team's guarantee, capacity that other teams' unused guarantees do
   * not need (`cluster/unguaranteed.ts`). `limit`: the same limits as for other work.
   */
  readonly nonPreemptible: "guarantee" | "unguaranteed" | "limit";
  /**
   * Half-life of usage history in ms (`ordering/weights-after-usage.ts`), or `null` if only current usage counts. Usage
   * history affects the order of teams. An eviction also requires that the teams' shares by current usage allow it. The
   * phase `rebalance` ignores usage history.
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
   * Number of blocked requests, counted from the head of the queue, whose start backfilled work must not delay. 0:
   * none. 1: the head alone (EASY). More: conservative backfill.
   */
  readonly protectedStarts: number;
  /** Assumed run time of work without a walltime, in ms. */
  readonly assumedWalltimeMs: number;
  /**
   * Number of recent runs, 1 to `RUNS_KEPT`, whose mean predicts the run time of work of the same kind
   * (`usage/run-times.ts`). Absent: the walltime is used instead.
   */
  readonly predictFrom?: number;
}

export interface EvictionRules {
  readonly preemptible: UnstatedPreemptible;
  /** Maximum number of migrations in a plan; 8 if absent. */
  readonly migrationsMax?: number;
  /**
   * Time limit, in ms, of the checkpoint that is requested from work before it is stopped. 0: no checkpoint is
   * requested.
   */
  readonly checkpointTimeoutMs: number;
}

/** Value of `preemptible` for work that does not state it. */
export interface UnstatedPreemptible {
  /** Work below this priority is preemptible. `null`: all work is preemptible. */
  readonly belowPriority: number | null;
  /** Value for work whose priority is `belowPriority` or higher. Absent: `never`. */
  readonly otherwise?: "never" | "aboveGuarantee";
}

export interface DefragmentRules {
  /** Maximum number of migrations in any period of one hour. */
  readonly migrationsPerHour: number;
  /**
   * Maximum cost of a migration, in accelerators times ms, for each pair of idle accelerators that it gathers on a
   * node. The cost is the repeated work, and the capacity that would become free within the hour in any case.
   */
  readonly lossPerPairMs: number;
  /**
   * Start times and length, in ms, of the periods in which work may be migrated. Absent: work may be migrated at any
   * time.
   */
  readonly during?: { readonly times: ScheduleTimes; readonly lastsMs: number };
}

export type Growth = "never" | "in-order" | "last" | "in-order-by-throughput" | "last-by-throughput";
