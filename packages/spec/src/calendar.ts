/** `kind: maintenance`, `reservation` and `tariff`: entries of the calendar. */
import { z } from "zod";
import type { FieldProblem } from "./document-problem.ts";
import { literal, optional, record, required, type WrittenFields } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { writeInstant } from "./notation/instants.ts";
import { read, refuse, shown } from "./notation/reading.ts";
import { cronNotation } from "./schedule-times.ts";

const namesOf = (item: notation.ScalarNotation<z.ZodString>, noun: string, max: number) =>
  notation.list(item, { min: 1, max, noun, example: `[${noun}]`, orSingle: true });
const user = notation.text(z.string().min(1).max(limits.ID_CHARS_MAX), limits.ID_CHARS_MAX, "a user's name");

const windowFields = {
  name: required(notation.name(names.calendarName), {
    description: "The name of the entry, unique in the calendar.",
    examples: ["firmware-march"],
  }),
  start: required(notation.instant, {
    wire: "startMs",
    description: "Start of the window.",
    examples: ["2027-03-01T08:00:00Z"],
  }),
  end: required(notation.instant, {
    wire: "endMs",
    description: "End of the window.",
    examples: ["2027-03-01T12:00:00Z"],
  }),
  nodes: optional(namesOf(notation.name(names.opaqueId), "nodes", limits.SHAPE_NODES_MAX), {
    description: "The nodes, by name.",
  }),
};
const meant = { from: "start", begin: "start", begins: "start", until: "end", to: "end", ends: "end", node: "nodes" };

const endsLater = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }): boolean =>
  startMs < endMs;
const mustEndLater = { path: ["endMs"], message: "must be later than startMs" };

export const maintenance = record(
  {
    kind: literal("maintenance", "Maintenance: nodes are unavailable for a time, and are drained before."),
    ...windowFields,
    pool: optional(notation.name(names.poolName), {
      description: "All nodes of a pool, including those that join later; used instead of `nodes`.",
    }),
    reason: optional(notation.text(names.reason, limits.REASON_CHARS_MAX, "a reason"), {
      description: "The reason for the maintenance, as text.",
      examples: ["new firmware"],
    }),
  },
  {
    meant,
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(endsLater, mustEndLater)
        .refine(({ pool, nodes }) => (pool === undefined) !== (nodes === undefined), {
          message: "must name either a pool or nodes",
        })
        .meta({
          id: "MaintenanceWindow",
          description: "No work runs on these nodes in this time; they are drained before.",
        }),
  },
);

export const reservation = record(
  {
    kind: literal("reservation", "Reservation: nodes are reserved for a team or users for a time."),
    ...windowFields,
    team: optional(notation.name(names.teamName), {
      description: "The reservation is for work of this team and all teams below it.",
    }),
    users: optional(namesOf(user, "users", limits.RESERVATION_USERS_MAX), {
      description: "The reservation is for work that these users submitted, in any team.",
    }),
    accelerators: optional(notation.integer(1, limits.ACCELERATOR_LIMIT_MAX), {
      description:
        "Number of accelerators. Whole nodes with at least this number are chosen when the entry is applied; used instead of `nodes`.",
    }),
    acceleratorType: optional(notation.name(names.acceleratorType), {
      description: "The accelerator type of those nodes.",
      otherwise: "any",
    }),
  },
  {
    meant: { ...meant, gpus: "accelerators", gpu: "acceleratorType", user: "users", for: "team" },
    wire: (shape) =>
      z
        .strictObject(shape)
        .refine(endsLater, mustEndLater)
        .refine(({ team, users }) => team !== undefined || users !== undefined, {
          message: "must name a team or users",
        })
        .refine(({ nodes, accelerators }) => (nodes === undefined) !== (accelerators === undefined), {
          message: "must state either the accelerators or the nodes",
        })
        .refine(({ nodes, acceleratorType }) => nodes === undefined || acceleratorType === undefined, {
          path: ["acceleratorType"],
          message: "must be left out if nodes are named",
        })
        .meta({
          id: "AdvanceReservation",
          description: "Nodes reserved for a team or users in this time; other work ends before.",
        }),
  },
);

type WrittenWindow = WrittenFields<typeof maintenance.parts> | WrittenFields<typeof reservation.parts>;

export function windowProblems(written: WrittenWindow): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (written.end <= written.start) add("end", `must be later than start, ${writeInstant(written.start)}`);
  if (written.kind === "maintenance") {
    if ((written.pool === null) === (written.nodes === null)) add("nodes", "state exactly one of nodes and pool");
    return problems;
  }
  const { team, users, nodes, accelerators, acceleratorType } = written;
  if (team === null && users === null) add("team", "team or users is required: the reservation needs an owner");
  if ((accelerators === null) === (nodes === null)) add("accelerators", "or nodes is required, one of the two");
  if (nodes !== null && acceleratorType !== null) add("acceleratorType", "must be left out if nodes are named");
  return problems;
}

