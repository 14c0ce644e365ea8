/** Policies are data; a preset is a policy with a name that ships with the engine. */
import { z } from "zod";
import { integer, limits, names, scheduleTimes } from "@headroom/spec";
import { applyWarning } from "./apply-warning.ts";

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
        "How sibling teams take turns, each seen with its best waiting request, most significant key first; empty: teams play no part. `above-share-last`: whoever is above its fair share of everything goes last. `within-guarantee`: who stays within its guarantee with the request goes first. `priority`: larger first. `without-entitlement-last`: who may claim nothing of what it asks for goes last. `share-with`, `share`: the smaller dominant share, with and without the request. `claim`: the smaller claim, of accelerators, then cores, then memory. `weighted-use`: the smaller use, with the request, for its weight. `guarantee-ratio`: the smaller part of its guarantee. `name`. Ties end in the order of definition.",
    }),
    nonPreemptible: z.enum(["guarantee", "limit"]).meta({
      description:
        "How far work goes that is not preemptible. `guarantee`: it stays within the guarantee of its team and of every team above that has one. `limit`: as far as any other.",
    }),
    usageHalfLifeMs: integer(limits.HALF_LIFE_MS_MIN, limits.DURATION_MS_MAX).nullable().meta({
      description:
        "Past use counts: the more a team held on average, beyond its guarantee, the less its weight, and a time that lies this far back counts half; null: only what it holds now. It decides who is next; nobody is evicted on its account who could not be without it. Not beside `refill`.",
    }),
  })
  .meta({ id: "TeamRules" });

const backfillRules = z
  .strictObject({
    reserve: z.enum(["none", "head", "all"]).meta({
      description:
        "Whose start is protected from what goes around it. `none`: nobody's. `head`: that of the first that does not fit (EASY). `all`: those of the first `depth` (conservative).",
    }),
    depth: integer(1, 10_000).meta({ description: "How many starts are protected at most." }),
    assumedWalltimeMs: durationMs.meta({ description: "How long work without a walltime is taken to last." }),
    predictFrom: integer(1, limits.PREDICT_FROM_MAX).optional().meta({
      description:
        "Beside protected starts work is taken to last as long as the last so many of its kind took on average: of its user in its team, of the same name and number of accelerators, or else of anything of that user. What outlives that is predicted anew, longer each time, and a protected start may move back by it. Nothing is stopped before its walltime, and windows of the calendar go by that. Left out: as walltimes say.",
    }),
  })
  .meta({ id: "BackfillRules" });

const evictionRules = z
  .strictObject({
    preemptibleBelowPriority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX).nullable().meta({
      description: "Work that does not say whether it is preemptible is so below this priority; null: always.",
    }),
    unstatedPreemptible: z.enum(["never", "aboveGuarantee"]).optional().meta({
      description:
        "What holds for work at or above `preemptibleBelowPriority` that does not say whether it is preemptible. `never`: it stays within its team's guarantee and is not preempted; so it is if left out. `aboveGuarantee`: it uses what is idle, and what its team holds above its guarantee can be reclaimed by a team that is below its own. For the search `lowest-cost`.",
    }),
    movesMax: integer(0, 10_000).optional().meta({
      description: "How many moves a plan may make; 8 if left out.",
    }),
    moveLossMsMax: durationMs.optional().meta({
      description:
        "How much work a move may lose since the last checkpoint, unless it is of a team that holds more than it may claim; 10 minutes if left out.",
    }),
    checkpointTimeoutMs: durationMs.meta({
      description:
        "How long work that writes checkpoints when asked (`checkpoint.onRequest`) may take for one before it is stopped, when it is evicted, moved or has to leave a drained node; 0: it is not asked.",
    }),
  })
  .meta({ id: "EvictionRules" });

const HOUR_MS = 3_600_000;

