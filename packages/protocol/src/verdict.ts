/** Verdicts: the reason why work waits, in the engine's numbers and as a sentence. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { prediction } from "./attempt.ts";
import { pageOf } from "./page.ts";
import { workloadSummary } from "./workload.ts";

const sentence = z.string().meta({ description: "The same for people, in plain English." });

const group = z
  .string()
  .optional()
  .meta({ description: "The group of its gang that finds no room beside the others; left out: it has no groups." });

/** Number of accelerators; a fraction counts as its part. */
const partial = z.number().min(0);

const fleetLack = z
  .discriminatedUnion("of", [
    z.object({ of: z.literal("type") }).meta({ description: "Nodes of a type that it accepts." }),
    z.object({ of: z.literal("part"), profile: z.string() }).meta({ description: "A device with such a part." }),
    z
      .object({
        of: z.enum(["accelerators", "acceleratorMemory", "cores", "memory", "networkGbps"]),
        perWorker: partial,
        perNodeMax: count,
      })
      .meta({
        description:
          "An amount: what a worker needs, and the most that a node has which it accepts, in accelerators, thousandths of a core or MiB of memory.",
      }),
    z.object({ of: z.enum(["nodeSelector", "spread", "fabric"]) }).meta({
      description: "Nodes with the labels that it asks for, or room for its workers as they wish to lie to each other.",
    }),
  ])
  .meta({ id: "FleetLack" });

