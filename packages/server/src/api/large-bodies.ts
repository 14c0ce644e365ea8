/**
 * Validates large bodies item by item and stops at the first faulty item, so that the cost of a refusal does not grow
 * with the number of faults. Between items, the event loop serves other requests.
 */
import { compile, z } from "zod";
import { LoopTurns } from "../driver/loop-turns.ts";
import { parsed } from "./problem-mapping.ts";

/** Bodies from this length on are read in turns. Smaller ones cost less than a millisecond or two. */
export const LARGE_BODY_CHARS = 16_384;
/** Work in ms after which the loop serves others. */
const SLICE_MS = 1;
const turns = new LoopTurns();

/** Resolves when a large body may be parsed. Each gets a turn of its own. */
export const turnForLargeBody = (): Promise<void> => turns.next();

export type ItemCheck = (body: unknown) => Promise<void>;

/** Returns a check of the items of all lists of a body. Throws the problem of the first faulty item. */
export function itemCheck(schema: z.ZodType): ItemCheck {
  const lists = Object.entries(schema instanceof z.ZodObject ? schema.shape : {}).flatMap(([field, each]) => {
    const item = itemOf(each as z.ZodType);
    return item === null ? [] : [[field, compile(item.element), item.maxCount] as const];
  });
  return async (body) => {
    if (typeof body !== "object" || body === null) return;
    for (const [field, item, maxCount] of lists) {
      const list = (body as Readonly<Record<string, unknown>>)[field];
      if (Array.isArray(list) && list.length <= maxCount) await checkItems(list, item, field);
    }
  };
}

async function checkItems(list: readonly unknown[], item: z.ZodType, field: string): Promise<void> {
  let sinceMs = performance.now();
  for (const [index, each] of list.entries()) {
    parsed(item, each, "", [field, index]);
    if (performance.now() - sinceMs < SLICE_MS) continue;
    await turns.next();
    sinceMs = performance.now();
  }
}

/** Schema of the items of a list and the maximum number of items; `null`: the schema is no list. */
function itemOf(schema: z.ZodType): { readonly element: z.ZodType; readonly maxCount: number } | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return itemOf(schema.unwrap() as z.ZodType);
  if (!(schema instanceof z.ZodArray)) return null;
  const { maximum = Infinity } = schema._zod.bag as { readonly maximum?: number };
  return { element: schema.element as z.ZodType, maxCount: maximum };
}
