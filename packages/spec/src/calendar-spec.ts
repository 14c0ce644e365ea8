/** Calendar entries as they are declared: what is planned for certain times. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { integer } from "./limits.ts";
import * as names from "./names.ts";
import { scheduleTimes } from "./schedule-spec.ts";

const instant = integer(0, Number.MAX_SAFE_INTEGER);
const nodes = z.array(names.opaqueId).min(1).max(limits.SHAPE_NODES_MAX);

const windowFields = { name: names.calendarName, startMs: instant, endMs: instant };
const endsLater = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): boolean =>
  startMs < endMs;
const mustEndLater = { path: ["endMs"], message: "must lie after startMs" };

export const maintenanceWindow = z
  .strictObject({
    kind: z.literal("maintenance"),
    ...windowFields,
    pool: names.poolName.optional().meta({ description: "All its nodes, those that join later too." }),
    nodes: nodes.optional(),
    reason: names.reason.optional(),
  })
  .refine(endsLater, mustEndLater)
  .refine(({ pool, nodes: named }) => (pool === undefined) !== (named === undefined), {
    message: "must name either a pool or nodes",
  })
  .meta({ id: "MaintenanceWindow", description: "Nothing runs on these nodes in this time; they are drained before." });

export const advanceReservation = z
  .strictObject({
    kind: z.literal("reservation"),
    ...windowFields,
    team: names.teamName.optional().meta({ description: "Kept for the team and all below it." }),
    users: z
      .array(z.string().min(1).max(limits.ID_CHARS_MAX))
      .min(1)
      .max(limits.RESERVATION_USERS_MAX)
      .optional()
      .meta({ description: "Kept for work that these submitted, whatever its team." }),
    nodes: nodes.optional(),
    accelerators: integer(1, limits.ACCELERATOR_LIMIT_MAX)
      .optional()
      .meta({ description: "Whole nodes with at least this many in sum, chosen when it is applied." }),
    acceleratorType: names.acceleratorType.optional().meta({ description: "Of those nodes; left out: any." }),
  })
  .refine(endsLater, mustEndLater)
  .refine(({ team, users }) => team !== undefined || users !== undefined, { message: "must name a team or users" })
  .refine(({ nodes: named, accelerators }) => (named === undefined) !== (accelerators === undefined), {
    message: "must say either how many accelerators or which nodes",
  })
  .refine(({ nodes: named, acceleratorType }) => named === undefined || acceleratorType === undefined, {
    path: ["acceleratorType"],
    message: "must be left out where nodes are named",
  })
  .meta({ id: "AdvanceReservation", description: "Nodes kept for a team or users in this time; others end before." });

const microUsdPerKwh = integer(limits.MICRO_USD_PER_KWH_MIN, limits.MICRO_USD_PER_KWH_MAX);
const gramsPerKwh = integer(0, limits.GRAMS_PER_KWH_MAX);

const tariffTimes = z
  .discriminatedUnion("kind", [
    z
      .strictObject({ kind: z.literal("once"), startMs: instant, endMs: instant })
      .refine(endsLater, mustEndLater)
      .meta({ description: "Then it leaves the calendar." }),
    z
      .strictObject({
        kind: z.literal("series"),
        startMs: instant,
        stepMs: integer(limits.SERIES_STEP_MS_MIN, limits.DURATION_MS_MAX),
        microUsdPerKwh: z.array(microUsdPerKwh).min(1).max(limits.SERIES_STEPS_MAX).optional(),
        gramsPerKwh: z.array(gramsPerKwh).min(1).max(limits.SERIES_STEPS_MAX).optional(),
      })
      .refine((when) => when.microUsdPerKwh !== undefined || when.gramsPerKwh !== undefined, {
        message: "must state prices, carbon or both",
      })
      .meta({
        description:
          "A forecast: one figure after another, each for `stepMs`; then it leaves the calendar. It counts before other tariffs.",
      }),
    z
      .strictObject({
        kind: z.literal("recurring"),
        times: scheduleTimes,
        durationMs: integer(1, limits.DURATION_MS_MAX),
      })
      .meta({ description: "It begins whenever the times are due, and holds for so long." }),
  ])
  .meta({ id: "TariffTimes" });

export const tariff = z
  .strictObject({
    kind: z.literal("tariff"),
    name: names.calendarName,
    site: names.siteName.optional().meta({ description: "Only there; left out: where no tariff of the site holds." }),
    when: tariffTimes,
    microUsdPerKwh: microUsdPerKwh
      .optional()
      .meta({ description: "Micro-dollars for a kilowatt-hour; below 0 where whoever takes it is paid." }),
    gramsPerKwh: gramsPerKwh.optional().meta({ description: "Grams of carbon dioxide in a kilowatt-hour." }),
  })
  .refine(
    ({ when, ...stated }) =>
      (when.kind === "series") === (stated.microUsdPerKwh === undefined && stated.gramsPerKwh === undefined),
    {
      message: "must state a price, carbon or both, once for all or step by step in a series",
    },
  )
  .meta({
    id: "Tariff",
    description:
      "What power costs or how clean it is at certain times; where several hold, the one that began last counts.",
  });

export const calendarEntry = z
  .discriminatedUnion("kind", [maintenanceWindow, advanceReservation, tariff])
  .meta({ id: "CalendarEntry" });

export type Tariff = z.output<typeof tariff>;
export type CalendarEntry = z.output<typeof calendarEntry>;
