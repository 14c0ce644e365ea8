/**
 * Failure domains of the recorded topology: sites, pools, switches (domains of the fabric) and labels of nodes such as
 * racks and power feeds. A domain is named alone (`leaf-2`), or with its level if the name alone is ambiguous
 * (`rack=r7`).
 */
import { failureDomainsOf } from "@headroom/model";
import type { FailureDomainNodes as Domain, NodeId, NodeSpec, Pool, Site } from "@headroom/model";
import { nearestName, refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";

export interface DomainName {
  /** `node`, `site`, `pool`, a level of the fabric, or the key of a label; absent: any of these. */
  readonly level?: string | undefined;
  /** Name of the domain. For a domain of the fabric, the end of its path is enough: `spine-1/leaf-2`. */
  readonly name: string;
}

/** The fleet whose domains are named: the state of an engine, or a declared fleet. */
export interface NamedFleet {
  readonly nodes: ReadonlyMap<NodeId, NodeSpec>;
  readonly pools: ReadonlyMap<string, Pool>;
  readonly sites: ReadonlyMap<string, Site>;
}

/** Maximum number of names that a refusal lists. */
const NAMES_SHOWN_MAX = 12;

/**
 * Ids of the nodes in the domains, each once, in the order in which nodes joined. Throws `unknownDomain` with the
 * nearest names.
 */
export function nodesOfDomains(fleet: NamedFleet, wanted: readonly DomainName[]): readonly NodeId[] {
  if (wanted.length === 0) return [];
  const domains = domainsOf(fleet);
  const lost = new Set(wanted.flatMap((each) => domainNamed(domains, each).nodes));
  return [...fleet.nodes.keys()].filter((id) => lost.has(id));
}

/** An executor is no failure domain that a user names: its silence loses no node. */
const domainsOf = ({ nodes, pools, sites }: NamedFleet): readonly Domain[] =>
  failureDomainsOf({ nodes: nodes.values(), pools, sites }).filter(({ level }) => level !== "executor");

function domainNamed(domains: readonly Domain[], { level, name }: DomainName): Domain {
  const ofLevel = level === undefined ? domains : domains.filter((each) => each.level === level);
  const path = name.split("/").map((part) => part.trim());
  const found = ofLevel.filter((each) => isNamed(each, name, path));
  const [first] = found;
  if (first === undefined) throw unknown(domains, ofLevel, { level, name });
  // A node's id has precedence over other things of the same name. Domains with the same nodes are one failure.
  const node = found.find((each) => each.level === "node");
  if (node !== undefined) return node;
  if (found.every((each) => isSameNodes(each, first))) return first;
  const candidates = found.map(text);
  throw refuse(
    "unknownDomain",
    `${name} names ${found.length} failure domains: ${listed(candidates)}. Choose one of them.`,
  );
}

const isNamed = (domain: Domain, name: string, path: readonly string[]): boolean =>
  domain.path.at(-1) === name ||
  (path.length <= domain.path.length && path.every((part, index) => domain.path.at(index - path.length) === part));

const isSameNodes = (one: Domain, other: Domain): boolean =>
  one.nodes.length === other.nodes.length && one.nodes.every((id, index) => other.nodes[index] === id);

const text = ({ level, path }: Domain): string => `${level}=${path.join("/")}`;

function unknown(domains: readonly Domain[], ofLevel: readonly Domain[], { level, name }: DomainName): ProblemError {
  if (level !== undefined && ofLevel.length === 0) {
    const levels = [...new Set(domains.map((each) => each.level))];
    const nearest = nearestName(level, levels);
    const hint = nearest === undefined ? `the levels are ${listed(levels)}` : `did you mean ${nearest}?`;
    return refuse("unknownDomain", `The fleet has no level ${level} of failure domains; ${hint}`);
  }
  const names = [...new Set(ofLevel.map(({ path }) => path.at(-1) ?? ""))];
  const nearest = nearestName(name, names);
  const what = level === undefined ? "node, site, pool, switch or label value" : level;
  const hint = nearest === undefined ? `there are ${listed(names)}` : `did you mean ${nearest}?`;
  return refuse("unknownDomain", `There is no ${what} ${name}; ${hint}`);
}

const listed = (names: readonly string[]): string =>
  names.length <= NAMES_SHOWN_MAX
    ? names.join(", ")
    : `${names.slice(0, NAMES_SHOWN_MAX).join(", ")} and ${names.length - NAMES_SHOWN_MAX} more`;
