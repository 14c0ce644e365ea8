/**
 * Capacity that teams may borrow: the quota tree of `quota/tree.ts` over the defined teams, kept up to date with their
 * usage. It exists only while the active policy allows borrowing.
 */
import type { TeamName, Amounts, Team } from "@headroom/model";
import { QuotaTree } from "../quota/tree.ts";
import type { QuotaNode } from "../quota/tree.ts";
import { ACCELERATORS_AT, amountAt, FIRST_TYPE_AT } from "./team-node.ts";
import type { Amount, TeamNode } from "./team-node.ts";

export class QuotaIndex {
  readonly tree: QuotaTree;
  /** Resources of the quota tree, as positions (`team-use.ts`): those for which any team states a guarantee. */
  readonly positions: readonly number[];
  readonly #leaves = new Map<TeamName, number>();

  constructor(nodes: readonly TeamNode[], position: (resource: string) => number) {
    const named = new Set<number>();
    for (const { team } of nodes)
      for (const resource of Object.keys(team.guarantee ?? {})) named.add(position(resource));
    this.positions = [...named].toSorted((left, right) => left - right);
    const list: QuotaNode[] = [];
    const indexOf = new Map<TeamNode, number>();
    for (const node of parentsFirst(nodes)) {
      const parent = node.parent === null ? -1 : (indexOf.get(node.parent) as number);
      indexOf.set(node, list.length);
      this.#leaves.set(node.name, list.length);
      list.push(this.#quotaOf(node.team, parent, position));
    }
    // A team with children runs its own work in a leaf without a quota.
    for (const node of nodes) {
      if (node.children.length === 0) continue;
      this.#leaves.set(node.name, list.length);
      list.push(
        this.#quotaOf(
          { name: node.name, parent: node.name, limit: {}, guarantee: {} },
          indexOf.get(node) as number,
          position,
        ),
      );
    }
    this.tree = new QuotaTree({ kinds: this.positions.map(kindOf), nodes: list });
  }

  #quotaOf(team: Team, parent: number, position: (resource: string) => number): QuotaNode {
    const vector = (amounts: Amounts | undefined, missing: number | null): (number | null)[] => {
      const byPosition = new Map(
        Object.entries(amounts ?? {}).map(([name, amount]) => [position(name), amount] as const),
      );
      return this.positions.map((at) => {
        const amount = byPosition.get(at);
        return amount === undefined ? missing : at >= ACCELERATORS_AT ? Math.round(amount * 1000) : amount;
      });
    };
    return {
      parent,
      guarantee: vector(team.guarantee, 0),
      limit: vector(team.limit, null),
      lendingLimit: vector(team.lendingLimit, null),
      borrowingLimit: vector(team.borrowingLimit, null),
      weightMilli: Math.round((team.weight ?? 1) * 1000),
    };
  }

  /** Index of the tree's node for the team's own work. */
  leaf(team: TeamName): number {
    return this.#leaves.get(team) as number;
  }

  amounts(amount: Amount): number[] {
    return this.positions.map((at) => amountAt(amount, at));
  }

  add(team: TeamName, amount: Amount, sign: 1 | -1): void {
    if (sign === 1) this.tree.add(this.leaf(team), this.amounts(amount));
    else this.tree.remove(this.leaf(team), this.amounts(amount));
  }
}

/**
 * The kind of a resource in the quota tree: all accelerator types are one kind, every other resource is a kind of its
 * own.
 */
const kindOf = (position: number): number => Math.min(position, FIRST_TYPE_AT);

function parentsFirst(nodes: readonly TeamNode[]): TeamNode[] {
  const ordered = nodes.filter(({ parent }) => parent === null);
  for (let index = 0; index < ordered.length; index++) ordered.push(...(ordered[index] as TeamNode).children);
  return ordered;
}
