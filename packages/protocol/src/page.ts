/**
 * Pages of a list. A cursor is an opaque text that stays valid while entries are added and removed. A page can have
 * fewer entries than requested.
 */
import { z } from "zod";
import { limits } from "@headroom/spec";

export interface Page<Item> {
  readonly items: readonly Item[];
  /**
   * The `cursor` of the next page; `null`: this is the last page. Even a page with few or no items can have a next
   * page.
   */
  readonly nextCursor: string | null;
}

/** An answer by its schema, where the list of a page is read-only, so that nobody need copy the list that it returns. */
export type PageAnswer<Value> = Value extends { items: (infer Item)[]; nextCursor: string | null }
  ? Omit<Value, "items"> & { readonly items: readonly Item[] }
  : Value;

/** A page whose entries are `item`, named in the OpenAPI document. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
  id: string,
): z.ZodObject<{ items: z.ZodArray<Item>; nextCursor: z.ZodNullable<z.ZodString> }> {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() }).meta({ id });
}

export const cursor = z
  .string()
  .max(limits.CURSOR_CHARS_MAX)
  .regex(/^[A-Za-z0-9._/-]+$/, "must be a nextCursor of an earlier page");

/** An integer in a query, which arrives as text. Only plain decimal digits are accepted. */
export function queryInteger(min: number, max: number): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> {
  const message = `must be a whole number between ${min} and ${max}`;
  return z
    .string()
    .regex(/^[0-9]{1,15}$/, message)
    .meta({ type: "integer", minimum: min, maximum: max })
    .transform((text, context) => {
      const value = Number(text);
      if (value < min || value > max) {
        context.issues.push({ code: "custom", message, input: text });
        return z.NEVER;
      }
      return value;
    });
}

export const queryBoolean = z.enum(["true", "false"]).transform((text) => text === "true");

export const pageQuery = z.strictObject({
  cursor: cursor.optional(),
  limit: queryInteger(1, limits.PAGE_ITEMS_MAX).optional(),
});

export interface PageRequest {
  readonly cursor?: string | null | undefined;
  readonly limit?: number | undefined;
}
