/** Where data may be worked on, and where it lies: said of sites and pools by whoever declares the fleet. */
import type { Pool, Site } from "./fleet.ts";

export interface DataPlace {
  /** Rules under which work may run here. A pool's own list stands in place of its site's; absent: none. */
  readonly rules?: readonly string[];
  /** Data sets that lie here, each with all that is below it: `s3://corpus` holds `s3://corpus/v7`. */
  readonly holds?: readonly string[];
}

/** What work says of its data. */
export interface DataSpec {
  /** What it reads; it goes where most of these lie, if it can. */
  readonly inputs?: readonly string[];
  /** The rule that its data are under: it runs only where that is admitted. */
  readonly rule?: string;
}

type Place = Pick<Site | Pool, "data"> | undefined;

/** Whether work under the rule may run in the pool. */
export const admitsRule = (rule: string, site: Place, pool: Place): boolean =>
  (pool?.data?.rules ?? site?.data?.rules ?? []).includes(rule);

/** How many of the inputs lie in the pool or at its site. */
export function inputsHeld(inputs: readonly string[], site: Place, pool: Place): number {
  const held = [...(site?.data?.holds ?? []), ...(pool?.data?.holds ?? [])];
  return inputs.filter((input) => held.some((each) => isBelow(input, each))).length;
}

const isBelow = (input: string, held: string): boolean =>
  input === held || input.startsWith(held.endsWith("/") ? held : `${held}/`);
