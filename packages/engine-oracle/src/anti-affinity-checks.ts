/** Checks anti-affinity from attempts and nominations alone. */
import type { AntiAffinityFrom, AntiAffinitySpec, GangSpec, Node, NodeId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { specOf } from "./held-by-team.ts";

/** A placed or nominated gang: its nodes and its anti-affinity terms. */
interface Present {
  readonly who: string;
  readonly antiAffinity: AntiAffinitySpec;
  readonly nodes: ReadonlySet<NodeId>;
}

const NOTHING_SAID: AntiAffinitySpec = {};

/** All gangs that have workers, with those whose workers are terminating. */
const running = (state: ReadonlyState): Present[] =>
  [...state.attempts.values()].map((attempt) => ({
    who: attempt.id,
    antiAffinity: specOf(state, attempt)?.gang.antiAffinity ?? NOTHING_SAID,
    nodes: new Set([...attempt.workers, ...(attempt.terminating ?? [])].map(({ node }) => node)),
  }));

const nominated = (state: ReadonlyState): Present[] =>
  [...state.nominations.values()].map((nomination) => ({
    who: nomination.attemptId,
    antiAffinity: specOf(state, nomination)?.gang.antiAffinity ?? NOTHING_SAID,
    nodes: new Set(nomination.workers.map(({ node }) => node)),
  }));

export function checkAntiAffinity(findings: Findings, state: ReadonlyState): void {
  for (const all of [running(state), nominated(state)]) {
    all.forEach((one, at) => {
      for (const other of all.slice(at + 1)) {
        if (one.antiAffinity === NOTHING_SAID && other.antiAffinity === NOTHING_SAID) continue;
        const meets = [...one.nodes].some((node) => isTooNear(state, one, { ...other, node }));
        findings.expect(!meets, () => `${one.who} and ${other.who} lie too near to each other`);
      }
    });
  }
}

/** Nodes on which a gang could start beside all placed and nominated work. */
export function openNodes(state: ReadonlyState, { antiAffinity = NOTHING_SAID }: GangSpec): (node: Node) => boolean {
  const others = [...running(state), ...nominated(state)];
  const isHeard = antiAffinity !== NOTHING_SAID || others.some((other) => other.antiAffinity !== NOTHING_SAID);
  return ({ id }) =>
    !isHeard ||
    others.every((other) => !isTooNear(state, { antiAffinity, nodes: new Set([id]) }, { ...other, node: id }));
}

interface Beside extends Pick<Present, "antiAffinity" | "nodes"> {
  readonly node: NodeId;
}

function isTooNear(
  state: ReadonlyState,
  one: Pick<Present, "antiAffinity" | "nodes">,
  { antiAffinity, nodes, node }: Beside,
): boolean {
  const rules = [...rulesAgainst(one.antiAffinity, antiAffinity), ...rulesAgainst(antiAffinity, one.antiAffinity)];
  const isAlone = one.antiAffinity.exclusive === true || antiAffinity.exclusive === true;
  return [...nodes].some(
    (other) =>
      (isAlone && other === node) || rules.some((rule) => domainOf(state, rule, other) === domainOf(state, rule, node)),
  );
}

const rulesAgainst = ({ from = [] }: AntiAffinitySpec, { sets = [] }: AntiAffinitySpec): readonly AntiAffinityFrom[] =>
  from.filter(({ set }) => sets.includes(set));

function domainOf(state: ReadonlyState, rule: AntiAffinityFrom, id: NodeId): string {
  const node = state.nodes.get(id);
  if ("topologyKey" in rule) return node?.labels?.[rule.topologyKey] ?? `node ${id}`;
  const site = node === undefined ? undefined : state.sites.get(state.pools.get(node.pool)?.site as never);
  const depth = site?.fabricLevels.indexOf(rule.within) ?? -1;
  return depth < 0 ? `node ${id}` : JSON.stringify([site?.name, ...(node?.fabric.slice(0, depth + 1) ?? [])]);
}
