/** Drills: the loss of a failure domain, simulated on the live state, or made on nodes that an operator allows for it. */
import { z } from "zod";
import { instantMs, names } from "@headroom/spec";
import { lostDomain } from "./forecast.ts";

const MINUTE_MS = 60_000;
/** A simulated loss may last as long as a forecast; a real one is at most a day. */
const durationMs = { min: 1_000, max: 24 * 60 * MINUTE_MS } as const;
const amount = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const drillRequest = z
  .strictObject({
    lose: z
      .array(lostDomain)
      .min(1)
      .max(100)
      .meta({ description: "Nodes and failure domains that are lost, by the names of the recorded topology." }),
    forMs: z
      .int()
      .min(durationMs.min)
      .max(durationMs.max)
      .default(10 * MINUTE_MS)
      .meta({ description: "Time in ms until the nodes return." }),
  })
  .meta({ id: "DrillRequest" });

const interruptedWork = z
  .object({
    workloadId: z.string(),
    name: z.string(),
    team: z.string(),
    taskCount: z.int().min(1).meta({ description: "Interrupted tasks of an array; 1 for other work." }),
    atMs: instantMs,
    againAtMs: instantMs.nullable().meta({ description: "All interrupted tasks are placed again; null: not yet." }),
    againOn: z.array(z.string()).meta({ description: "Nodes of the tasks that are placed again." }),
    lostAcceleratorMs: amount.meta({ description: "Work to repeat: since the last checkpoint, else since the start." }),
    lostMicroUsd: amount,
  })
  .meta({ id: "DrillWork", description: "Running work that the loss interrupts." });

const totals = {
  work: z.array(interruptedWork),
  interruptedCount: z.int().min(0),
  waitingCount: z.int().min(0).meta({ description: "Interrupted workloads that are not placed again." }),
  slowestMs: amount.meta({ description: "Longest time from an interruption until the work is placed again." }),
  lostAcceleratorMs: amount,
  lostMicroUsd: amount,
};

export const drillForecast = z
  .object({
    sequence: z.int().min(0),
    fromMs: instantMs,
    forMs: amount,
    horizonMs: amount,
    nodes: z.array(z.string()),
    accelerators: z.int().min(0),
    awayAcceleratorMs: amount.meta({
      description: "Capacity that is away: accelerators times the duration of the loss.",
    }),
    awayMicroUsd: amount,
    incidents: z.array(
      z.object({ title: z.string(), nodes: z.int().min(0), accelerators: z.int().min(0), workloads: z.int().min(0) }),
    ),
    laterCount: z.int().min(0).meta({ description: "Waiting workloads that start later." }),
    ...totals,
    sentence: z.string(),
  })
  .meta({ id: "DrillForecast", description: "Effects of a loss from the live state on. Nothing is recorded." });

export const drill = z
  .object({
    id: z.string(),
    phase: z
      .enum(["running", "returned", "cancelled"])
      .meta({ description: "`returned`: the time was over; `cancelled`: somebody returned the nodes earlier." }),
    lose: z.array(z.string()),
    nodes: z.array(z.string()),
    actor: z.string(),
    startedAtMs: instantMs,
    endsAtMs: instantMs,
    endedAtMs: instantMs.nullable(),
    endedBy: z.string().nullable().meta({ description: "User who returned the nodes earlier." }),
    window: z.string().meta({ description: "Calendar entry that keeps work off the nodes." }),
    expected: drillForecast,
    observed: z.object({
      ...totals,
      isSettled: z
        .boolean()
        .meta({ description: "The nodes are back, and all interrupted work runs again or has ended." }),
    }),
  })
  .meta({ id: "Drill", description: "A loss that is made on nodes which an operator allows for it." });

export const drillList = z.object({ items: z.array(drill) }).meta({ id: "DrillList" });
/** Maximum number of drills that are kept; the oldest are forgotten first. */
export const DRILLS_MAX = 50;
export const byDrill = z.strictObject({ id: names.opaqueId });

export type DrillRequest = z.output<typeof drillRequest>;
export type DrillRequestInput = z.input<typeof drillRequest>;
export type DrillWork = z.output<typeof interruptedWork>;
export type DrillForecast = z.output<typeof drillForecast>;
export type Drill = z.output<typeof drill>;
export type DrillList = z.output<typeof drillList>;
