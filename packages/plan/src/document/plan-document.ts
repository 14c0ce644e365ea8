/**
 * The plan document: what a capacity plan is made from. Its schema is the one declaration of each field; the JSON Schema and the
 * reference page are derived from it. Prices are in US dollars, lead times in days or weeks, months are written 2027-01.
 */
import { z } from "zod";

/** Bound on horizon, pools and options: a solve must fit into the memory of WebAssembly. */
export const MONTHS_MAX = 120;
const POOLS_MAX = 16;
const OPTIONS_MAX = 40;
const SCENARIOS_MAX = 40;
const ACCELERATORS_MAX = 10_000_000;
const USD_MAX = 1e9;

const amount = z.number().min(0).max(ACCELERATORS_MAX);
const count = z.int().min(0).max(ACCELERATORS_MAX);
const usd = z.number().min(0).max(USD_MAX);
const pct = z.number().min(0).max(100);
const name = z.string().regex(/^[a-z0-9][a-z0-9._/-]{0,62}$/i, "expected letters, digits, and . _ / -");
export const monthText = z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, "expected a month such as 2027-01");
export const days = z.string().regex(/^\d+(?:\.\d+)?[dwm]$/, "expected days, weeks or months such as 30d, 16w or 4m");

/** One value for each month of the horizon, or values at some months; between them the line is straight. */
const monthly = z
  .union([z.array(amount).min(1).max(MONTHS_MAX), z.record(monthText, amount)])
  .describe("one value for each month (the last one holds on), or values at named months with straight lines between");

const quantileTime = z
  .strictObject({ p50: days.describe("half of the deliveries take at most this long"), p95: days })
  .describe("distribution of the lead time; lognormal through both quantiles");
const leadTime = z
  .union([
    days,
    quantileTime,
    z
      .array(z.strictObject({ line: name, p50: days, p95: days }))
      .min(1)
      .max(20),
  ])
  .describe(
    "time from order to service: fixed, a distribution, or one for each line of the order (the latest line governs)",
  );

const common = {
  name: name.describe("name of the option"),
  pool: name.describe("the pool of `demand` that it serves"),
  speed: z
    .number()
    .min(0.01)
    .max(100)
    .default(1)
    .describe("work of one accelerator relative to one of the demand's unit"),
  max: count.optional().describe("most accelerators of the option at once"),
};
const firm = {
  ...common,
  leadTime,
  block: z.int().min(1).max(100_000).default(8).describe("accelerators are bought in multiples of this number"),
  monthlyUsd: usd.describe("cost of one accelerator a month, used or not, without power where `energy` is stated"),
  maxPerMonth: count.optional().describe("most accelerators that can enter service in one month"),
};
const hardware = {
  kw: z.number().min(0).max(1000).default(0).describe("power of one accelerator with its share of the node, kW"),
  racks: z.number().min(0).max(10).default(0).describe("rack share of one accelerator"),
};

const own = z.strictObject({
  kind: z.literal("own"),
  ...firm,
  ...hardware,
  upfrontUsd: usd.describe("purchase price of one accelerator with its share of node and fabric"),
  lifeMonths: z.int().min(1).max(240).describe("months in service"),
  salvagePct: pct.default(10).describe("share of the purchase price that remains at the end of life"),
  paid: z.enum(["order", "delivery"]).default("delivery").describe("when the purchase price counts as capital"),
});
const lease = z.strictObject({
  kind: z.literal("lease"),
  ...firm,
  ...hardware,
  termMonths: z.int().min(1).max(240).describe("months of the contract"),
  upfrontUsd: usd.default(0).describe("payment at the start for one accelerator"),
});
const reserve = z.strictObject({
  kind: z.literal("reserve"),
  ...firm,
  termMonths: z.int().min(1).max(240).describe("months of the commitment"),
  upfrontUsd: usd.default(0).describe("payment at the start for one accelerator"),
});
const rent = z.strictObject({
  kind: z.literal("rent"),
  ...firm,
  minimumMonths: z.int().min(1).max(60).default(1).describe("fewest months before it can be given back"),
});
const onDemand = z.strictObject({
  kind: z.literal("onDemand"),
  ...common,
  usdPerHour: usd.describe("price of one accelerator-hour"),
});
const spot = z.strictObject({
  kind: z.literal("spot"),
  ...common,
  usdPerHour: usd.describe("price of one accelerator-hour"),
  availabilityPct: pct.default(90).describe("share of the time in which it can be had"),
  lostWorkPct: pct.default(5).describe("work that preemptions cost"),
});

export const demandQuantiles = {
  p50: monthly.describe("median demand in accelerators by month"),
  p95: monthly.optional().describe("demand that is exceeded with a probability of 5%; default: the median"),
  p10: monthly
    .optional()
    .describe("demand that is exceeded with a probability of 90%; default: as far below as p95 is above"),
};
const demand = z.strictObject({
  ...demandQuantiles,
  interruptiblePct: pct.default(0).describe("share of the demand that spot capacity can serve"),
});

