/** A hypothetical change: nodes added or removed by pool, changed team figures, another policy. */
import { teamSpec } from "@headroom/protocol";
import type { Node, Team, TeamSpec, WhatIfQuestionInput } from "@headroom/protocol";

export interface TeamChange {
  readonly weight?: number;
  readonly guarantee: Readonly<Record<string, number | null>>;
  readonly limit: Readonly<Record<string, number | null>>;
}

export interface AddedSite {
  readonly name: string;
  /** Levels of its fabric from the top, separated by commas; empty: none. */
  readonly levels: string;
}

export interface AddedPool {
  /** A site of the fleet, or a new one. */
  readonly site: string | AddedSite;
  readonly acceleratorType: string;
  readonly nodes: number;
  readonly acceleratorsPerNode: number;
}

export interface TriedCap {
  /** A domain in the form of `domainsOf`; empty: none is chosen yet. */
  readonly domain: string;
  /** Most power in kW that its nodes may draw; 0: not filled in. */
  readonly kilowatts: number;
}

export interface Change {
  /** The domain that is lost: a fabric domain as `site / spine / leaf`, or a label as `rack = r7`; `null`: none. */
  readonly lost: string | null;
  /** A pool that is added; absent: none. */
  readonly pool?: AddedPool;
  /** A cap on power, in place of the cap on the same domain; absent: none. */
  readonly cap?: TriedCap;
  /** Difference in the number of nodes, by pool; negative: nodes are removed. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Changes by team name; a `null` value removes a guarantee or a limit. */
  readonly teams: Readonly<Record<string, TeamChange>>;
  /** Name of a preset; `null`: the active policy is kept. */
  readonly policy: string | null;
}

export const noChange: Change = { lost: null, nodes: {}, teams: {}, policy: null };

export const isChange = ({ lost, pool, cap, nodes, teams, policy }: Change): boolean =>
  lost !== null ||
  isWhole(pool) ||
  isWholeCap(cap) ||
  policy !== null ||
  Object.keys(teams).length > 0 ||
  Object.values(nodes).some((count) => count !== 0);

/** Whether the pool is complete. While it has no nodes, accelerators or site, the user is still filling it in. */
const isWhole = (pool: AddedPool | undefined): pool is AddedPool =>
  pool !== undefined &&
  pool.acceleratorType.trim() !== "" &&
  pool.nodes > 0 &&
  pool.acceleratorsPerNode > 0 &&
  (typeof pool.site === "string" || pool.site.name.trim() !== "");

const isWholeCap = (cap: TriedCap | undefined): cap is TriedCap =>
  cap !== undefined && cap.domain !== "" && cap.kilowatts > 0;

/** The cap in the format of the API. */
export function triedCaps(
  { cap }: Change,
  sites: readonly { readonly name: string; readonly fabricLevels: readonly string[] }[],
): NonNullable<WhatIfQuestionInput["caps"]> {
  if (!isWholeCap(cap)) return [];
  const watts = cap.kilowatts * 1_000;
  const [label = "", value] = cap.domain.split(LABEL_SIGN);
  if (value !== undefined) return [{ of: "power", level: label, domain: value, watts }];
  const [siteName = "", ...below] = cap.domain.split(PATH_SIGN);
  const level =
    below.length === 0 ? "site" : sites.find(({ name }) => name === siteName)?.fabricLevels[below.length - 1];
  return level === undefined ? [] : [{ of: "power", level, domain: below.join("/") || siteName, watts }];
}

/** The site of an additional pool in the form of the API, if it is new. */
export function addedSites({ pool }: Change): NonNullable<WhatIfQuestionInput["addSites"]> {
  if (!isWhole(pool) || typeof pool.site === "string") return [];
  const fabricLevels = pool.site.levels.split(",").map((level) => level.trim());
  return [{ name: pool.site.name.trim(), fabricLevels: fabricLevels.filter((level) => level !== "") }];
}

