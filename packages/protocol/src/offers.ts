/** Offers of capacity from the operator's price feeds: compared by the useful hour, over time, and with owned or leased capacity. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { operation } from "./operation.ts";
import { queryInteger } from "./page.ts";

/** Most lines of a list in the answer; counts say how many there are. */
const LISTED_MAX = 500;
const SERIES_MAX = 40;
const POINTS_MAX = 1_000;
const NAME_MAX = 100;
const SPEEDS_MAX = 100;
const DAY_SECONDS = 86_400;

const speeds = z
  .string()
  .max(4_000)
  .regex(
    /^[^=,]{1,100}=\d{1,3}(?:\.\d{1,6})?(?:,[^=,]{1,100}=\d{1,3}(?:\.\d{1,6})?)*$/,
    "must be like Alpha=0.95,Beta=1.1",
  )
  .transform((text) =>
    text.split(",").map((part) => {
      const [provider = "", speed = ""] = part.split("=");
      return [provider, Number(speed)] as const;
    }),
  )
  .pipe(z.array(z.tuple([z.string(), z.number().gt(0, "a speed must be above 0")])).max(SPEEDS_MAX));

export const offersQuery = z.strictObject({
  accelerator: z
    .string()
    .min(1)
    .max(NAME_MAX)
    .optional()
    .meta({ description: "Only accelerators whose name contains this, in any case." }),
  interruptionEveryHours: queryInteger(1, 100_000)
    .default(10)
    .meta({ description: "Mean hours between interruptions of spot capacity." }),
  checkpointS: queryInteger(0, DAY_SECONDS).default(120).meta({ description: "Seconds that a checkpoint takes." }),
  restartS: queryInteger(0, DAY_SECONDS).default(600).meta({ description: "Seconds that a restart takes." }),
  egressUsd: queryInteger(0, 1_000_000_000).default(0).meta({ description: "US dollars to move the data there." }),
  workHours: queryInteger(1, 1_000_000).default(100).meta({ description: "Useful hours over which egress is spread." }),
  accelerators: queryInteger(1, 1_000_000).default(8).meta({ description: "Accelerators that the work uses." }),
  speeds: speeds
    .optional()
    .meta({ description: "Measured speed by provider, relative: `Alpha=0.95,Beta=1.1`. Others are 1." }),
});

const market = z.enum(["on-demand", "spot"]);
const place = {
  feed: z.string().meta({ description: "File of the feed." }),
  line: count,
  provider: z.string(),
  instance: z.string(),
  region: z.string(),
  accelerator: z.string(),
  readAtMs: instantMs.nullable().meta({ description: "When the price was read." }),
};
const perHour = z.number().meta({ description: "US dollars of an accelerator-hour." });

const pricedOffer = z
  .object({
    ...place,
    market,
    usdPerHour: perHour,
    usdPerUsefulHour: z
      .number()
      .nullable()
      .meta({ description: "With interruptions, checkpoints, restarts, egress and speed. Null: no work gets done." }),
    usefulPart: z.number().meta({ description: "Part of the time that is useful work." }),
    checkpointEveryHours: z.number().nullable().meta({ description: "Young's interval; null: none is needed." }),
  })
  .meta({ id: "PricedOffer" });

const unpricedOffer = z
  .object({
    ...place,
    defects: z.array(
      z.object({
        class: z.string(),
        fields: z.array(z.enum(["on_demand", "spot"])),
        detail: z.string(),
      }),
    ),
  })
  .meta({ id: "UnpricedOffer" });

export const offers = z
  .object({
    accelerators: z.array(z.string()).meta({ description: "Accelerators that the feeds name." }),
    items: z.array(pricedOffer).max(LISTED_MAX).meta({ description: "The cheapest useful hour first." }),
    offerCount: count,
    unpriced: z
      .array(unpricedOffer)
      .max(LISTED_MAX)
      .meta({ description: "Rows with a defect. A price with a defect is not offered." }),
    unpricedCount: count,
    history: z
      .array(
        z.object({
          accelerator: z.string(),
          market,
          points: z
            .array(z.object({ atMs: instantMs, usdPerHour: perHour, offerCount: count }))
            .max(POINTS_MAX)
            .meta({ description: "Lowest price of each day (UTC) on which a feed was read." }),
        }),
      )
      .max(SERIES_MAX),
    options: z
      .array(
        z.object({
          document: z.string(),
          name: z.string(),
          source: z.enum(["owned", "leased", "rented"]),
          yearly: z.record(z.string(), z.number()),
          usdPerYear: z.number(),
          usdPerHour: perHour,
          usdPerUsefulHour: z.number(),
        }),
      )
      .meta({ description: "Options of the documents of kind tco." }),
    breakEvens: z.array(
      z.object({
        document: z.string(),
        option: z.string(),
        against: z.string(),
        usdPerHour: perHour,
        utilisation: z
          .number()
          .nullable()
          .meta({ description: "Above this part of the time in use the option is cheaper; above 1: never." }),
      }),
    ),
    feeds: z.array(z.object({ name: z.string(), rowCount: count })),
    problems: z.array(z.string()).meta({ description: "Files that cannot be used, and why." }),
    answeredAtMs: instantMs,
  })
  .meta({ id: "Offers" });

export const offerOperations = {
  offers: operation(
    "GET /v1/offers",
    "Offers of the price feeds by the price of a useful hour, prices over time, and own against rent",
    offers,
    { permission: "plan.read", query: offersQuery, problems: ["overloaded", "tookTooLong"] },
  ),
};

export type OffersQuery = z.output<typeof offersQuery>;
export type Offers = z.output<typeof offers>;