const defragmentRules = z
  .strictObject({
    movesPerHour: integer(1, 100_000).meta({ description: "How many moves there may be within any hour." }),
    restMs: integer(HOUR_MS, limits.DURATION_MS_MAX).meta({
      description: "A workload is moved at most once in so long: an hour or more.",
    }),
    lossPerPairMs: integer(0, limits.DURATION_MS_MAX).meta({
      description:
        "What a move may cost for each pair of idle accelerators that it brings together on a node: work done again, and what would come free within the hour anyway, in accelerators times milliseconds.",
    }),
    during: z
      .strictObject({
        times: scheduleTimes.meta({ description: "When such a time begins, in UTC: a cron expression, read." }),
        lastsMs: integer(60_000, limits.DURATION_MS_MAX).meta({ description: "How long it lasts." }),
      })
      .optional()
      .meta({ description: "Only at these times; always if left out." }),
  })
  .meta({ id: "DefragmentRules" });

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
          "Who goes first within a team, most significant key first; ties end in the order of submission. `priority`: larger first. `walltime`: shorter first, unlimited last. `running`: what runs and would go on. `starting`: what does not run with its least number of workers yet, then what runs with no more than that. `user`: whose user holds less of the team, with what the user held on average where past use counts. `deadline`: the one due first. `submitted`.",
      }),
    whenHeadBlocked: z.enum(["stop", "skip"]).meta({
      description:
        "`stop`: nothing starts past the first that does not fit; whoever waits for a limit or a larger fleet waits aside. `skip`: whatever fits starts, in order.",
    }),
    placement: z.enum(["pack", "spread", "random", "best-fit", "fragmentation", "balanced"]).meta({
      description:
        "Which of the nodes that fit a worker goes to. `pack`: the one with the fewest free accelerators. `spread`: the one with the most. `random`: any, drawn by lot. `best-fit`: where least of cores and accelerators is left. `fragmentation`: where least becomes useless for what is typically asked. `balanced`: where what has lately been asked for loses least; untouched nodes are kept for work that wants all of one. Who asks `balanced` for nothing but whole accelerators is packed.",
    }),
    typicalDemand: z
      .array(
        z.strictObject({
          accelerators: integer(0, limits.ACCELERATORS_PER_NODE_MAX),
          milli: integer(1, 1000),
          coresMilli: integer(0, limits.CORES_MILLI_MAX),
          count: integer(1, limits.TASKS_MAX),
        }),
      )
      .min(1)
      .max(limits.TYPICAL_DEMAND_MAX)
      .optional()
      .meta({
        description:
          "For `fragmentation`: the kinds of worker that are typically asked for: accelerators, thousandths of each, cores, and how often. Left out, it is learned from what is submitted, as it always is for `balanced`.",
      }),
    exceedsFleet: z.enum(["hold", "reject"]).meta({
      description:
        "What becomes of work that the fleet could not hold if it were empty. `hold`: it waits, and lets others pass. `reject`: it is refused.",
    }),
    phases: distinct(
      z.enum(["place", "consolidate", "reclaim", "preempt", "rebalance", "defragment", "grow", "drop-incomplete"]),
      8,
    )
      .optional()
      .meta({
        description:
          "What a round does, in this order. `place`: starts what fits. `consolidate`: moves work that may move to make room. `reclaim`: takes back for teams what others hold beyond theirs. `preempt`: takes from lower priority in the same team. `refill`: gives out anew, in fair order, what teams hold above their share and guarantee. `defragment`: while nobody waits for room, moves work that may move to gather what is idle, within the bounds of `defragment`. `grow`: gives elastic gangs what is left. `drop-incomplete`: ends gangs that fell below their least number of workers.",
      }),
    teams: teamRules.optional(),
    backfill: backfillRules.optional(),
    fabric: z.enum(["fullest", "fewest", "balanced"]).optional().meta({
      description:
        "Which domains of the fabric a gang gets. `fullest`: of those that hold it the fullest. `fewest`: the fewest domains, then the tightest. `balanced`: the same, but a gang that no single domain holds is split as evenly as possible.",
    }),
    eviction: evictionRules.optional(),
    elastic: z
      .strictObject({
        grow: z.enum(["in-order", "last", "never"]).meta({
          description:
            "When elastic gangs get further workers. `in-order`: one by one, in the order of the queue. `last`: when all else was served. `never`.",
        }),
        by: z.enum(["order", "throughput"]).optional().meta({
          description:
            "Whom a further worker goes to. `order`: one at a time, in the order of serving; so it is if left out. `throughput`: gangs that came with a curve (`elastic.throughput`) ask for the step that brings most for each of its workers, and for none that brings nothing; where gangs grow `last`, teams take turns and within a team the step goes to whom it brings most.",
        }),
      })
      .optional(),
    retryInPlaceMs: durationMs.optional().meta({
      description:
        "A task whose attempt failed or was killed keeps its place during a back-off of at most this long. Longer ones, and 0, give the place to others.",
    }),
    defragment: defragmentRules.optional(),
  })
  .refine(({ phases }) => phases === undefined || phases.includes("place") || phases.includes("rebalance"), {
    path: ["phases"],
    message: "must have place or refill among them, or nothing would ever start",
  })
  .refine(({ phases, defragment }) => phases?.includes("defragment") !== true || defragment !== undefined, {
    path: ["defragment"],
    message: "must say within which bounds work is moved, for the phase defragment",
  })
  .refine(({ teams, phases }) => teams?.usageHalfLifeMs == null || phases?.includes("rebalance") !== true, {
    path: ["teams", "usageHalfLifeMs"],
    message: "must be null beside the phase refill, which gives out anew what is held now",
  })
  .meta({ id: "Policy" });

export const policyChoice = z
  .union([z.strictObject({ preset: names.workloadName }), z.strictObject({ policy })])
  .meta({ id: "PolicyChoice", description: "A preset by its name, or a whole policy." });

export const policySet = z
  .object({
    name: z.string(),
    warnings: z
      .array(applyWarning)
      .optional()
      .meta({ description: "Quotas that the policy takes otherwise than they may be meant; left out: none." }),
  })
  .meta({ id: "PolicySet" });
export const presetList = z.object({ items: z.array(policy) }).meta({ id: "PresetList" });

export type Policy = z.output<typeof policy>;
export type PolicyChoice = z.output<typeof policyChoice>;
export type PolicySet = z.output<typeof policySet>;
