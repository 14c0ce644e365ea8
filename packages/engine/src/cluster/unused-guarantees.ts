/**
 * Unused guarantees. A team's unused guarantee is the part of its guarantee above its non-preemptible usage. It is at
 * least the sum of the unused guarantees of the teams below it. Preemptible work does not use a guarantee up: above its
 * team's guarantee it can be reclaimed, and within it the guarantee is kept. Resources are independent; a guarantee of
 * types counts in the total too.
 */
import { reservedAt } from "./stated-guarantees.ts";
import type { FamilyAt } from "./stated-guarantees.ts";
import type { TeamNode } from "./team-node.ts";

/**
 * Non-preemptible usage plus unused guarantees of the fleet, at one resource position, if an amount of non-preemptible
 * work is added. `more`: this amount.
 */
export interface Commitment {
  readonly position: number;
  readonly committed: number;
  readonly more: number;
}

export class UnusedGuarantees {
  /** Positions of the resources of which any team states a guarantee. */
  #positions: readonly number[] = [];
  #roots: readonly TeamNode[] = [];
  /**
   * By team: the unused guarantees of the teams directly below it, summed, in the order of `#positions`. The key `null`
   * has the sum of the teams without a parent.
   */
  readonly #below = new Map<TeamNode | null, readonly number[]>();
  /** By team: the amounts that its own guarantee keeps available, in the order of `#positions`. */
  readonly #reserved = new Map<TeamNode, readonly number[]>();

  /** Reads changed team definitions. `positions`: the resource positions by which teams are compared. */
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

  /** Must be called after every change of the team's non-preemptible usage. */
  changed({ parent }: TeamNode): void {
    if (this.#below.size === 0) return;
    for (let at = parent; at !== null; at = at.parent) this.#below.delete(at);
    this.#below.delete(null);
  }

  clear(): void {
    this.#below.clear();
  }

  /**
   * The commitments that grow if this amount of non-preemptible work of a team is added. A commitment does not grow if
   * unused guarantees shrink by the whole amount. `amountAt`: the amount by position.
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
      // If the whole amount is within guarantees, the unused guarantees shrink by the whole amount.
      if (unused === 0 || before - after === more) continue;
      const used = this.#roots.reduce((sum, root) => sum + (root.fixed[position] ?? 0), 0);
      yield { position, committed: used + more + unused, more };
    }
  }

  /**
   * Like `raisedBy`, but as if no other work ran. These are the smallest possible commitments under the present
   * guarantees.
   */
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

  /** Unused part of the team's own guarantee. Negative if its non-preemptible usage exceeds the guarantee. */
  #left(node: TeamNode, index: number): number {
    return this.#reservedOf(node, index) - (node.fixed[this.#positions[index] as number] ?? 0);
  }
}