export const blockedReason = z
  .discriminatedUnion("kind", [
    z
      .object({
        kind: z.literal("exceedsFleet"),
        group,
        acceleratorTypes: z.array(z.string()),
        workers: count,
        placeableWorkers: count,
        neededCount: partial.meta({ description: "Accelerators in sum; a part counts as its part." }),
        fleetCount: count.meta({ description: "Of the type with most of them, on nodes that it accepts." }),
        lack: fleetLack.optional().meta({
          description:
            "What is missing; left out: a group would find room alone, or only all of what it wishes is too much.",
        }),
        sentence,
      })
      .meta({ description: "The fleet as it is up now could not hold the gang even if it were empty." }),
    z
      .object({
        kind: z.literal("acceleratorShortfall"),
        group,
        acceleratorTypes: z.array(z.string()),
        neededCount: count,
        freeCount: count,
        fleetCount: count,
        sentence,
      })
      .meta({ description: "Fewer accelerators are free than it needs on the nodes that it accepts." }),
    z
      .object({
        kind: z.literal("workerShortfall"),
        group,
        workers: count,
        placeableWorkers: count,
        binding: z.enum(["accelerators", "cores", "memory", "networkGbps", "room", "spread", "fabric"]).meta({
          description:
            "`room`: cores and memory, each elsewhere or together; `spread`, `fabric`: there is room, but not as its workers wish to lie.",
        }),
        neededPerWorker: partial.meta({
          description: "Thousandths of a core or MiB of memory where `binding` is one of them, else accelerators.",
        }),
        freeCount: count.meta({
          description: "Accelerators that are free as a whole, of the type with most room, on nodes that it accepts.",
        }),
        sentence,
      })
      .meta({
        description:
          "Enough in sum, but too scattered, short of cores or memory beside them, or not as its workers wish to lie.",
      }),
    z
      .object({
        kind: z.literal("partShortfall"),
        group,
        profile: z.string(),
        sliceCount: count.meta({ description: "Memory slices that a part of the profile takes." }),
        workers: count,
        placeableWorkers: count,
        misalignedCount: count.meta({
          description: "Accelerators with as many slices left, and not where the part may begin.",
        }),
        sentence,
      })
      .meta({ description: "Too few accelerators have slices left where a part of the profile may begin." }),
    z.object({ kind: z.literal("minRuntime"), workloadId: z.string(), untilMs: instantMs, sentence }).meta({
      description:
        "Work that may be evicted for it, or the last of those that would have to be, was promised to run until then.",
    }),
    z
      .object({
        kind: z.literal("antiAffinity"),
        workloadIds: z.array(z.string()).meta({ description: "Whom it would lie too near to, the first of them." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "There would be room, but not far enough from others." }),
    z
      .object({
        kind: z.literal("dataRule"),
        rule: z.string(),
        pools: z.array(z.string()).meta({ description: "Those that admit work under the rule." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "There would be room, but not where work under this rule may run." }),
    z.object({
      kind: z.literal("teamLimit"),
      bound: z.enum(["limit", "user", "guarantee", "borrowing", "budget"]).meta({
        description:
          "What bounds the team: its limit; what it lets one user hold; its guarantee, which work that is not preemptible keeps to; what others would lend it; a budget.",
      }),
      user: z.string().optional().meta({ description: "Whose work has come to what one user may hold." }),
      team: z.string(),
      acceleratorType: z.string(),
      resource: z.string().meta({ description: "What is bounded: the type, or another resource that teams limit." }),
      limitCount: z.number(),
      usedCount: z.number(),
      neededCount: z.number(),
      sentence,
    }),
    z
      .object({
        kind: z.literal("reservedTopology"),
        team: z.string().nullable().meta({ description: "Who owns the shapes; null: no team above it owns any." }),
        neededCount: count,
        ownedCount: count,
        heldCount: count,
        sentence,
      })
      .meta({ description: "It is guaranteed by shape, and none of the cells that its team has left holds it." }),
    z
      .object({ kind: z.literal("behindHead"), headWorkloadId: z.string(), aheadCount: count, sentence })
      .meta({ description: "The policy starts nothing past the head of the queue, and the head does not fit." }),
    z.object({ kind: z.literal("held"), sentence }),
    z.object({
      kind: z.literal("waitsFor"),
      workloadId: z.string(),
      on: z.enum(["ok", "failed", "any", "artifact"]),
      artifact: z.string().optional().meta({ description: "What of it, where it is something that it produces." }),
      othersCount: count.meta({ description: "How many more ends it waits for." }),
      sentence,
    }),
    z.object({ kind: z.literal("notBefore"), atMs: instantMs, sentence }),
    z
      .object({
        kind: z.literal("startWindow"),
        microUsdPerKwh: z.int().nullable().meta({ description: "Now; null: no tariff says." }),
        microUsdPerKwhMax: z.int().nullable().meta({ description: "null: it does not mind." }),
        gramsPerKwh: count.nullable(),
        gramsPerKwhMax: count.nullable(),
        cheapestMs: count
          .optional()
          .meta({ description: "It waits for the so much time of least price until it starts anyway." }),
        cleanestMs: count.optional().meta({ description: "The same of least carbon." }),
        opensAtMs: instantMs.nullable().meta({ description: "By the tariffs; null: they do not say." }),
        latestStartAtMs: instantMs.nullable().meta({ description: "When it starts anyway; null: it does not." }),
        sentence,
      })
      .meta({ description: "Power is too dear or too dirty for it." }),
    z
      .object({
        kind: z.literal("reservation"),
        workloadId: z.string(),
        startMs: instantMs,
        expectedEndMs: instantMs,
        prediction: prediction.optional(),
        sentence,
      })
      .meta({ description: "It would fit, and would then be in the way of a protected start." }),
    z
      .object({
        kind: z.literal("budget"),
        team: z.string(),
        resource: z.enum(["gpuHours", "money"]),
        limit: z.number().meta({ description: "Hours of an accelerator, or micro-dollars." }),
        spent: z.number(),
        renewsAtMs: instantMs.nullable(),
        sentence,
      })
      .meta({ description: "The budget of its team or of one above it is used up." }),
    z
      .object({
        kind: z.literal("window"),
        name: z.string(),
        window: z.enum(["maintenance", "reservation"]),
        startMs: instantMs,
        endMs: instantMs,
        expectedEndMs: instantMs,
        sentence,
      })
      .meta({ description: "It would fit, and might then run into a window of the calendar that is not for it." }),
    z
      .object({
        kind: z.literal("hotSparesKept"),
        acceleratorTypes: z.array(z.string()),
        nodes: count,
        suffice: z
          .literal(false)
          .optional()
          .meta({ description: "They alone would not do: what the reasons after it say holds as well." }),
        sentence,
      })
      .meta({ description: "It would fit if these nodes were not kept as spares for work that loses nodes." }),
    z
      .object({ kind: z.literal("nominated"), nodes: z.array(z.string()), sentence })
      .meta({ description: "It has a place as soon as those who were asked to leave have left." }),
    z.object({ kind: z.literal("backoff"), untilMs: instantMs, failures: count, sentence }),
  ])
  .meta({ id: "BlockedReason" });

export const verdict = z
  .discriminatedUnion("kind", [
    z.object({
      kind: z.literal("blocked"),
      sentence,
      reasons: z.array(blockedReason).meta({ description: "The first one is the dominant one." }),
      deadline: z.object({ deadlineMs: instantMs, earliestEndMs: instantMs }).optional().meta({
        description:
          "It will miss its deadline, even if it started as soon as it may and took its walltime, or has missed it.",
      }),
      wakeOn: z.array(z.string()).meta({ description: "Kinds of event that could change this answer." }),
    }),
    z.object({ kind: z.literal("placeable"), sentence }),
    z.object({ kind: z.literal("notWaiting"), sentence }),
  ])
  .meta({ id: "Verdict" });

export const queueEntry = z
  .object({
    position: count.meta({ description: "0 is considered first." }),
    workload: workloadSummary,
    reason: blockedReason.nullable().meta({ description: "The dominant reason; null: it starts within a moment." }),
  })
  .meta({ id: "QueueEntry" });

export const holdReason = z
  .object({
    held: count,
    waitsFor: count.meta({ description: "For other work." }),
    notBefore: count.meta({ description: "Its time has not come." }),
    startWindow: count.meta({ description: "Power is too dear or too dirty for it." }),
    backoff: count.meta({ description: "It failed and is tried again later." }),
    nominated: count.meta({ description: "It has a place as soon as those who were asked to leave have left." }),
  })
  .meta({ id: "HoldReason", description: "Workloads that wait and are not in the queue, by what keeps them from it." });

export const queuePage = pageOf(queueEntry, "QueueEntryPage")
  .extend({
    waiting: z
      .object({ workloads: count, tasks: count, accelerators: partial })
      .meta({ description: "Totals over everything that waits, not only this page." }),
    holdReason: holdReason
      .optional()
      .meta({ description: "Where it was asked for: what of the same filter is not in the queue." }),
  })
  .meta({ id: "QueuePage" });

export type BlockedReason = z.output<typeof blockedReason>;
export type Verdict = z.output<typeof verdict>;
export type QueueEntry = z.output<typeof queueEntry>;
export type HoldReason = z.output<typeof holdReason>;
export type QueuePage = z.output<typeof queuePage>;

/** Whether even the empty fleet is too small. */
export function isHopeless(verdict: Verdict): boolean {
  return verdict.kind === "blocked" && verdict.reasons[0]?.kind === "exceedsFleet";
}
