/** `kind: tariff`: what power costs, or how clean it is, at certain times. */
import { z } from "zod";
import type { Tariff } from "./calendar-spec.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import type { ScheduleTimes } from "./schedule-spec.ts";
import { readCron, writeCron } from "./notation/cron.ts";
import { fields, leaf, optionalLeaf, readName } from "./field.ts";
import { instantPattern, readInstant, writeInstant } from "./notation/instants.ts";
import type { FieldProblem } from "./placement-fields.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

const instant = { type: "string", pattern: instantPattern };
const readMoment = (value: unknown): Reading<number | null> => readInstant(value);

const oneOrList = (pattern: string) => ({
  anyOf: [
    { type: "string", pattern },
    { type: "array", items: { type: "string", pattern } },
  ],
});

const readGrams = (value: unknown): Reading<number> =>
  quantities.readCarbon(value, { min: 0, max: limits.GRAMS_PER_KWH_MAX });

/** One, or those of a forecast. */
function readFigures(
  value: unknown,
  readOne: (each: unknown) => Reading<number>,
): Reading<number | readonly number[] | null> {
  if (!Array.isArray(value)) return readOne(value);
  if (value.length === 0 || value.length > limits.SERIES_STEPS_MAX)
    return refuse(`must be 1 to ${limits.SERIES_STEPS_MAX} figures, got ${shown(value)}`);
  const found: number[] = [];
  for (const each of value) {
    const reading = readOne(each);
    if (!reading.ok) return reading;
    found.push(reading.value);
  }
  return read(found);
}

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
    step: optionalLeaf(
      {
        description:
          "A forecast, from `start` on: how long each figure of `price` and `carbon` holds, which are lists then.",
        type: "string",
        pattern: quantities.durationPattern,
        examples: ["1h"],
      },
      null,
      (value): Reading<number | null> =>
        quantities.readDuration(value, { min: limits.SERIES_STEP_MS_MIN, max: limits.DURATION_MS_MAX }),
    ),
    price: optionalLeaf(
      {
        description: "For a kilowatt-hour; of a forecast a list of these.",
        ...oneOrList(quantities.energyPricePattern),
        examples: ["0.08 USD/kWh"],
      },
      null,
      (value) => readFigures(value, quantities.readEnergyPrice),
    ),
    carbon: optionalLeaf(
      {
        description: "Carbon dioxide in a kilowatt-hour; of a forecast a list of these.",
        ...oneOrList(quantities.carbonPattern),
        examples: ["120 g/kWh"],
      },
      null,
      (value) => readFigures(value, readGrams),
    ),
  },
  {
    meant: { from: "start", until: "end", to: "end", duration: "lasts", for: "lasts", co2: "carbon", schedule: "cron" },
  },
);

type WrittenTariff = z.output<typeof tariffSchema>;

export function tariffProblems(written: WrittenTariff): FieldProblem[] {
  const { cron, lasts, start, end, step, price, carbon } = written;
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (step !== null) return forecastProblems(written);
  if ((cron === null) === (start === null)) add("cron", "or start is required, one of the two");
  else if (cron !== null && lasts === null) add("lasts", "is required beside cron");
  else if (start !== null && end === null) add("end", "is required beside start");
  if (cron !== null && end !== null) add("end", "must be left out beside cron: say how long it lasts");
  if (start !== null && lasts !== null) add("lasts", "must be left out beside start: say when it ends");
  if (start !== null && end !== null && end <= start) add("end", `must lie after start, ${writeInstant(start)}`);
  if (price === null && carbon === null) add("price", "or carbon is required, or both");
  for (const field of ["price", "carbon"] as const)
    if (Array.isArray(written[field])) add(field, "must be one figure, or there must be a step for the list");
  return problems;
}

function forecastProblems({ cron, lasts, start, end, price, carbon }: WrittenTariff): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (start === null) add("start", "is required beside step");
  for (const [field, value] of Object.entries({ cron, lasts, end }))
    if (value !== null) add(field, "must be left out beside step");
  if (price === null && carbon === null) add("price", "or carbon is required, or both");
  for (const [field, value] of Object.entries({ price, carbon }))
    if (typeof value === "number") add(field, "must be a list beside step");
  return problems;
}

export function tariffOf(written: WrittenTariff): Tariff {
  const { name, site, price, carbon } = written;
  return {
    kind: "tariff",
    name,
    ...(site === null ? {} : { site }),
    when: timesOf(written),
    ...(typeof price === "number" ? { microUsdPerKwh: price } : {}),
    ...(typeof carbon === "number" ? { gramsPerKwh: carbon } : {}),
  };
}

function timesOf({ cron, lasts, start, end, step, price, carbon }: WrittenTariff): Tariff["when"] {
  if (cron !== null) return { kind: "recurring", times: cron, durationMs: lasts ?? 0 };
  if (step === null) return { kind: "once", startMs: start ?? 0, endMs: end ?? 0 };
  return {
    kind: "series",
    startMs: start ?? 0,
    stepMs: step,
    ...(typeof price === "object" && price !== null ? { microUsdPerKwh: [...price] } : {}),
    ...(typeof carbon === "object" && carbon !== null ? { gramsPerKwh: [...carbon] } : {}),
  };
}

/** The document that reads back as this tariff. */
export function tariffDocument({ name, site, when, microUsdPerKwh, gramsPerKwh }: Tariff): Record<string, unknown> {
  return {
    kind: "tariff",
    name,
    ...(site === undefined ? {} : { site }),
    ...timesText(when),
    ...(microUsdPerKwh === undefined ? {} : { price: quantities.writeEnergyPrice(microUsdPerKwh) }),
    ...(gramsPerKwh === undefined ? {} : { carbon: quantities.writeCarbon(gramsPerKwh) }),
  };
}

function timesText(when: Tariff["when"]): Record<string, unknown> {
  switch (when.kind) {
    case "once":
      return { start: writeInstant(when.startMs), end: writeInstant(when.endMs) };
    case "recurring":
      return { cron: writeCron(when.times), lasts: quantities.writeDuration(when.durationMs) };
    case "series": {
      const { startMs, stepMs, microUsdPerKwh, gramsPerKwh } = when;
      return {
        start: writeInstant(startMs),
        step: quantities.writeDuration(stepMs),
        ...(microUsdPerKwh === undefined ? {} : { price: microUsdPerKwh.map(quantities.writeEnergyPrice) }),
        ...(gramsPerKwh === undefined ? {} : { carbon: gramsPerKwh.map(quantities.writeCarbon) }),
      };
    }
  }
}
