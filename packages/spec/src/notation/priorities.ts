/** Priorities as people write them: three words for the usual ones, any whole number for the others. */
import * as limits from "../limits.ts";
import { readInteger } from "../field.ts";
import { read, refuse, shown, type Reading } from "./reading.ts";

const priorities: ReadonlyMap<string, number> = new Map([
  ["low", -100],
  ["normal", 0],
  ["high", 100],
]);

const priorityRange = { min: -limits.PRIORITY_MAX, max: limits.PRIORITY_MAX };

export const priorityHint = {
  anyOf: [
    { enum: [...priorities.keys()] },
    { type: "integer", minimum: priorityRange.min, maximum: priorityRange.max },
  ],
};

export function readPriority(value: unknown): Reading<number> {
  const named = typeof value === "string" ? priorities.get(value) : undefined;
  if (named !== undefined) return read(named);
  if (typeof value === "number") return readInteger(value, priorityRange);
  const { min, max } = priorityRange;
  return refuse(`must be low, normal, high or a whole number between ${min} and ${max}, got ${shown(value)}`);
}

export function writePriority(priority: number): string | number {
  for (const [name, value] of priorities) if (value === priority) return name;
  return priority;
}