/** A single figure, or a list with one figure for each step of a forecast. */
function figures(one: notation.ScalarNotation<z.ZodInt>) {
  const pattern = one.editor["pattern"];
  const max = limits.SERIES_STEPS_MAX;
  return notation.scalar<z.ZodType<number | readonly number[]>>({
    wire: z.union([one.wire, z.array(one.wire).min(1).max(max)]),
    ...(one.unit === undefined ? {} : { unit: one.unit }),
    kind: `${one.kind}, or list of these`,
    editor: {
      anyOf: [
        { type: "string", pattern },
        { type: "array", items: { type: "string", pattern } },
      ],
    },
    read: (value) => {
      if (!Array.isArray(value)) return one.read(value);
      if (value.length === 0 || value.length > max) return refuse(`must be 1 to ${max} figures, got ${shown(value)}`);
      const found: number[] = [];
      for (const each of value as readonly unknown[]) {
        const reading = one.read(each);
        if (!reading.ok) return reading;
        found.push(reading.value);
      }
      return read(found);
    },
    write: (wire) => (typeof wire === "number" ? one.toManifest(wire) : wire.map((each) => one.toManifest(each))),
  });
}

const tariffFields = {
  kind: literal("tariff", "Tariff: price or carbon intensity of power at certain times."),
  name: required(notation.name(names.calendarName), {
    description: "The name of the entry, unique in the calendar.",
    examples: ["night"],
  }),
  site: optional(notation.name(names.siteName), {
    description: "The site to which the tariff applies.",
    otherwise: "every site without a tariff of its own",
  }),
  cron: optional(cronNotation, {
    wire: null,
    description: "Repeated start times in UTC: minute, hour, day of the month, month, day of the week.",
    examples: ["0 22 * * *"],
  }),
  lasts: optional(notation.duration(1, limits.DURATION_MS_MAX), {
    wire: null,
    description: "With `cron`: duration of each period.",
    examples: ["8h"],
  }),
  start: optional(notation.instant, { wire: null, description: "A single start time, used instead of `cron`." }),
  end: optional(notation.instant, { wire: null, description: "End of the period that begins at `start`." }),
  step: optional(notation.duration(limits.SERIES_STEP_MS_MIN, limits.DURATION_MS_MAX), {
    wire: null,
    description: "For a forecast from `start` on: the duration of each figure in the lists `price` and `carbon`.",
    examples: ["1h"],
  }),
  price: optional(figures(notation.energyPrice), {
    wire: null,
    description: "Price of a kilowatt-hour; negative if the consumer is paid.",
    examples: ["0.08 USD/kWh"],
  }),
  carbon: optional(figures(notation.carbon), {
    wire: null,
    description: "Carbon dioxide emitted for a kilowatt-hour.",
    examples: ["120 g/kWh"],
  }),
};

const { wire: microUsdPerKwh } = notation.energyPrice;
const { wire: gramsPerKwh } = notation.carbon;
const instantMs = notation.instant.wire;

const tariffTimes = z
  .discriminatedUnion("kind", [
    z
      .strictObject({ kind: z.literal("once"), startMs: instantMs, endMs: instantMs })
      .refine(endsLater, mustEndLater)
      .meta({ description: "End of the tariff; it then leaves the calendar." }),
    z
      .strictObject({
        kind: z.literal("series"),
        startMs: instantMs,
        stepMs: notation.duration(limits.SERIES_STEP_MS_MIN, limits.DURATION_MS_MAX).wire,
        microUsdPerKwh: z.array(microUsdPerKwh).min(1).max(limits.SERIES_STEPS_MAX).optional(),
        gramsPerKwh: z.array(gramsPerKwh).min(1).max(limits.SERIES_STEPS_MAX).optional(),
      })
      .refine((when) => when.microUsdPerKwh !== undefined || when.gramsPerKwh !== undefined, {
        message: "must state prices, carbon or both",
      })
      .meta({
        description:
          "A forecast: consecutive figures, each valid for `stepMs`. After the last one the tariff leaves the calendar. A forecast takes precedence over other tariffs.",
      }),
    z
      .strictObject({
        kind: z.literal("recurring"),
        times: cronNotation.wire,
        durationMs: notation.duration(1, limits.DURATION_MS_MAX).wire,
      })
      .meta({ description: "Repeated: the tariff starts at these times and is valid for this duration." }),
  ])
  .meta({ id: "TariffTimes" });

type TariffTimes = z.output<typeof tariffTimes>;
type WrittenTariff = WrittenFields<typeof tariffFields>;

