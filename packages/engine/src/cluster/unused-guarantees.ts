/**
 * Unused guarantees: the part of a team's guarantee above its non-preemptible usage, and at least what the teams below
 * it leave unused. Preemptible work does not use a guarantee up: above its team's guarantee it can be reclaimed, and
 * within it the guarantee is kept. Resources are independent; a guarantee of types counts in the total too.
 */
import { reservedAt } from "./stated-guarantees.ts";
import type { FamilyAt } from "./stated-guarantees.ts";
import type { TeamNode } from "./team-node.ts";

/** Non-preemptible usage and unused guarantees of the fleet at one resource position, with an amount added. */
export interface Commitment {
  readonly position: number;
  readonly committed: number;
  readonly more: number;
}

export class UnusedGuarantees {
  /** Resource positions of which any team states a guarantee. */
  #positions: readonly number[] = [];
  #roots: readonly TeamNode[] = [];
  /** Unused guarantees of the teams directly below one; `null`: of the teams without a parent. By `#positions`. */
  readonly #below = new Map<TeamNode | null, readonly number[]>();
  /** Amounts that each team's own guarantee keeps available, by `#positions`. */
  readonly #reserved = new Map<TeamNode, readonly number[]>();

  /** Reads changed team definitions. `positions`: those by which teams are compared. */
  refresh(nodes: Iterable<TeamNode>, positions: readonly number[], familyAt: FamilyAt): void {
    const all = [...nodes];
    this.#roots = all.filter(({ parent }) => parent === null);
    this.#positions = positions.filter((at) => all.some((node) => reservedAt(node, at, familyAt) > 0));
    this.#reserved.clear();
    for (const node of all)
      this.#reserved.set(
        node,
        this.#positions.map((at) => reservedAt(node, at, familyAt)),
      );
    this.#below.clear();
  }

  /** Has to be called after every change of the team's non-preemptible usage. */
  changed({ parent }: TeamNode): void {
    if (this.#below.size === 0) return;
    for (let at = parent; at !== null; at = at.parent) this.#below.delete(at);
    this.#below.delete(null);
  }

  clear(): void {
    this.#below.clear();
  }

  /**
   * The commitments that this amount of non-preemptible work of a team would raise above its share of the guarantees;
   * `amountAt`: the amount by position.
   */
  *raisedBy(node: TeamNode, amountAt: (position: number) => number): Generator<Commitment> {
    for (const [index, position] of this.#positions.entries()) {
      const more = amountAt(position);
      if (more === 0) continue;
      let before = this.#unused(node, index);
      let after = Math.max(this.#left(node, index) - more, this.#unusedBelow(node)[index] as number);
      for (let at = node.parent; at !== null; at = at.parent) {
        const below = this.#unusedBelow(at)[index] as number;
        const changed = below - before + after;
        before = Math.max(this.#left(at, index), below);
        after = Math.max(this.#left(at, index) - more, changed);
      }
      const unused = (this.#unusedBelow(null)[index] as number) - before + after;
      // Within a guarantee the unused part falls by the whole amount.
      if (unused === 0 || before - after === more) continue;
      const used = this.#roots.reduce((sum, root) => sum + (root.fixed[position] ?? 0), 0);
      yield { position, committed: used + more + unused, more };
    }
  }

  /** Like `raisedBy`, as if no other work ran: the least that these commitments can be while the guarantees stand. */
  *leastRaisedBy(node: TeamNode, amountAt: (position: number) => number): Generator<Commitment> {
    const line = new Set<TeamNode>();
    for (let at: TeamNode | null = node; at !== null; at = at.parent) line.add(at);
    for (const [index, position] of this.#positions.entries()) {
      const more = amountAt(position);
      if (more === 0) continue;
      const unusedIn = (nodes: readonly TeamNode[], added: number): number =>
        nodes.reduce((sum, each) => {
          const rest = this.#reservedOf(each, index) - (line.has(each) ? added : 0);
          return sum + Math.max(rest, unusedIn(each.children, added));
        }, 0);
      const unused = unusedIn(this.#roots, more);
      if (unused === 0 || unusedIn(this.#roots, 0) - unused === more) continue;
      yield { position, committed: more + unused, more };
    }
  }

  #unused(node: TeamNode, index: number): number {
    return Math.max(this.#left(node, index), this.#unusedBelow(node)[index] as number);
  }

  #unusedBelow(above: TeamNode | null): readonly number[] {
    const known = this.#below.get(above);
    if (known !== undefined) return known;
    const nodes = above === null ? this.#roots : above.children;
    const sums = this.#positions.map((_, index) => nodes.reduce((sum, node) => sum + this.#unused(node, index), 0));
    this.#below.set(above, sums);
    return sums;
  }

  #reservedOf(node: TeamNode, index: number): number {
    return this.#reserved.get(node)?.[index] ?? 0;
  }

  /** Unused part of the team's own guarantee; negative: its non-preemptible usage exceeds it. */
  #left(node: TeamNode, index: number): number {
    return this.#reservedOf(node, index) - (node.fixed[this.#positions[index] as number] ?? 0);
  }
}
