/** Policies are data; a preset is a policy with a name that ships with the engine. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";

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
        "without-claim-last",
        "share-with",
        "share",
        "claim",
        "weighted-use",
        "guarantee-ratio",
        "name",
      ]),
      10,
    ).meta({ description: "How sibling teams take turns, most significant key first; empty: teams play no part." }),
    share: z.enum(["divide", "weights"]).meta({
      description: "`divide`: the guarantee, then the rest by weight. `weights`: by weight alone among those that want.",
    }),
    nonPreemptible: z
      .enum(["guarantee", "limit"])
      .meta({ description: "How far work that cannot be preempted may go: its team's guarantee, or any limit." }),
    overGuarantee: z
      .enum(["idle", "borrow"])
      .meta({ description: "Beyond its guarantee a team uses what is idle, or only what others lend." }),
    usageHalfLifeMs: durationMs.nullable().meta({ description: "Past use counts and halves in this time; null: not." }),
    shapes: z
      .strictObject({ fromPriority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX) })
      .optional()
      .meta({ description: "Work from this priority on keeps to its team's shapes, and gets them back whenever it asks." }),
  })
  .meta({ id: "TeamRules" });

const backfillRules = z
  .strictObject({
    reserve: z
      .enum(["none", "head", "all"])
      .meta({ description: "Whose start is protected: nobody's, the first's that does not fit (EASY), or all (conservative)." }),
    depth: integer(1, 10_000).meta({ description: "How many reservations are kept at most." }),
    assumedWalltimeMs: durationMs.meta({ description: "How long work without a walltime is taken to last." }),
  })
  .meta({ id: "BackfillRules" });

const fabricRules = z
  .strictObject({
    choose: z.enum(["fullest", "fewest", "cells"]).meta({ description: "Which domains of the fabric a gang prefers." }),
    leastFreeWithoutWish: z.boolean().meta({ description: "Work without wishes goes where least is free." }),
    balanced: z.boolean().meta({ description: "What no single domain holds is spread as evenly as can be." }),
  })
  .meta({ id: "FabricRules" });

const evictionRules = z
  .strictObject({
    search: z.enum(["cheapest", "fewest", "growing-list", "by-share", "by-advantage", "cells"]).meta({ description: "How the victims of a plan are found." }),
    shareTests: distinct(z.enum(["final", "initial"]), 2).meta({ description: "The tests of shares, in turn." }),
    preemptibleBelowPriority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX)
      .nullable()
      .meta({ description: "Work that says nothing is preemptible below this priority; null: always." }),
    promises: z.enum(["kept", "forgotten"]).meta({ description: "Whether a planned place is kept until it is free." }),
    lazy: z.boolean().meta({ description: "Who must give its cells to its own team runs on as a loan of what is idle." }),
    movesMax: integer(0, 10_000).optional().meta({ description: "How many moves a plan may make to make room; 8 if left out." }),
    moveLossMsMax: durationMs
      .optional()
      .meta({ description: "How much work a move may lose since the last checkpoint; 10 minutes if left out." }),
    checkpointTimeoutMs: durationMs.meta({ description: "How long work may take to write a checkpoint before a stop." }),
  })
  .meta({ id: "EvictionRules" });

export const policy = z
  .strictObject({
    name: names.workloadName,
    order: distinct(z.enum(["submitted", "priority", "walltime", "starting", "running", "user", "deadline"]), 7)
      .min(1)
      .meta({ description: "Who goes first, most significant key first; ties end in the order of submission." }),
    whenHeadBlocked: z
      .enum(["stop", "skip"])
      .meta({ description: "`stop`: nothing starts past the first that does not fit. `skip`: whatever fits starts." }),
    placement: z
      .enum(["pack", "spread", "random", "best-fit", "fragmentation", "balanced"])
      .meta({ description: "Which of the nodes that fit a worker goes to." }),
    exceedsFleet: z
      .enum(["hold", "reject"])
      .meta({ description: "What becomes of work that the whole fleet could not hold." }),
    phases: distinct(z.enum(["place", "consolidate", "reclaim", "preempt", "refill", "grow", "drop-incomplete"]), 7)
      .optional()
      .meta({ description: "What a round does, in this order." }),
    teams: teamRules.optional(),
    backfill: backfillRules.optional(),
    fabric: fabricRules.optional(),
    eviction: evictionRules.optional(),
    elastic: z
      .strictObject({ grow: z.enum(["in-order", "last", "never"]) })
      .optional()
      .meta({ description: "When elastic gangs get further workers." }),
    waives: z
      .array(integer(1, 16))
      .max(16)
      .optional()
      .meta({ description: "Invariants that the policy gives up for what it imitates." }),
  })
  .meta({ id: "Policy" });

export const policyChoice = z
  .union([z.strictObject({ preset: names.workloadName }), z.strictObject({ policy })])
  .meta({ id: "PolicyChoice", description: "A preset by its name, or a whole policy." });

export const policySet = z.object({ name: z.string() }).meta({ id: "PolicySet" });
export const presetList = z.object({ items: z.array(policy) }).meta({ id: "PresetList" });

export type Policy = z.output<typeof policy>;
export type PolicyChoice = z.output<typeof policyChoice>;
export type PolicySet = z.output<typeof policySet>;