const existing = z.strictObject({
  name: name.describe("name of the cohort"),
  pool: name,
  accelerators: count,
  speed: common.speed,
  block: z.int().min(1).max(100_000).default(8).describe("accelerators are retired in multiples of this number"),
  ...hardware,
  monthlyUsd: usd.describe("cost of one accelerator a month"),
  endOfLife: monthText.optional().describe("first month without it"),
  resaleUsd: usd.default(0).describe("price of one accelerator if sold at the start of the plan"),
  resaleLossPctPerMonth: pct.default(3).describe("how fast the resale price falls"),
});

const steps = (what: string) =>
  z
    .array(z.strictObject({ from: monthText, max: amount }))
    .max(MONTHS_MAX)
    .default([])
    .describe(what);
const limits = z.strictObject({
  capital: z
    .array(z.strictObject({ from: monthText, to: monthText, usd }))
    .max(MONTHS_MAX)
    .default([])
    .describe("most money for purchase prices and upfront payments in these months together"),
  power: steps("power in kW from a month on, for owned and leased hardware"),
  racks: steps("rack units of the site from a month on, in racks"),
});

const expansion = z.strictObject({
  name: name.describe("name of the build-out"),
  adds: z
    .strictObject({ power: amount.default(0), racks: amount.default(0) })
    .describe("what one step adds to the limits"),
  upfrontUsd: usd.describe("price of one step"),
  monthlyUsd: usd.default(0).describe("cost of one step a month"),
  leadTime,
  max: z.int().min(1).max(1000).default(1).describe("most steps"),
});

export const planDocumentSchema = z.strictObject({
  kind: z.literal("plan"),
  name: name.describe("name of the plan"),
  start: monthText.describe("first month; orders are possible from its first day on"),
  months: z.int().min(1).max(MONTHS_MAX).describe("length of the horizon"),
  riskPct: z.number().min(0.1).max(50).default(5).describe("accepted probability of a shortage in a month"),
  discountPct: pct.default(0).describe("yearly rate by which later costs weigh less in the choice"),
  scenarios: z
    .int()
    .min(1)
    .max(SCENARIOS_MAX)
    .default(5)
    .describe("levels of demand between which the cost is weighed"),
  energy: z
    .strictObject({ usdPerKwh: z.number().min(0).max(10), pue: z.number().min(1).max(5).default(1.3) })
    .optional()
    .describe("adds the power of owned, leased and existing hardware to its monthly cost"),
  demand: z
    .record(name, demand)
    .refine(
      (pools) => Object.keys(pools).length <= POOLS_MAX && Object.keys(pools).length > 0,
      `1 to ${POOLS_MAX} pools`,
    )
    .describe("demand of each pool"),
  options: z
    .array(z.discriminatedUnion("kind", [own, lease, reserve, rent, onDemand, spot]))
    .min(1)
    .max(OPTIONS_MAX)
    .describe("ways to get capacity"),
  existing: z.array(existing).max(OPTIONS_MAX).default([]).describe("accelerators in service at the start"),
  limits: limits.default({ capital: [], power: [], racks: [] }).describe("limits by month"),
  expansions: z
    .array(expansion)
    .max(10)
    .default([])
    .describe("steps of a build-out that raise limits of power and racks"),
});

export type PlanDocument = z.infer<typeof planDocumentSchema>;
export type PlanOption = PlanDocument["options"][number];
export type FirmOption = Extract<PlanOption, { readonly block: number }>;
export type FlexibleOption = Exclude<PlanOption, { readonly block: number }>;
export type ExistingCohort = PlanDocument["existing"][number];
export type Expansion = PlanDocument["expansions"][number];
export type LeadTime = FirmOption["leadTime"];
export type PoolDemand = PlanDocument["demand"][string];

export interface PlanDocumentProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type PlanDocumentReading =
  | { readonly kind: "read"; readonly document: PlanDocument }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

/** Reads plain data. A document without problems is complete: every default is filled in. */
export function readPlanDocument(value: unknown): PlanDocumentReading {
  const parsed = planDocumentSchema.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => ({ path: path as (string | number)[], message }));
    return { kind: "refused", problems };
  }
  const problems = crossProblems(parsed.data);
  return problems.length === 0 ? { kind: "read", document: parsed.data } : { kind: "refused", problems };
}

function crossProblems(document: PlanDocument): readonly PlanDocumentProblem[] {
  const problems: PlanDocumentProblem[] = [];
  const pools = Object.keys(document.demand);
  const seen = new Set<string>();
  const members = [
    ...document.options.map((member, index) => ({ member, path: ["options", index] })),
    ...document.existing.map((member, index) => ({ member, path: ["existing", index] })),
  ];
  for (const { member, path } of members) {
    if (!pools.includes(member.pool))
      problems.push({
        path: [...path, "pool"],
        message: `demand has no pool ${member.pool}; it has ${pools.join(", ")}`,
      });
    if (seen.has(member.name))
      problems.push({ path: [...path, "name"], message: `the name ${member.name} stands twice` });
    seen.add(member.name);
  }
  for (const [index, { name: own }] of document.expansions.entries()) {
    if (seen.has(own)) problems.push({ path: ["expansions", index, "name"], message: `the name ${own} stands twice` });
    seen.add(own);
  }
  for (const [index, { from, to }] of document.limits.capital.entries())
    if (to < from) problems.push({ path: ["limits", "capital", index, "to"], message: `${to} is before ${from}` });
  return problems;
}
