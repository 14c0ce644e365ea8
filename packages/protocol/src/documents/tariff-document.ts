/** `kind: tariff`: what power costs, or how clean it is, at certain times. */
import { z } from "zod";
import type { Tariff } from "../calendar.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import type { ScheduleTimes } from "../schedule.ts";
import { readCron, writeCron } from "./cron.ts";
import { fields, leaf, optionalLeaf, readName } from "./field.ts";
import { instantPattern, readInstant, writeInstant } from "./instants.ts";
import type { FieldProblem } from "./placement-fields.ts";
import * as quantities from "./quantities.ts";
import type { Reading } from "./reading.ts";

const instant = { type: "string", pattern: instantPattern };
const readMoment = (value: unknown): Reading<number | null> => readInstant(value);

export const tariffSchema = fields(
  {
    kind: z.literal("tariff").meta({ description: "What power costs, or how clean it is, at certain times." }),
    name: leaf({ description: "Unique in the calendar.", type: "string", examples: ["night"] }, (value) =>
      readName(value, names.calendarName),
    ),
    site: optionalLeaf(
      { description: "Only there; left out, at every site without a tariff of its own.", type: "string" },
      null,
      (value): Reading<string | null> => readName(value, names.siteName),
    ),
    cron: optionalLeaf(
      {
        description: "When it begins, again and again: minute, hour, day of the month, month, day of the week, in UTC.",
        type: "string",
        examples: ["0 22 * * *"],
      },
      null,
      (value): Reading<ScheduleTimes | null> => readCron(value),
    ),
    lasts: optionalLeaf(
      {
        description: "Beside `cron`: for how long it holds.",
        type: "string",
        pattern: quantities.durationPattern,
        examples: ["8h"],
      },
      null,
      (value): Reading<number | null> => quantities.readDuration(value, { min: 1, max: limits.DURATION_MS_MAX }),
    ),
    start: optionalLeaf({ description: "When it begins, once, instead of `cron`.", ...instant }, null, readMoment),
    end: optionalLeaf({ description: "When it is over.", ...instant }, null, readMoment),
    price: optionalLeaf(
      {
        description: "For a kilowatt-hour.",
        type: "string",
        pattern: quantities.energyPricePattern,
        examples: ["0.08 USD/kWh"],
      },
      null,
      (value): Reading<number | null> =>
        quantities.readEnergyPrice(value, { min: 0, max: limits.MICRO_USD_PER_KWH_MAX }),
    ),
    carbon: optionalLeaf(
      {
        description: "Carbon dioxide in a kilowatt-hour.",
        type: "string",
        pattern: quantities.carbonPattern,
        examples: ["120 g/kWh"],
      },
      null,
      (value): Reading<number | null> => quantities.readCarbon(value, { min: 0, max: limits.GRAMS_PER_KWH_MAX }),
    ),
  },
  {
    meant: { from: "start", until: "end", to: "end", duration: "lasts", for: "lasts", co2: "carbon", schedule: "cron" },
  },
);

type Written = z.output<typeof tariffSchema>;

export function tariffProblems({ cron, lasts, start, end, price, carbon }: Written): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if ((cron === null) === (start === null)) add("cron", "or start is required, one of the two");
  else if (cron !== null && lasts === null) add("lasts", "is required beside cron");
  else if (start !== null && end === null) add("end", "is required beside start");
  if (cron !== null && end !== null) add("end", "must be left out beside cron: say how long it lasts");
  if (start !== null && lasts !== null) add("lasts", "must be left out beside start: say when it ends");
  if (start !== null && end !== null && end <= start) add("end", `must lie after start, ${writeInstant(start)}`);
  if (price === null && carbon === null) add("price", "or carbon is required, or both");
  return problems;
}

export function tariffOf({ name, site, cron, lasts, start, end, price, carbon }: Written): Tariff {
  return {
    kind: "tariff",
    name,
    ...(site === null ? {} : { site }),
    when:
      cron === null
        ? { kind: "once", startMs: start ?? 0, endMs: end ?? 0 }
        : { kind: "recurring", times: cron, durationMs: lasts ?? 0 },
    ...(price === null ? {} : { microUsdPerKwh: price }),
    ...(carbon === null ? {} : { gramsPerKwh: carbon }),
  };
}

/** The document that reads back as this tariff. */
export function tariffDocument({ name, site, when, microUsdPerKwh, gramsPerKwh }: Tariff): Record<string, unknown> {
  return {
    kind: "tariff",
    name,
    ...(site === undefined ? {} : { site }),
    ...(when.kind === "once"
      ? { start: writeInstant(when.startMs), end: writeInstant(when.endMs) }
      : { cron: writeCron(when.times), lasts: quantities.writeDuration(when.durationMs) }),
    ...(microUsdPerKwh === undefined ? {} : { price: quantities.writeEnergyPrice(microUsdPerKwh) }),
    ...(gramsPerKwh === undefined ? {} : { carbon: quantities.writeCarbon(gramsPerKwh) }),
  };
}