function tariffTimesOf({ cron, lasts, start, end, step, price, carbon }: WrittenTariff): TariffTimes {
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

/** The time fields of a tariff in a manifest, with values as in the API. */
function tariffTimesText(when: TariffTimes): Readonly<Record<string, unknown>> {
  switch (when.kind) {
    case "once":
      return { start: when.startMs, end: when.endMs };
    case "recurring":
      return { cron: when.times, lasts: when.durationMs };
    case "series":
      return { start: when.startMs, step: when.stepMs, price: when.microUsdPerKwh, carbon: when.gramsPerKwh };
  }
}

export const tariffManifest = record(tariffFields, {
  meant: {
    from: "start",
    until: "end",
    to: "end",
    duration: "lasts",
    for: "lasts",
    co2: "carbon",
    schedule: "cron",
  },
  wire: (shape) =>
    z
      .strictObject({
        ...shape,
        when: tariffTimes,
        microUsdPerKwh: microUsdPerKwh
          .optional()
          .meta({ description: "Micro-dollars for a kilowatt-hour; below 0 where the consumer is paid." }),
        gramsPerKwh: gramsPerKwh.optional().meta({ description: "Grams of carbon dioxide for a kilowatt-hour." }),
      })
      .refine(
        ({ when, ...stated }) =>
          (when.kind === "series") === (stated.microUsdPerKwh === undefined && stated.gramsPerKwh === undefined),
        {
          message:
            "must state a price, carbon or both, either as one figure or as a series with a figure for each step",
        },
      )
      .meta({
        id: "Tariff",
        description:
          "Price or carbon intensity of power at certain times; of several active tariffs, the one that began last counts.",
      }),
  toWire: (wire, written) => ({
    ...wire,
    when: tariffTimesOf(written),
    ...(typeof written.price === "number" ? { microUsdPerKwh: written.price } : {}),
    ...(typeof written.carbon === "number" ? { gramsPerKwh: written.carbon } : {}),
  }),
  toManifest: (written, declared) => {
    const said = {
      price: declared.microUsdPerKwh,
      carbon: declared.gramsPerKwh,
      ...tariffTimesText(declared.when),
    };
    const texts = Object.entries(said).flatMap(([field, wire]) =>
      wire === undefined ? [] : [[field, tariffFields[field as keyof typeof said].toManifest(wire)]],
    );
    return { ...written, ...Object.fromEntries(texts) };
  },
});

export function tariffProblems(written: WrittenTariff): FieldProblem[] {
  const { cron, lasts, start, end, step, price, carbon } = written;
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (step !== null) return forecastProblems(written);
  if ((cron === null) === (start === null)) add("cron", "state exactly one of cron and start");
  else if (cron !== null && lasts === null) add("lasts", "is required with cron");
  else if (start !== null && end === null) add("end", "is required with start");
  if (cron !== null && end !== null) add("end", "must be left out with cron: state its duration instead");
  if (start !== null && lasts !== null) add("lasts", "must be left out with start: state its end instead");
  if (start !== null && end !== null && end <= start) add("end", `must be later than start, ${writeInstant(start)}`);
  if (price === null && carbon === null) add("price", "or carbon is required, or both");
  for (const field of ["price", "carbon"] as const)
    if (Array.isArray(written[field])) add(field, "must be one figure; a list needs a step");
  return problems;
}

function forecastProblems({ cron, lasts, start, end, price, carbon }: WrittenTariff): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const add = (field: string, message: string): void => void problems.push({ path: [field], message });
  if (start === null) add("start", "is required with step");
  for (const [field, value] of Object.entries({ cron, lasts, end }))
    if (value !== null) add(field, "must be left out with step");
  if (price === null && carbon === null) add("price", "or carbon is required, or both");
  for (const [field, value] of Object.entries({ price, carbon }))
    if (typeof value === "number") add(field, "must be a list if there is a step");
  return problems;
}

export const calendarEntry = z
  .discriminatedUnion("kind", [maintenance.wire, reservation.wire, tariffManifest.wire])
  .meta({ id: "CalendarEntry" });
export type Tariff = z.output<typeof tariffManifest.wire>;
export type CalendarEntry = z.output<typeof calendarEntry>;

export function calendarEntryOf(written: WrittenWindow | WrittenTariff): CalendarEntry {
  switch (written.kind) {
    case "maintenance":
      return maintenance.toWire(written) as CalendarEntry;
    case "reservation":
      return reservation.toWire(written) as CalendarEntry;
    case "tariff":
      return tariffManifest.toWire(written) as CalendarEntry;
  }
}

/** The document from which reading gives this entry again. */
export function calendarDocument(entry: CalendarEntry): Record<string, unknown> {
  switch (entry.kind) {
    case "maintenance":
      return maintenance.toManifest(entry) as Record<string, unknown>;
    case "reservation":
      return reservation.toManifest(entry) as Record<string, unknown>;
    case "tariff":
      return tariffManifest.toManifest(entry) as Record<string, unknown>;
  }
}
