/**
 * Values drawn from a schema: mostly valid ones, in part at the bounds of the schema, and at a few places values of
 * another type, beyond a bound, missing, unknown or repeated.
 */
import { draw } from "@headroom/model";
import type { z } from "zod";

export interface Draws {
  below(bound: number): number;
  one<T>(items: readonly T[]): T;
}

export function drawsOf(seed: number, number: number): Draws {
  let position = 0;
  const below = (bound: number): number => draw(seed, number, `schema-${position++}`) % Math.max(1, bound);
  return { below, one: (items) => items[below(items.length)] as (typeof items)[number] };
}

/** One place in this number gets a value that does not belong there. */
const WRONG_EVERY = 25;
/** Depth at which optional fields and lists end. */
const DEPTH_MAX = 6;

const wrong: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  "",
  "\u0000",
  "\ud800",
  "__proto__",
  "../..",
  "x".repeat(300),
  [],
  [[]],
  {},
  { length: 1e9 },
  { constructor: { prototype: {} } },
];

/** Names that exist in the fleet under test or belong to a schema, and some that do neither. */
const words = [
  ..."w1 w2 w1.1 default a a/b team-1 local slot node leaf gang H100 H100-SXM-80GB llama-3-8b fifo 1d 60s simulated".split(
    " ",
  ),
  ..."owner alice 2026-11-28 2030-01-01T00:00:00Z */5 0 UTC bf16 fp8 highest accelerators true 100%".split(" "),
];

interface Definition {
  readonly type: string;
  readonly [field: string]: unknown;
}

export function drawnValue(schema: z.core.$ZodType, draws: Draws, depth = 0): unknown {
  if (draws.below(WRONG_EVERY) === 0) return draws.one(wrong);
  const def = schema._zod.def as unknown as Definition;
  const inner = (field = "innerType"): unknown => drawnValue(def[field] as z.core.$ZodType, draws, depth);
  switch (def.type) {
    case "optional":
    case "default":
    case "prefault":
      return depth > DEPTH_MAX || draws.below(3) > 0 ? undefined : inner();
    case "nullable":
      return draws.below(4) === 0 ? null : inner();
    case "readonly":
    case "nonoptional":
    case "catch":
      return inner();
    case "pipe":
      return inner("in");
    case "lazy":
      return drawnValue((def["getter"] as () => z.core.$ZodType)(), draws, depth + 1);
    case "union":
      return drawnValue(draws.one(def["options"] as readonly z.core.$ZodType[]), draws, depth);
    case "literal":
      return draws.one(def["values"] as readonly unknown[]);
    case "enum":
      return draws.one(Object.values(def["entries"] as object) as readonly unknown[]);
    case "boolean":
      return draws.below(2) === 0;
    case "object":
      return drawnObject(def["shape"] as Readonly<Record<string, z.core.$ZodType>>, draws, depth);
    case "record":
      return drawnRecord(def["valueType"] as z.core.$ZodType, draws, depth);
    case "array":
      return drawnList(def["element"] as z.core.$ZodType, draws, depth);
    case "number":
    case "int":
      return drawnNumber(schema, draws);
    case "string":
      return draws.one(words);
    default:
      return draws.one([...wrong, ...words]);
  }
}

function drawnObject(shape: Readonly<Record<string, z.core.$ZodType>>, draws: Draws, depth: number): object {
  const fields = Object.entries(shape).map(([name, field]) => [name, drawnValue(field, draws, depth + 1)] as const);
  if (draws.below(WRONG_EVERY) === 0) fields.push([draws.one(words), draws.one(wrong)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function drawnRecord(value: z.core.$ZodType, draws: Draws, depth: number): object {
  const count = draws.below(WRONG_EVERY) === 0 ? 600 : draws.below(3);
  const entries = Array.from({ length: count }, (_, index) => {
    const name = count > 3 ? `k${index}` : draws.one(words);
    return [name, drawnValue(value, draws, depth + 1)] as const;
  });
  return Object.fromEntries(entries);
}

function drawnList(element: z.core.$ZodType, draws: Draws, depth: number): unknown[] {
  const length = depth > DEPTH_MAX ? 0 : draws.one([0, 1, 1, 1, 2, 3, 20]);
  return Array.from({ length }, () => drawnValue(element, draws, depth + 1));
}

function drawnNumber(schema: z.core.$ZodType, draws: Draws): number {
  const { minimum = 0, maximum = 1e12 } = schema._zod.bag as { readonly minimum?: number; readonly maximum?: number };
  return draws.one([minimum, minimum + 1, 1, 2, 8, 60_000, 3_600_000, maximum, maximum + 1, minimum - 1]);
}
