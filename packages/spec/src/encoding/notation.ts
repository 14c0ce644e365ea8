/**
 * Notations: how one value is written in the JSON of the API (the wire) and in a manifest. A notation has the schema of
 * the API, converts a manifest's value to the API's form and converts it back. Fields (`field.ts`) combine a notation
 * with a name and a description.
 */
import { z } from "zod";
import * as limits from "../limits.ts";
import { readCron, writeCron } from "../notation/cron.ts";
import { instantPattern, readInstant, writeInstant } from "../notation/instants.ts";
import * as quantities from "../notation/quantities.ts";
import { read, refuse, shown, type Reading } from "../notation/reading.ts";
import {
  entries,
  leaf,
  optionalLeaf,
  readBoolean,
  readChoice,
  readInteger,
  readName,
  readText,
} from "./read-values.ts";

/** JSON Schema keywords of a manifest's value, for editors; only the reader validates. */
export type EditorHint = Readonly<Record<string, unknown>>;

/** `Written`: the value as a manifest's reader returns it, before the conversion to the API's form. */
export interface Notation<Written, Wire extends z.ZodType> {
  readonly wire: Wire;
  /** Unit in the API as a sentence, such as "Milliseconds."; absent: the same unit as in a manifest. */
  readonly unit?: string | undefined;
  /** The kind of value, for the reference: `duration`, `whole number`. */
  readonly kind: string;
  /** JSON Schema keywords for editors. Mappings and lists have schemas of their own instead. */
  readonly editor: EditorHint;
  required(hint: EditorHint & { readonly description: string }): z.ZodType<Written>;
  optional(hint: EditorHint & { readonly description: string }): z.ZodType<Written | null>;
  /** Returns `undefined` if the value is left out in the API. */
  toWire(written: Written): unknown;
  /** The text of the manifest from which reading gives `wire` again; `undefined`: it is left out in the manifest. */
  toManifest(wire: z.output<Wire>): unknown;
}

interface Scalar<Wire extends z.ZodType> {
  readonly wire: Wire;
  readonly unit?: string | undefined;
  readonly kind: string;
  readonly editor: EditorHint;
  readonly read: (value: unknown) => Reading<z.output<Wire>>;
  readonly write?: (wire: z.output<Wire>) => unknown;
}

export type ScalarNotation<Wire extends z.ZodType> = Notation<z.output<Wire>, Wire> & Pick<Scalar<Wire>, "read">;

/** A single value that a manifest writes as one YAML scalar. */
export function scalar<Wire extends z.ZodType>(source: Scalar<Wire>): ScalarNotation<Wire> {
  const { editor, read: readValue, write = (wire) => wire } = source;
  return {
    ...source,
    required: (hint) => leaf({ ...editor, ...hint }, readValue),
    optional: (hint) =>
      optionalLeaf({ ...editor, ...hint }, null, (value): Reading<z.output<Wire> | null> => readValue(value)),
    toWire: (written) => written,
    toManifest: write,
  };
}

export const integer = (min: number, max: number): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(min, max),
    kind: "whole number",
    editor: { type: "integer", minimum: min, maximum: max },
    read: (value) => readInteger(value, { min, max }),
  });

/** Any finite number from `min` on. `noun` completes the message "must be a number …". */
export const number = (min: number, max: number, noun = ""): ScalarNotation<z.ZodNumber> =>
  scalar({
    wire: z.number().min(min).max(max),
    kind: "number",
    editor: { type: "number", minimum: min, maximum: max },
    read: (value) =>
      typeof value === "number" && value >= min && value <= max
        ? read(value)
        : refuse(`must be a number ${noun === "" ? `between ${min} and ${max}` : noun}, got ${shown(value)}`),
  });

/** A finite number above 0, or from `min` on. */
export const amount = (max: number, min = 0): ScalarNotation<z.ZodNumber> =>
  scalar({
    wire: (min === 0 ? z.number().positive() : z.number().min(min)).max(max),
    kind: "number",
    editor: { type: "number", ...(min === 0 ? { exclusiveMinimum: 0 } : { minimum: min }) },
    read: (value) => {
      if (typeof value !== "number" || !Number.isFinite(value)) return refuse(`must be a number, got ${shown(value)}`);
      if (value > 0 && value >= min && value <= max) return read(value);
      return refuse(`must be ${min > 0 ? `at least ${min}` : "above 0"}, got ${value}`);
    },
  });

