/** The addresses of declared sources, from the nodes and replicas that exist now. */
import type { MetricSource, PrometheusQuery } from "./declaration.ts";

export interface SourceNode {
  readonly id: string;
  readonly pool: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface SourceReplica {
  /** Id of the workload. */
  readonly endpoint: string;
  readonly attempt: string;
  /** URL without a path. */
  readonly url: string;
}

export interface MetricTarget {
  readonly source: string;
  readonly kind: "exposition" | "query";
  readonly url: string;
  /** Node that the target's readings are about; `null`: none. */
  readonly node: string | null;
  /** Workload of the endpoint of which the target is a replica; `null`: none. */
  readonly endpoint: string | null;
  /** Name of the replica in series; `null`: the target is none. */
  readonly replica: string | null;
  readonly query: PrometheusQuery | null;
}

/** A target that cannot be read, and why. */
export interface RefusedTarget {
  readonly source: string;
  readonly subject: string;
  readonly problem: string;
}

export interface Expansion {
  readonly targets: readonly MetricTarget[];
  readonly refused: readonly RefusedTarget[];
}

/** Maximum number of targets of a control plane: one for each of 20,000 nodes. */
const TARGETS_MAX = 20_000;

const none = { node: null, endpoint: null, replica: null, query: null } as const;

export function expandTargets(
  sources: readonly MetricSource[],
  nodes: readonly SourceNode[],
  replicas: readonly SourceReplica[],
): Expansion {
  const targets: MetricTarget[] = [];
  const refused: RefusedTarget[] = [];
  const add = (target: Omit<MetricTarget, "kind">, subject: string): void => {
    const problem = addressProblem(target.url);
    if (problem !== null) refused.push({ source: target.source, subject, problem });
    else if (targets.length >= TARGETS_MAX)
      refused.push({ source: target.source, subject, problem: `there are more than ${TARGETS_MAX} targets` });
    else targets.push({ ...target, kind: target.query === null ? "exposition" : "query" });
  };
  for (const source of sources) {
    if (source.type === "scrape") {
      for (const { url, node = null, endpoint = null } of source.targets)
        add(
          { ...none, source: source.name, url, node, endpoint, replica: endpoint === null ? null : hostOf(url) },
          url,
        );
      for (const node of chosenNodes(source, nodes)) {
        const filled = filledIn(source.address ?? "", node);
        if ("problem" in filled) refused.push({ source: source.name, subject: node.id, problem: filled.problem });
        else add({ ...none, source: source.name, url: filled.url, node: node.id }, node.id);
      }
    }
    if (source.type === "replicas")
      for (const { endpoint, attempt, url } of replicas)
        if (source.endpoints.length === 0 || source.endpoints.includes(endpoint))
          add({ ...none, source: source.name, url: url + source.path, endpoint, replica: attempt }, attempt);
    if (source.type === "prometheus")
      for (const query of source.queries) add({ ...none, source: source.name, url: source.url, query }, query.value);
  }
  return { targets, refused };
}

type Scrape = Extract<MetricSource, { type: "scrape" }>;

const chosenNodes = ({ address, pool, nodeLabels }: Scrape, nodes: readonly SourceNode[]): readonly SourceNode[] =>
  address === undefined
    ? []
    : nodes.filter(
        (node) =>
          (pool === undefined || node.pool === pool) &&
          Object.entries(nodeLabels).every(([name, value]) => node.labels?.[name] === value),
      );

/** Text of a host name or an IPv4 address. Labels of nodes come from executors, and must not change the rest of the URL. */
const HOST_TEXT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})$/;

function filledIn(
  template: string,
  { id, labels = {} }: SourceNode,
): { readonly url: string } | { readonly problem: string } {
  let problem: string | null = null;
  const url = template.replace(/\{(?:node|label\.([^{}]+))\}/g, (_, label: string | undefined) => {
    const value = label === undefined ? id : labels[label];
    if (value === undefined) problem ??= `the node has no label ${label}`;
    else if (!HOST_TEXT.test(value))
      problem ??= `${label === undefined ? "its id" : `its label ${label}`} is no host name`;
    return value ?? "";
  });
  return problem === null ? { url } : { problem };
}

export const hostOf = (url: string): string => /^https?:\/\/([^\s/?#]*)/.exec(url)?.[1] ?? "";

/** The part of the platform's URL parser that is used here. */
declare const URL: { canParse(url: string): boolean; new (url: string): { readonly hostname: string } };

/** Why an address is never read: services that give machines their credentials have link-local addresses. */
export function addressProblem(url: string): string | null {
  if (hostOf(url) === "" || hostOf(url).includes("@") || !URL.canParse(url)) return "the address has no host";
  // The parser gives the address that is connected to: 2852039166 and 0xa9.254.43518 are names of 169.254.169.254.
  const host = new URL(url).hostname.replace(/\.$/, "");
  return isLinkLocal(host) || host === "metadata.google.internal"
    ? "link-local addresses are not read: there machines get their credentials"
    : null;
}

/** Whether an IP address, with or without brackets, is link-local, or the unique local one of the same service in IPv6. */
export const isLinkLocal = (address: string): boolean =>
  /^\[?(?:::ffff:)?169\.254\./.test(address) ||
  /^\[?(?:::ffff:|64:ff9b::)a9fe:/i.test(address) ||
  /^\[?fd00:ec2::254\]?$/i.test(address) ||
  /^\[?fe[89ab][0-9a-f]:/i.test(address);
