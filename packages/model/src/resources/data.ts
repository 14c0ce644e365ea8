/** Data rules and data locations of sites and pools, declared with the fleet. */
import type { Pool, Site } from "./fleet.ts";

export interface DataPlace {
  /** Data rules that this place admits. A pool's list replaces the list of its site. Absent: the place admits none. */
  readonly rules?: readonly string[];
  /** Data sets stored here. A data set includes everything below its path: `s3://corpus` includes `s3://corpus/v7`. */
  readonly holds?: readonly string[];
}

export interface DataSpec {
  /** Data sets that the work reads. The work is placed where most of them are stored, if possible. */
  readonly inputs?: readonly string[];
  /** The rule of the work's data: it runs only in pools that admit this rule. */
  readonly rule?: string;
  /** Store to which the registered artifacts of the work are uploaded. Absent: they stay where they are. */
  readonly store?: string;
}

type Place = Pick<Site | Pool, "data"> | undefined;

export const admitsRule = (rule: string, site: Place, pool: Place): boolean =>
  (pool?.data?.rules ?? site?.data?.rules ?? []).includes(rule);

/** Number of inputs stored in the pool or at its site. */
export function inputsHeld(inputs: readonly string[], site: Place, pool: Place): number {
  const held = [...(site?.data?.holds ?? []), ...(pool?.data?.holds ?? [])];
  return inputs.filter((input) => held.some((each) => isBelow(input, each))).length;
}

const isBelow = (input: string, held: string): boolean =>
  input === held || input.startsWith(held.endsWith("/") ? held : `${held}/`);