export const duration = (min: number, max: number): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(min, max),
    unit: "Milliseconds.",
    kind: "duration",
    editor: { type: "string", pattern: quantities.durationPattern },
    read: (value) => quantities.readDuration(value, { min, max }),
    write: quantities.writeDuration,
  });

export const memory = (max: number, min = 0): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(min, max),
    unit: "MiB.",
    kind: "memory",
    editor: { type: "string", pattern: quantities.memoryPattern },
    read: (value) => quantities.readMemory(value, { min, max }),
    write: quantities.writeMemory,
  });

export const cores = (max: number): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(0, max),
    unit: "Thousandths of a core.",
    kind: "number",
    editor: { type: ["number", "string"], minimum: 0 },
    read: (value) => quantities.readCores(value, { min: 0, max }),
    write: quantities.writeCores,
  });

/** A fraction of `noun` in thousandths, above 0 and below 1. */
export const share = (noun: string, whole: string): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(1, 999),
    unit: "Thousandths.",
    kind: "number",
    editor: { type: ["number", "string"], exclusiveMinimum: 0, exclusiveMaximum: 1 },
    read: (value) =>
      value === 1 || value === "1"
        ? refuse(`must be below 1; leave it out for ${whole}`)
        : quantities.readThousandths(value, { range: { min: 1, max: 999 }, noun }),
    write: (milli) => milli / 1000,
  });

/** A price in dollars per hour. */
export const hourPrice: ScalarNotation<z.ZodInt> = scalar({
  wire: limits.integer(0, limits.PRICE_MICRO_USD_MAX),
  unit: "Micro-dollars an hour.",
  kind: "price",
  editor: { type: "string", pattern: quantities.pricePattern },
  read: (value) => quantities.readPrice(value, { min: 0, max: limits.PRICE_MICRO_USD_MAX }),
  write: quantities.writePrice,
});

export const energyPrice: ScalarNotation<z.ZodInt> = scalar({
  wire: limits.integer(limits.MICRO_USD_PER_KWH_MIN, limits.MICRO_USD_PER_KWH_MAX),
  unit: "Micro-dollars for a kilowatt-hour.",
  kind: "price of energy",
  editor: { type: "string", pattern: quantities.energyPricePattern },
  read: quantities.readEnergyPrice,
  write: quantities.writeEnergyPrice,
});

/** Electric power from `min` watts on. */
export const watts = (min: number, max: number): ScalarNotation<z.ZodInt> =>
  scalar({
    wire: limits.integer(min, max),
    unit: "Watts.",
    kind: "power",
    editor: { type: "string", pattern: quantities.wattsPattern },
    read: (value) => quantities.readWatts(value, { min, max }),
    write: quantities.writeWatts,
  });

export const carbon: ScalarNotation<z.ZodInt> = scalar({
  wire: limits.integer(0, limits.GRAMS_PER_KWH_MAX),
  unit: "Grams of carbon dioxide for a kilowatt-hour.",
  kind: "carbon intensity",
  editor: { type: "string", pattern: quantities.carbonPattern },
  read: (value) => quantities.readCarbon(value, { min: 0, max: limits.GRAMS_PER_KWH_MAX }),
  write: quantities.writeCarbon,
});

export const instant: ScalarNotation<z.ZodInt> = scalar({
  wire: limits.integer(0, Number.MAX_SAFE_INTEGER),
  unit: "Milliseconds since 1970.",
  kind: "instant",
  editor: { type: "string", pattern: instantPattern },
  read: readInstant,
  write: writeInstant,
});

/** A name that follows the same rule in the API. */
export const name = (rule: z.ZodString): ScalarNotation<z.ZodString> =>
  scalar({ wire: rule, kind: "name", editor: { type: "string" }, read: (value) => readName(value, rule) });

/** `form` completes the message "must be …". */
export const text = (rule: z.ZodString, charsMax: number, form: string): ScalarNotation<z.ZodString> =>
  scalar({
    wire: rule,
    kind: "text",
    editor: { type: "string" },
    read: (value) => readText(value, { lengthMax: charsMax, form }),
  });

