/**
 * Policies are data; a preset is a policy with a name that ships with the engine. A file of a policy is in the terms of
 * the API, so this schema is their one declaration: the reader of files, the API and the reference page use it.
 */
import { z } from "zod";
import * as limits from "../limits.ts";
import { integer } from "../limits.ts";
import * as names from "../names.ts";
import { scheduleTimes } from "../schedule-times.ts";

const strategies = [
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

const durationMs = integer(0, limits.DURATION_MS_MAX);

const distinct = <Item extends z.ZodType>(item: Item, most: number): z.ZodArray<Item> =>
  z
    .array(item)
    .max(most)
    .refine((keys) => new Set(keys).size === keys.length, { message: "must not name a key twice" });

const teamRules = z
  .strictObject({
    order: distinct(
      z.enum([
        "above-share-last",
        "within-guarantee",
        "priority",
        "without-entitlement-last",
        "share-with",
        "share",
        "entitlement",
        "weighted-use",
        "guarantee-ratio",
        "name",
      ]),
      10,
    ).meta({
      description:
        "Order of sibling teams, each compared with its best waiting request, most significant key first; empty: teams do not affect the order. `above-share-last`: teams above their fair share of every resource go last. `within-guarantee`: teams that stay within their guarantee with the request go first. `priority`: larger first. `without-entitlement-last`: teams without an entitlement to the requested resources go last. `share-with`, `share`: smaller dominant share first, with and without the request. `entitlement`: smaller entitlement first, of accelerators, then cores, then memory. `weighted-use`: smaller usage for its weight first, with the request. `guarantee-ratio`: smaller part of its guarantee first. `name`. Ties end in the order of definition.",
    }),
    nonPreemptible: z.enum(["guarantee", "unguaranteed", "limit"]).meta({
      description:
        "Bound of non-preemptible work. `guarantee`: the guarantee of its team and of every team above it that has one. `unguaranteed`: above its team's guarantee it can use idle capacity that other teams' unused guarantees do not need. `limit`: the same as for other work.",
    }),
    usageHalfLifeMs: integer(limits.HALF_LIFE_MS_MIN, limits.DURATION_MS_MAX).nullable().meta({
      description:
        "Half-life of usage history: average usage beyond the guarantee reduces a team's weight, and usage one half-life ago counts half; null: only current usage counts. It decides the order; no work is evicted only because of past usage. Not together with `rebalance`.",
    }),
  })
  .meta({ id: "TeamRules" });

const backfillRules = z
  .strictObject({
    protectedStarts: integer(0, 10_000).meta({
      description:
        "Number of blocked requests, from the head of the queue, whose start backfilled work must not delay. 0: none. 1: the head of the queue (EASY backfill). More: conservative backfill for so many.",
    }),
    assumedWalltimeMs: durationMs.meta({ description: "Assumed run time of work without a walltime." }),
    predictFrom: integer(1, limits.PREDICT_FROM_MAX).optional().meta({
      description:
        "Predicts run times for protected starts: the mean of this number of recent runs of the same user and team, with the same name and number of accelerators, or else of any work of that user; never above the walltime. A run that exceeds its prediction gets a longer one, and a protected start may move back by it. Nothing is stopped before its walltime, and calendar windows use walltimes. Default: walltimes.",
    }),
  })
  .meta({ id: "BackfillRules" });

const evictionRules = z
  .strictObject({
    preemptible: z
      .strictObject({
        belowPriority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX).nullable(),
        otherwise: z.enum(["never", "aboveGuarantee"]).optional(),
      })
      .meta({
        description:
          "Default of `preemptible`, for work that does not state it. Work below the priority `belowPriority` is preemptible; null: all work is. For other work, `otherwise: never`: it is not preempted, and `teams.nonPreemptible` bounds what it can use (also if `otherwise` is absent). `otherwise: aboveGuarantee`, for the strategy `headroom`: it uses idle capacity, and a team below its guarantee can reclaim what another team holds above its own.",
      }),
    migrationsMax: integer(0, 10_000).optional().meta({
      description:
        "Maximum number of migrations in a plan; default 8. Each may lose at most 10 minutes of work since the last checkpoint, unless its team is above its entitlement.",
    }),
    checkpointTimeoutMs: durationMs.meta({
      description:
        "Time for a checkpoint before work with `checkpoint.onRequest` is stopped for an eviction, a migration or a drain; 0: no checkpoint is requested.",
    }),
  })
  .meta({ id: "EvictionRules" });

const defragmentRules = z
  .strictObject({
    migrationsPerHour: integer(1, 100_000).meta({
      description: "Maximum number of migrations within any hour. A workload is migrated at most once in 24 hours.",
    }),
    lossPerPairMs: integer(0, limits.DURATION_MS_MAX).meta({
      description:
        "Maximum cost of a migration for each pair of idle accelerators that it gathers on a node: repeated work, and capacity that would be freed within the hour anyway, in accelerators times milliseconds.",
    }),
    during: z
      .strictObject({
        times: scheduleTimes,
        lastsMs: integer(60_000, limits.DURATION_MS_MAX),
      })
      .optional()
      .meta({
        description:
          "Restricts migrations to periods of `lastsMs` (at least a minute) that start at `times`: lists of `minutes`, `hours`, `daysOfMonth`, `months` and `daysOfWeek` (0 is Sunday), in UTC. Default: always.",
      }),
  })
  .meta({ id: "DefragmentRules" });

const nodeOrders = ["pack", "spread", "random", "best-fit", "fragmentation", "balanced"] as const;

