/** Priorities in manifests: three words for the usual ones, any whole number for others. */
import { scalar } from "./notation.ts";
import { readInteger } from "./read-values.ts";
import * as limits from "../limits.ts";
import { read, refuse, shown } from "../notation/reading.ts";

const words: ReadonlyMap<string, number> = new Map([
  ["low", -100],
  ["normal", 0],
  ["high", 100],
]);

const min = -limits.PRIORITY_MAX;
const max = limits.PRIORITY_MAX;

export const priority = scalar({
  wire: limits.integer(min, max),
  kind: "`low`, `normal`, `high` or whole number",
  editor: { anyOf: [{ enum: [...words.keys()] }, { type: "integer", minimum: min, maximum: max }] },
  read: (value) => {
    const named = typeof value === "string" ? words.get(value) : undefined;
    if (named !== undefined) return read(named);
    if (typeof value === "number") return readInteger(value, { min, max });
    return refuse(`must be low, normal, high or a whole number between ${min} and ${max}, got ${shown(value)}`);
  },
  write: (wire): string | number => [...words].find(([, value]) => value === wire)?.[0] ?? wire,
});