/** Additional pools in the format of the API. */
export function addedPools({ pool }: Change, pools: readonly string[]): NonNullable<WhatIfQuestionInput["addPools"]> {
  if (!isWhole(pool)) return [];
  const acceleratorType = pool.acceleratorType.trim();
  const base = acceleratorType.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  let name = base;
  for (let copy = 2; pools.includes(name); copy++) name = `${base}-${copy}`;
  const site = typeof pool.site === "string" ? pool.site : pool.site.name.trim();
  return [{ ...pool, site, acceleratorType, name }];
}

/** Nodes that can be removed or copied: those that are up, in the order of their names. */
const usable = (nodes: readonly Node[], pool: string): readonly Node[] =>
  nodes
    .filter((node) => node.pool === pool && node.health === "up")
    .toSorted((left, right) => (left.id < right.id ? -1 : 1));

export const usableCount = (nodes: readonly Node[], pool: string): number => usable(nodes, pool).length;

const PATH_SIGN = " / ";
const LABEL_SIGN = " = ";
const domainName = (parts: readonly string[]): string => parts.join(PATH_SIGN);

/** Sites, every domain of their fabrics, and label values that several nodes share, such as racks and power feeds. */
export function domainsOf(nodes: readonly Node[]): readonly string[] {
  const domains = new Set<string>();
  const nodeCounts = new Map<string, number>();
  for (const { site, fabric, labels } of nodes) {
    for (const [depth] of [site, ...fabric].entries()) domains.add(domainName([site, ...fabric].slice(0, depth + 1)));
    for (const name of labelDomains(labels)) nodeCounts.set(name, (nodeCounts.get(name) ?? 0) + 1);
  }
  const shared = [...nodeCounts].filter(([, count]) => count > 1).map(([name]) => name);
  return [...[...domains].toSorted(), ...shared.toSorted()];
}

const labelDomains = (labels: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(labels).map(([key, value]) => `${key}${LABEL_SIGN}${value}`);

function nodesIn(nodes: readonly Node[], domain: string): readonly Node[] {
  return nodes.filter(({ site, fabric, labels, health }) => {
    const name = domainName([site, ...fabric]);
    const isInside =
      name === domain || name.startsWith(`${domain}${PATH_SIGN}`) || labelDomains(labels).includes(domain);
    return health === "up" && isInside;
  });
}

/** Changes of nodes by pool. The last nodes are removed first. */
export function nodeChanges(
  { nodes: wanted, lost }: Change,
  nodes: readonly Node[],
): Pick<WhatIfQuestionInput, "addNodes" | "loseNodes"> {
  const addNodes: { like: string; count: number }[] = [];
  const loseNodes = lost === null ? [] : nodesIn(nodes, lost).map(({ id }) => id);
  for (const [pool, count] of Object.entries(wanted)) {
    const there = usable(nodes, pool).filter(({ id }) => !loseNodes.includes(id));
    const [first] = there;
    if (count > 0 && first !== undefined) addNodes.push({ like: first.id, count });
    if (count < 0) loseNodes.push(...there.slice(count).map(({ id }) => id));
  }
  return { addNodes, loseNodes };
}

/** Team definitions that contain the change. */
export function teamChanges({ teams: wanted }: Change, teams: readonly Team[]): TeamSpec[] {
  return teams.flatMap((team) => {
    const change = wanted[team.name];
    if (change === undefined) return [];
    const spec = specOf(team);
    return [
      {
        ...spec,
        ...(change.weight === undefined ? {} : { weight: change.weight }),
        limit: merged(spec.limit, change.limit),
        guarantee: merged(spec.guarantee ?? {}, change.guarantee),
      },
    ];
  });
}

/** A team's definition, without its reported usage. */
const specOf = (team: Team): TeamSpec => teamSpec.strip().parse(team);

function merged(
  amounts: Readonly<Record<string, number>>,
  changes: Readonly<Record<string, number | null>>,
): Record<string, number> {
  const result: Record<string, number> = { ...amounts };
  for (const [resource, amount] of Object.entries(changes)) {
    if (amount === null) delete result[resource];
    else result[resource] = amount;
  }
  return result;
}

/** Value of a number field: a whole number, `null` if empty, `undefined` if invalid. */
export function fieldNumber(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
