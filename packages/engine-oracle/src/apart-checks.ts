/** Whether work that keeps away from other work does, counted from attempts and promises alone. */
import type { ApartFrom, ApartSpec, Findings, GangSpec, Node, NodeId, ReadonlyState } from "@headroom/engine/internals";
import { specOf } from "./held-by-team.ts";

/** Somebody with a place: where, and what is said of whom it lies beside. */
interface Present {
  readonly who: string;
  readonly apart: ApartSpec;
  readonly nodes: ReadonlySet<NodeId>;
}

const NOTHING_SAID: ApartSpec = {};

/** Who has workers, those that were asked to leave among them. */
const running = (state: ReadonlyState): Present[] =>
  [...state.attempts.values()].map((attempt) => ({
    who: attempt.id,
    apart: specOf(state, attempt)?.gang.apart ?? NOTHING_SAID,
    nodes: new Set([...attempt.workers, ...(attempt.leaving ?? [])].map(({ node }) => node)),
  }));

const promised = (state: ReadonlyState): Present[] =>
  [...state.promises.values()].map((promise) => ({
    who: promise.attemptId,
    apart: specOf(state, promise)?.gang.apart ?? NOTHING_SAID,
    nodes: new Set(promise.workers.map(({ node }) => node)),
  }));

export function checkApart(findings: Findings, state: ReadonlyState): void {
  for (const all of [running(state), promised(state)]) {
    all.forEach((one, at) => {
      for (const other of all.slice(at + 1)) {
        if (one.apart === NOTHING_SAID && other.apart === NOTHING_SAID) continue;
        const meets = [...one.nodes].some((node) => isTooNear(state, one, { ...other, node }));
        findings.expect(!meets, () => `${one.who} and ${other.who} lie too near to each other`);
      }
    });
  }
}

/** Nodes on which a gang could start beside everybody who has a place or is promised one. */
export function openNodes(state: ReadonlyState, { apart = NOTHING_SAID }: GangSpec): (node: Node) => boolean {
  const others = [...running(state), ...promised(state)];
  const isHeard = apart !== NOTHING_SAID || others.some((other) => other.apart !== NOTHING_SAID);
  return ({ id }) =>
    !isHeard || others.every((other) => !isTooNear(state, { apart, nodes: new Set([id]) }, { ...other, node: id }));
}

interface Beside extends Pick<Present, "apart" | "nodes"> {
  /** A node of the first. */
  readonly node: NodeId;
}

function isTooNear(
  state: ReadonlyState,
  one: Pick<Present, "apart" | "nodes">,
  { apart, nodes, node }: Beside,
): boolean {
  const rules = [...rulesAgainst(one.apart, apart), ...rulesAgainst(apart, one.apart)];
  const isAlone = one.apart.alone === true || apart.alone === true;
  return [...nodes].some(
    (other) =>
      (isAlone && other === node) || rules.some((rule) => domainOf(state, rule, other) === domainOf(state, rule, node)),
  );
}

const rulesAgainst = ({ from = [] }: ApartSpec, { sets = [] }: ApartSpec): readonly ApartFrom[] =>
  from.filter(({ set }) => sets.includes(set));

function domainOf(state: ReadonlyState, rule: ApartFrom, id: NodeId): string {
  const node = state.nodes.get(id);
  if ("over" in rule) return node?.labels?.[rule.over] ?? `node ${id}`;
  const site = node === undefined ? undefined : state.sites.get(state.pools.get(node.pool)?.site as never);
  const depth = site?.fabricLevels.indexOf(rule.within) ?? -1;
  return depth < 0 ? `node ${id}` : JSON.stringify([site?.name, ...(node?.fabric.slice(0, depth + 1) ?? [])]);
}
