/** A team's usage, entitlement, guarantee and limit of each resource, in readable units. */
import { ALL_ACCELERATORS, CORES, MEMORY, RESOURCES_BESIDE_TYPES } from "@headroom/model";
import type { Team } from "@headroom/protocol";
import { coresText, grouped, memoryText, resourceForm } from "./plain-text.ts";

export interface ResourceUse {
  /** Name of the resource: an accelerator type, or `accelerators`, `cores`, `memory`. */
  readonly resource: string;
  readonly held: number;
  /** Entitlement with the present demand; `null`: the policy does not compare teams by entitlement. */
  readonly entitlement: number | null;
  /** `null`: no guarantee. */
  readonly guarantee: number | null;
  /** `null`: no limit. */
  readonly limit: number | null;
  /** Limit for each user; `null`: none. */
  readonly userLimit: number | null;
}

/**
 * Every resource that has usage, guarantee, limit or user limit, with its entitlement; accelerator types come first.
 */
export function resourceUses(team: Team): readonly ResourceUse[] {
  const { held, limit, userLimit = {}, guarantee = {}, entitlement = {} } = team;
  const types = Object.keys(held).filter((type) => (held[type] ?? 0) > 0);
  const entitled = (entitlement[ALL_ACCELERATORS] ?? 0) > 0 ? [ALL_ACCELERATORS] : [];
  const stated = [limit, userLimit, guarantee].flatMap((amounts) => Object.keys(amounts));
  const named = [...new Set([...stated, ...types, ...entitled])].toSorted();
  const ordered = [
    ...named.filter((resource) => !RESOURCES_BESIDE_TYPES.includes(resource)),
    ...RESOURCES_BESIDE_TYPES.filter((resource) => named.includes(resource)),
  ];
  return ordered.map((resource) => ({
    resource,
    held: heldOf(team, resource),
    entitlement: entitlement[resource] ?? null,
    guarantee: guarantee[resource] ?? null,
    limit: limit[resource] ?? null,
    userLimit: userLimit[resource] ?? null,
  }));
}

function heldOf({ held, heldInAll }: Team, resource: string): number {
  if (resource === ALL_ACCELERATORS) return heldInAll.accelerators;
  if (resource === CORES) return heldInAll.coresMilli;
  return resource === MEMORY ? heldInAll.memoryMib : (held[resource] ?? 0);
}

/** `1,024`, `12.5 cores`, `64 GiB`. */
export function amountText(resource: string, amount: number): string {
  return resourceForm(resource)?.text(amount) ?? grouped(amount);
}

/** Text such as `3.2 accelerators on average`; `null`: past usage does not count, or there is none. */
/** `weight share 50%, usage share 80%, 38% of its weight left`; `null`: usage history does not count. */
export function fairShareSentence({ fairShare }: Team): string | null {
  if (fairShare === undefined) return null;
  const percent = (part: number): string => `${Math.round(part * 100)}%`;
  const { weightShare, usageShare, weightLeft } = fairShare;
  return `weight share ${percent(weightShare)}, usage share ${percent(usageShare)}, ${percent(weightLeft)} of its weight left`;
}

export function decayedUsageSentence({ decayedUsage }: Team): string | null {
  if (decayedUsage === undefined) return null;
  const { accelerators, coresMilli, memoryMib } = decayedUsage;
  const amounts = [
    ...(accelerators > 0 ? [`${accelerators} accelerators`] : []),
    ...(coresMilli > 0 ? [coresText(coresMilli)] : []),
    ...(memoryMib > 0 ? [memoryText(memoryMib)] : []),
  ];
  return amounts.length === 0 ? null : `${amounts.join(", ")} on average`;
}