export const choice = <const Choices extends readonly [string, ...string[]]>(
  choices: Choices,
): ScalarNotation<z.ZodEnum<z.core.util.ToEnum<Choices[number]>>> =>
  scalar({
    wire: z.enum(choices),
    kind: choices.map((each) => `\`${each}\``).join(", "),
    editor: { enum: [...choices] },
    read: (value) => readChoice(value, choices) as Reading<z.output<z.ZodEnum<z.core.util.ToEnum<Choices[number]>>>>,
  });

/** The value `true`, or nothing. A manifest can also contain `false`. */
export const flag: Notation<boolean, z.ZodLiteral<true>> = {
  ...scalar({ wire: z.boolean(), kind: "`true`, `false`", editor: { type: "boolean" }, read: readBoolean }),
  wire: z.literal(true),
  toWire: (written) => (written ? true : undefined),
};

/** Due times, written as a cron expression. */
export const cron = <Wire extends z.ZodType<Parameters<typeof writeCron>[0]>>(wire: Wire): ScalarNotation<Wire> =>
  scalar({
    wire,
    kind: "cron expression",
    editor: { type: "string" },
    read: readCron as (value: unknown) => Reading<z.output<Wire>>,
    write: writeCron,
  });

interface ListRule {
  readonly max: number;
  readonly min?: number;
  /** Noun such as "types" or "domains", which completes the message "must name at most 16 …". */
  readonly noun: string;
  /** Completes the message "must be a list like …". */
  readonly example: string;
  /** True: a single value can stand for a list of one. */
  readonly orSingle?: boolean;
  readonly mayRepeat?: boolean;
}

/** A list of scalar values. A single invalid entry makes the whole list invalid. */
export function list<Wire extends z.ZodType>(
  item: ScalarNotation<Wire>,
  rule: ListRule,
): ScalarNotation<z.ZodArray<Wire>> {
  const { max, min = 0, noun, example, orSingle = false, mayRepeat = false } = rule;
  const counts = min === 0 ? `must name at most ${max} ${noun}` : `must name ${min} to ${max} ${noun}`;
  const items = { type: "array", items: item.editor };
  return scalar({
    wire: z.array(item.wire).min(min).max(max),
    unit: item.unit,
    kind: orSingle ? `${item.kind}, or list of these` : `list: ${item.kind}`,
    editor:
      orSingle && item.editor["pattern"] === undefined && typeof item.editor["type"] === "string"
        ? { type: [item.editor["type"], "array"], items: item.editor }
        : items,
    read: (value) => {
      if (!Array.isArray(value) && !orSingle) return refuse(`must be a list like ${example}, got ${shown(value)}`);
      const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (entries.length < min || entries.length > max) return refuse(`${counts}, got ${entries.length}`);
      const found: z.output<Wire>[] = [];
      for (const [index, each] of entries.entries()) {
        const reading = item.read(each);
        if (!reading.ok) return Array.isArray(value) ? refuse(`entry ${index + 1} ${reading.message}`) : reading;
        if (!mayRepeat && found.includes(reading.value)) return refuse(`names ${String(reading.value)} twice`);
        found.push(reading.value);
      }
      return read(found);
    },
    write: (wire) => wire.map((each) => item.toManifest(each)),
  });
}

/** A mapping whose keys users choose. Every invalid entry is reported at its place. An empty mapping is left out. */
export function entriesOf<Wire extends z.ZodType<Record<string, unknown>>>(source: {
  readonly wire: Wire;
  readonly kind: string;
  readonly editor: EditorHint;
  readonly max: number;
  readonly readEntry: (key: string, value: unknown) => Reading<z.output<Wire>[string]>;
  readonly writeEntry?: (key: string, value: z.output<Wire>[string]) => unknown;
}): Notation<z.output<Wire>, Wire> {
  const { wire, kind, editor, max, readEntry, writeEntry = (_, value) => value } = source;
  const schema = (hint: EditorHint & { readonly description: string }) =>
    entries({ ...editor, ...hint }, max, readEntry) as unknown as z.ZodType<z.output<Wire>>;
  return {
    wire,
    kind,
    editor,
    required: schema,
    optional: schema,
    toWire: (written) => (Object.keys(written).length === 0 ? undefined : written),
    toManifest: (value) =>
      Object.keys(value).length === 0
        ? undefined
        : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, writeEntry(key, each as never)])),
  };
}
