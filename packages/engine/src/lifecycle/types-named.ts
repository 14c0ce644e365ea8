/** The bound on the number of accelerator types that pools and teams name together. */
import { RESOURCES_BESIDE_TYPES } from "@headroom/model";
import type { Pool, Rejection, Team } from "@headroom/model";
import type { World } from "../cluster/world.ts";

/**
 * Maximum number of distinct accelerator types and families that all pools and teams name. The amounts of a team are
 * vectors with an entry for each of them, so the product of teams and types bounds memory: 10,000 teams with five
 * vectors take at most 100 MB. Fleets have tens of types.
 */
export const TYPES_NAMED_MAX = 256;

interface Naming {
  readonly pools: Iterable<Pick<Pool, "acceleratorType" | "acceleratorFamily">>;
  readonly teams: Iterable<Team>;
}

/** Refuses documents that name further types beyond the maximum. Documents without new names are always accepted. */
export function typesAdmissionFailure({ state }: World, documents: Naming): Rejection | null {
  const added = typesNamed(documents);
  if (added.size === 0) return null;
  const known = typesNamed({ pools: state.pools.values(), teams: state.teams.values() });
  const count = new Set([...known, ...added]).size;
  if (count <= TYPES_NAMED_MAX || count === known.size) return null;
  return { code: "tooManyTypes", count, maxCount: TYPES_NAMED_MAX };
}

function typesNamed({ pools, teams }: Naming): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { acceleratorType, acceleratorFamily = "" } of pools) names.add(acceleratorType).add(acceleratorFamily);
  for (const { limit, userLimit, guarantee, lendingLimit, borrowingLimit } of teams)
    for (const amounts of [limit, userLimit, guarantee, lendingLimit, borrowingLimit])
      for (const name of Object.keys(amounts ?? {})) names.add(name);
  for (const name of ["", ...RESOURCES_BESIDE_TYPES]) names.delete(name);
  return names;
}
