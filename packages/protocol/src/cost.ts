/** Costs of the fleet from its usage and the price documents: totals by period and by team, user, workload, pool or cause. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";
import { metricsQuery } from "./metrics.ts";

const costPeriod = z.enum(["day", "week", "month", "all"]);
const costGroup = z.enum([
  "team",
  "user",
  "workload",
  "workloadKind",
  "pool",
  "node",
  "acceleratorType",
  "state",
  "cause",
  "source",
  "price",
]);

/** Most lines of an answer. */
export const COST_LINES_MAX = 5_000;
const GROUPS_MAX = 4;

export const costsQuery = metricsQuery.pick({ fromMs: true, toMs: true }).extend({
  by: costPeriod
    .default("day")
    .meta({ description: "Period of a line, in UTC; weeks begin on Monday. `all`: one for the whole range." }),
  group: z
    .string()
    .default("team")
    .transform((text) => text.split(","))
    .pipe(z.array(costGroup).min(1).max(GROUPS_MAX))
    .meta({ description: `Up to ${GROUPS_MAX} fields, with commas: ${costGroup.options.join(", ")}.` }),
});

const microUsd = z.int().meta({ description: "Millionths of a US dollar." });
const amounts = {
  microUsd,
  usedMicroUsd: microUsd,
  idleMicroUsd: microUsd,
  failedMicroUsd: microUsd,
  evictedMicroUsd: microUsd,
  lostMicroUsd: microUsd,
  acceleratorHours: z.number(),
  usedHours: z.number().meta({ description: "Accelerator-hours of work that succeeded, runs, or saved a checkpoint." }),
  kwh: z
    .number()
    .meta({ description: "Energy from measured power, and from the price documents where none is known." }),
  measuredKwh: z.number().meta({ description: "The part of `kwh` from measured power of accelerators." }),
  energyMicroUsd: microUsd.meta({ description: "Price of the energy; the cost of owned capacity has it in it." }),
  carbonKg: z.number(),
};

const meteredLine = z
  .object({
    dayMs: instantMs,
    service: z.enum(["storage", "egress", "tokens"]),
    team: z.string(),
    subject: z
      .string()
      .meta({ description: "Version of an artifact, workload that read the bytes, or model of a gateway." }),
    place: z.string().meta({ description: "Store, or pool of a gateway." }),
    quantity: z.number().meta({ description: "Gibibyte-hours, gibibytes, or tokens of prompts and answers." }),
    requestCount: z.int(),
    price: z.string().meta({ description: "Price document; empty: none covers the line, and it costs nothing." }),
    provider: z.string(),
    microUsd,
    chargedMicroUsd: microUsd.meta({ description: "Amount that the gateway charged; no further cost." }),
  })
  .meta({ id: "MeteredLine" });

const costLine = z.object({
  periodStartMs: instantMs.meta({ description: "Start of the period; 0 for the period `all`." }),
  group: z.array(z.string()).meta({ description: "A value for each field of `group`; empty: nobody held it." }),
  ...amounts,
});

export const costs = z
  .object({
    fromMs: instantMs,
    toMs: instantMs,
    by: costPeriod,
    group: z.array(costGroup),
    items: z.array(costLine).max(COST_LINES_MAX).meta({ description: "By period, then the most expensive first." }),
    total: z.object(amounts),
    metered: z.array(meteredLine).max(COST_LINES_MAX).meta({
      description: "Storage and tokens by day, of the newest days. Lines with a price are in the items and the total.",
    }),
    unpricedPools: z
      .array(z.string())
      .meta({ description: "Pools with hours that no price covers. These hours are not in the amounts." }),
    problems: z.array(z.string()).meta({ description: "Price documents that cannot be used, and why." }),
    answeredAtMs: instantMs.meta({ description: "Work that runs is charged up to this time." }),
  })
  .meta({ id: "Costs" });

export type CostsQuery = z.output<typeof costsQuery>;

export type Costs = z.output<typeof costs>;