const fragmentationFor = z
  .strictObject({
    order: z.literal("fragmentation"),
    typicalDemand: z
      .array(
        z.strictObject({
          accelerators: integer(0, limits.ACCELERATORS_PER_NODE_MAX),
          milli: integer(1, 1000),
          coresMilli: integer(0, limits.CORES_MILLI_MAX),
          count: integer(1, limits.TASKS_MAX),
        }),
      )
      .min(1, { message: "must name a kind of worker" })
      .max(limits.TYPICAL_DEMAND_MAX),
  })
  .meta({ id: "FragmentationFor" });

/** The union's own message names no choice. */
const notAPlacement = (): string =>
  `must be ${nodeOrders.join(" or ")}, or { order: fragmentation, typicalDemand: [{ accelerators, milli, coresMilli, count }] }`;

export const policy = z
  .strictObject({
    name: names.workloadName.meta({ description: "The name of the policy." }),
    strategy: z.enum(strategies).optional().meta({
      description:
        "The system whose rules the policy follows where no knob states them. `headroom`: evicts the work whose stop costs least, and migrates work that is in the way. The others imitate: `kai` KAI-Scheduler, `volcano` Volcano's capacity plugin, `armada` Armada's fair shares, `kueue-fair-sharing` and `kueue-classical` Kueue's quotas that are lent and borrowed (`-final` and `-initial`: with one of the two tests of shares alone), `kueue-topology` Kueue's placement, `hived` HiveD's cells with lazy preemption, `hived-eager` without it.",
    }),
    order: distinct(z.enum(["submitted", "priority", "walltime", "starting", "running", "user", "deadline"]), 7)
      .min(1)
      .meta({
        description:
          "Order of requests within a team, most significant key first; ties end in the order of submission. `priority`: larger first. `walltime`: shorter first, unlimited last. `running`: running work first. `starting`: gangs below their minimum number of workers first, then those at their minimum. `user`: users with smaller usage in the team first, including usage history if it counts. `deadline`: earliest first. `submitted`.",
      }),
    whenHeadBlocked: z.enum(["stop", "skip"]).meta({
      description:
        "`stop`: no request starts before the head of the queue; requests that wait for a limit or a larger fleet are skipped. `skip`: requests that fit start in order.",
    }),
    placement: z.union([z.enum(nodeOrders), fragmentationFor], { error: notAPlacement }).meta({
      description:
        "Choice among the nodes that fit a worker. `pack`: fewest free accelerators. `spread`: most free accelerators. `random`: any. `best-fit`: smallest rest of cores and accelerators. `fragmentation`: minimal fragmentation for typical demand, which is learned from submissions, or stated as a list of kinds of workers (accelerators, thousandths of each, thousandths of cores, frequency): `{ order: fragmentation, typicalDemand: [...] }`. `balanced`: minimal fragmentation for recent demand; empty nodes are kept for requests of whole nodes. Under `balanced`, requests of whole accelerators alone are packed.",
    }),
    exceedsFleet: z.enum(["hold", "reject"]).meta({
      description:
        "Treatment of work that the empty fleet could not hold. `hold`: it waits without blocking others. `reject`: it is refused.",
    }),
    phases: distinct(
      z.enum(["place", "consolidate", "reclaim", "preempt", "rebalance", "defragment", "grow", "drop-incomplete"]),
      8,
    )
      .optional()
      .meta({
        description:
          "Phases of a round, in this order. `place`: starts requests that fit. `consolidate`: migrates work to free whole nodes. `reclaim`: stops work of teams above their entitlement for teams below theirs. `preempt`: stops work of lower priority in the same team. `rebalance`: tentatively evicts what teams hold above share and guarantee, and fills up in fair order. `defragment`: while no request waits for capacity, migrates work to gather idle accelerators, within the bounds of `defragment`. `grow`: gives elastic gangs idle capacity. `drop-incomplete`: ends gangs below their minimum number of workers.",
      }),
    teams: teamRules.optional(),
    backfill: backfillRules.optional(),
    fabric: z.enum(["fullest", "fewest", "balanced"]).optional().meta({
      description:
        "Which domains of the fabric a gang gets. `fullest`: the fullest domain that holds it. `fewest`: the fewest domains, then the tightest. `balanced`: the same, but a gang that no single domain holds is split as evenly as possible.",
    }),
    eviction: evictionRules.optional(),
    elastic: z.enum(["never", "in-order", "last", "in-order-by-throughput", "last-by-throughput"]).optional().meta({
      description:
        "When elastic gangs get further workers. `in-order`: one at a time, in queue order. `last`: after all other requests. With `-by-throughput`, gangs with a throughput curve (`elastic.throughput`) grow by the step with the highest gain per worker, and by none without gain; after all other requests, teams take turns, and within a team the highest gain wins. `never`.",
    }),
    retryInPlaceMs: durationMs.optional().meta({
      description:
        "A task whose attempt failed or was killed keeps its place during a back-off of at most this long. Longer ones, and 0, give the place to others.",
    }),
    defragment: defragmentRules.optional(),
  })
  .refine(({ phases }) => phases === undefined || phases.includes("place") || phases.includes("rebalance"), {
    path: ["phases"],
    message: "must contain place or rebalance, because otherwise no work would ever start",
  })
  .refine(({ phases, defragment }) => phases?.includes("defragment") !== true || defragment !== undefined, {
    path: ["defragment"],
    message: "must be given for the phase defragment",
  })
  .refine(({ teams, phases }) => teams?.usageHalfLifeMs == null || phases?.includes("rebalance") !== true, {
    path: ["teams", "usageHalfLifeMs"],
    message: "must be null together with the phase rebalance, which uses current usage only",
  })
  .meta({ id: "Policy" });

export type Policy = z.output<typeof policy>;
