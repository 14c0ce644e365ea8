/** The capacity plan that a control plane keeps: documents that a user stored, and the plan that was solved from them. */
import { z } from "zod";

/** The longest horizon of a stored plan in months. */
const MONTHS_MAX = 120;
const LIST_MAX = 2_000;

const month = z.string().meta({ description: "A month such as 2027-01." });
const day = z.string().meta({ description: "A day such as 2027-01-31." });
const amounts = z.array(z.number()).max(MONTHS_MAX);
const share = z.number().min(0).max(1);

const axis = z.object({
  axis: z.string(),
  unit: z.string(),
  bindsP50: month.nullable().meta({ description: "First month in which the median use is above the capacity." }),
  bindsP95: month
    .nullable()
    .meta({ description: "First month in which use can be above it with a probability of 5%." }),
  probability: share.meta({ description: "Probability that the axis runs out within the horizon." }),
  firstProbability: share.meta({ description: "Probability that it is the first axis that runs out." }),
  orderBy: month.nullable().meta({ description: "Last month to order an extension that is there at `bindsP95`." }),
  start: month.meta({ description: "Month of the first value of the lists." }),
  p50: amounts,
  p95: amounts,
  capacity: amounts,
});

const order = z.object({
  orderBy: day.meta({ description: "An order on this day arrives in time with a probability of 95%." }),
  name: z.string(),
  kind: z.enum(["own", "lease", "reserve", "rent", "expansion"]),
  pool: z.string().nullable(),
  count: z.number().meta({ description: "Accelerators, or steps of an expansion." }),
  inService: month,
  until: month.nullable(),
  upfrontUsd: z.number(),
  monthlyUsd: z.number(),
  lead: z.object({ p50Days: z.number(), p95Days: z.number(), line: z.string() }).nullable(),
  monthLateUsd: z.number().nullable().meta({
    description: "Extra cost of the first month if the order comes a month late; null: see `monthLateShortage`.",
  }),
  monthLateShortage: z
    .number()
    .nullable()
    .meta({ description: "Accelerators of demand that would stay unmet in that month; null: not known." }),
});

const pool = z.object({
  pool: z.string(),
  demandP50: amounts,
  demandAtRisk: amounts.meta({ description: "Demand at the accepted risk of a shortage." }),
  existing: amounts.meta({ description: "Capacity without any order." }),
  planned: amounts.meta({ description: "Capacity of the plan without on-demand and spot." }),
  shortP50: month.nullable(),
  shortAtRisk: month.nullable(),
});

const variantOutcome = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("planned"),
    costUsd: z.number(),
    differenceUsd: z.number().nullable().meta({ description: "Cost beyond that of the plan as stated." }),
    capitalUsd: z.number(),
    utilisation: share,
    gapPct: z.number(),
    shortageRisk: share,
    accelerators: z.number(),
    firstOrderBy: day.nullable(),
  }),
  z.object({
    kind: z.literal("impossible"),
    pool: z.string(),
    month,
    demandAtRisk: z.number(),
    possible: z.number(),
    constraints: z.array(z.string()).max(LIST_MAX),
  }),
  z.object({ kind: z.literal("unsolved") }),
]);

const solvedPlan = z
  .object({
    name: z.string(),
    riskPct: z.number(),
    months: z.array(month).max(MONTHS_MAX),
    hasCeilings: z.boolean().meta({ description: "False: only the accelerators of the plan are known as axes." }),
    first: z.object({ axis: z.string(), month, probability: share }).nullable(),
    axes: z.array(axis).max(LIST_MAX),
    pools: z.array(pool).max(LIST_MAX),
    orders: z.array(order).max(LIST_MAX).meta({ description: "The earliest order first." }),
    retirements: z
      .array(
        z.object({
          cohort: z.string(),
          month,
          accelerators: z.number(),
          resaleUsd: z.number(),
          isEndOfLife: z.boolean(),
        }),
      )
      .max(LIST_MAX),
    variants: z
      .array(z.object({ name: z.string(), outcome: variantOutcome }))
      .max(10)
      .meta({ description: "The plan as stated comes first, then the same plan under other assumptions." }),
    breaches: z.array(z.string()).max(LIST_MAX).meta({ description: "Findings of the independent check of the plan." }),
  })
  .meta({ id: "SolvedPlan" });

const document = z.record(z.string(), z.unknown());

export const planDocuments = z
  .strictObject({
    plan: document.meta({ description: "Plan document, as `headroom plan` reads it." }),
    ceilings: document.nullable().default(null).meta({ description: "Document of ceilings of the site." }),
  })
  .meta({ id: "PlanDocuments" });

export const storedPlan = z
  .object({
    storedAtMs: z.number().nullable().meta({ description: "Null: nothing is stored." }),
    actor: z.string().nullable(),
    documents: planDocuments.nullable(),
    solved: solvedPlan.nullable(),
  })
  .meta({ id: "StoredPlan" });

export const planStored = z.object({ dryRun: z.boolean(), solved: solvedPlan }).meta({ id: "PlanStored" });

export type SolvedPlan = z.output<typeof solvedPlan>;
export type PlanDocumentsInput = z.input<typeof planDocuments>;
export type PlanDocuments = z.output<typeof planDocuments>;
export type StoredPlan = z.output<typeof storedPlan>;
export type PlanStored = z.output<typeof planStored>;
