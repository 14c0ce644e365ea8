/**
 * Arithmetic of the quota tree: the amount that each team may use, that it can borrow, and by which it exceeds its
 * guarantee. Teams and resources are indices, amounts are safe integers (thousandths for divisible resources) in flat
 * arrays, because every decision of a round reads them: adding or removing usage allocates nothing and touches only the
 * affected ancestors. A team's guarantee plus its children's lendable quota is its subtree quota. Quota that it does
 * not lend stays local: usage is covered by local quota first, and only the excess counts in the parent. Only leaves
 * hold work; if a team with children runs its own work, the caller adds a leaf for it.
 */
import { invariant, InvariantError, compareProducts } from "@headroom/model";
import type { Share } from "./share.ts";

/** Represents an unbounded guarantee; sums saturate here. Real amounts are far smaller. */
export const UNLIMITED: number = Number.MAX_SAFE_INTEGER;

export interface QuotaNode {
  /** The index of the parent, which is an earlier node, or -1 for a root. There may be several roots. */
  readonly parent: number;
  /** The team's own guarantee, by resource; null if it is unbounded. */
  readonly guarantee: readonly (number | null)[];
  /** Maximum usage of the team and all teams below it, by resource; null if there is no limit. */
  readonly limit: readonly (number | null)[];
  /**
   * The part of the team's subtree quota that other teams may borrow, by resource; null if they may borrow all of it.
   */
  readonly lendingLimit: readonly (number | null)[];
  /** Maximum usage beyond the team's subtree quota, by resource; null if there is no limit. */
  readonly borrowingLimit: readonly (number | null)[];
  readonly weightMilli: number;
}

export interface QuotaSpec {
  /**
   * The kind of each resource, numbered from 0. A share adds up the resources of one kind, so that borrowing two types
   * of accelerators counts as borrowing accelerators.
   */
  readonly kinds: readonly number[];
  readonly nodes: readonly QuotaNode[];
}

export class QuotaTree {
  readonly nodeCount: number;
  readonly resourceCount: number;
  readonly #kinds: readonly number[];
  readonly #kindCount: number;
  readonly #parents: Int32Array;
  readonly #children: readonly (readonly number[])[];
  readonly #weightsMilli: Float64Array;
  /** These arrays are indexed by `node * resourceCount + resource`. */
  readonly #guarantee: Float64Array;
  readonly #limit: Float64Array;
  readonly #borrowingLimit: Float64Array;
  readonly #subtreeQuota: Float64Array;
  readonly #localQuota: Float64Array;
  /** The part of the node's subtree quota that counts in its parent's subtree quota. */
  readonly #lent: Float64Array;
  readonly #potential: Float64Array;
  /**
   * Usage that is charged to the subtree quota. A leaf is charged its own usage. Any other node is charged the usage of
   * its children beyond their local quotas.
   */
  readonly #usage: Float64Array;
  readonly #held: Float64Array;
  /**
   * Capacity of the node when no work runs, summed over the resources of a kind. The index is `node * kindCount +
   * kind`.
   */
  readonly #lendable: Float64Array;
  /** Buffer of `shareOf`: the borrowed amount by kind. */
  readonly #borrowedOfKind: Float64Array;

  constructor(spec: QuotaSpec) {
    const { nodes, kinds } = spec;
    this.nodeCount = nodes.length;
    this.resourceCount = kinds.length;
    this.#kinds = kinds;
    this.#kindCount = kinds.reduce((most, kind) => Math.max(most, kind + 1), 0);
    this.#parents = Int32Array.from(nodes, (node) => node.parent);
    this.#weightsMilli = Float64Array.from(nodes, (node) => node.weightMilli);
    this.#children = childrenOfAll(nodes);
    this.#guarantee = this.#flat(nodes.map((node) => node.guarantee));
    this.#limit = this.#flat(nodes.map((node) => node.limit));
    this.#borrowingLimit = this.#flat(nodes.map((node) => node.borrowingLimit));
    this.#subtreeQuota = Float64Array.from(this.#guarantee);
    this.#localQuota = new Float64Array(this.#guarantee.length);
    this.#lent = new Float64Array(this.#guarantee.length);
    this.#potential = new Float64Array(this.#guarantee.length);
    this.#usage = new Float64Array(this.#guarantee.length);
    this.#held = new Float64Array(this.#guarantee.length);
    this.#lendable = new Float64Array(this.nodeCount * this.#kindCount);
    this.#borrowedOfKind = new Float64Array(this.#kindCount);
    this.#sumUp(this.#flat(nodes.map((node) => node.lendingLimit)));
    this.#spreadDown();
  }

  parentOf(node: number): number {
    return this.#parents[node] as number;
  }

  childrenOf(node: number): readonly number[] {
    return this.#children[node] as readonly number[];
  }

  rootOf(node: number): number {
    let at = node;
    for (let parent = this.parentOf(at); parent >= 0; parent = this.parentOf(at)) at = parent;
    return at;
  }

  guarantee(node: number, resource: number): number {
    return this.#guarantee[node * this.resourceCount + resource] as number;
  }

  subtreeQuota(node: number, resource: number): number {
    return this.#subtreeQuota[node * this.resourceCount + resource] as number;
  }

  /** The part of the node's subtree quota that is never lent. */
  localQuota(node: number, resource: number): number {
    return this.#localQuota[node * this.resourceCount + resource] as number;
  }

  usage(node: number, resource: number): number {
    return this.#usage[node * this.resourceCount + resource] as number;
  }

  held(node: number, resource: number): number {
    return this.#held[node * this.resourceCount + resource] as number;
  }

  /** Local quota that is not used. Usage up to this amount is not charged to the parent. */
  localAvailable(node: number, resource: number): number {
    const at = node * this.resourceCount + resource;
    return Math.max(0, minus(this.#localQuota[at] as number, this.#usage[at] as number));
  }

  /**
   * The amount that the node may use in addition. It is negative if quotas or limits were lowered below usage. At each
   * level it is the unused local quota, plus the amount available in the parent, up to the borrowing limit.
   */
  available(node: number, resource: number): number {
    let available = UNLIMITED;
    let local = 0;
    for (let at = node; at >= 0; at = this.#parents[at] as number) {
      const index = at * this.resourceCount + resource;
      const usage = this.#usage[index] as number;
      available = Math.min(available, minus(this.#limit[index] as number, this.#held[index] as number));
      if ((this.#parents[at] as number) < 0) {
        return Math.min(available, plus(local, minus(this.#subtreeQuota[index] as number, usage)));
      }
      const localQuota = this.#localQuota[index] as number;
      local = plus(local, Math.max(0, minus(localQuota, usage)));
      const usedOfParent = Math.max(0, usage - localQuota);
      const mostOfParent = plus(
        minus(this.#lent[index] as number, usedOfParent),
        this.#borrowingLimit[index] as number,
      );
      available = Math.min(available, plus(local, mostOfParent));
    }
    return available;
  }

  potentialAvailable(node: number, resource: number): number {
    return this.#potential[node * this.resourceCount + resource] as number;
  }

  /**
   * Whether the node may use these amounts in addition. An amount of 0 always fits, even where usage exceeds the quota.
   */
  hasRoomFor(node: number, amounts: readonly number[]): boolean {
    for (let resource = 0; resource < this.resourceCount; resource++) {
      const amount = amounts[resource] as number;
      if (amount > 0 && amount > this.available(node, resource)) return false;
    }
    return true;
  }

  /** Whether the node would stay inside its subtree quota of each given resource if these amounts were added. */
  isWithinQuotaWith(node: number, amounts: readonly number[], resources: readonly number[]): boolean {
    const row = node * this.resourceCount;
    for (const resource of resources) {
      const usage = (this.#usage[row + resource] as number) + (amounts[resource] as number);
      if (usage > (this.#subtreeQuota[row + resource] as number)) return false;
    }
    return true;
  }

  /** Whether the node uses more than its subtree quota of one of the resources. */
  isBeyondQuotaIn(node: number, resources: readonly number[]): boolean {
    const row = node * this.resourceCount;
    for (const resource of resources) {
      if ((this.#usage[row + resource] as number) > (this.#subtreeQuota[row + resource] as number)) return true;
    }
    return false;
  }

  /**
   * The amount by which the node exceeds its subtree quota, for the kind of resource with the largest relative excess.
   * A root has no share.
   */
  shareOf(node: number): Share {
    const parent = this.#parents[node] as number;
    const weightMilli = this.#weightsMilli[node] as number;
    const isBorrowing = parent >= 0 && this.#sumBorrowed(node);
    if (!isBorrowing) return { borrowed: 0, lendable: 1, weightMilli, isBorrowing };
    let borrowed = 0;
    let lendable = 1;
    for (let kind = 0; kind < this.#kindCount; kind++) {
      const ofKind = this.#borrowedOfKind[kind] as number;
      const lendableOfKind = this.#lendable[parent * this.#kindCount + kind] as number;
      // A kind of resource that the parent cannot lend is irrelevant for fairness.
      if (ofKind === 0 || lendableOfKind === 0) continue;
      if (borrowed > 0 && compareProducts([ofKind, lendable, 1], [borrowed, lendableOfKind, 1]) <= 0) continue;
      borrowed = ofKind;
      lendable = lendableOfKind;
    }
    return { borrowed, lendable, weightMilli, isBorrowing };
  }

  add(node: number, amounts: readonly number[]): void {
    for (let resource = 0; resource < this.resourceCount; resource++) {
      const amount = amounts[resource] as number;
      if (amount !== 0) this.#add(node, resource, amount);
    }
  }

  remove(node: number, amounts: readonly number[]): void {
    for (let resource = 0; resource < this.resourceCount; resource++) {
      const amount = amounts[resource] as number;
      if (amount !== 0) this.#remove(node, resource, amount);
    }
  }

  #add(node: number, resource: number, amount: number): void {
    let rising = amount;
    for (let at = node; at >= 0; at = this.#parents[at] as number) {
      const index = at * this.resourceCount + resource;
      this.#held[index] = (this.#held[index] as number) + amount;
      if (rising === 0) continue;
      const usage = this.#usage[index] as number;
      this.#usage[index] = usage + rising;
      rising = Math.max(0, rising - Math.max(0, (this.#localQuota[index] as number) - usage));
    }
  }

  #remove(node: number, resource: number, amount: number): void {
    let falling = amount;
    for (let at = node; at >= 0; at = this.#parents[at] as number) {
      const index = at * this.resourceCount + resource;
      const held = (this.#held[index] as number) - amount;
      // Not a call of `invariant`, because the message must be built only when it is needed. This code runs very often.
      if (held < 0) throw new InvariantError(`node ${at} of the quota tree would hold ${held} of resource ${resource}`);
      this.#held[index] = held;
      if (falling === 0) continue;
      const usage = this.#usage[index] as number;
      this.#usage[index] = usage - falling;
      falling = Math.min(falling, Math.max(0, usage - (this.#localQuota[index] as number)));
    }
  }

  /** Fills the buffer with the borrowed amounts by kind. Returns whether the node borrows any resource. */
  #sumBorrowed(node: number): boolean {
    this.#borrowedOfKind.fill(0);
    let isBorrowing = false;
    const row = node * this.resourceCount;
    for (let resource = 0; resource < this.resourceCount; resource++) {
      const borrowed = (this.#usage[row + resource] as number) - (this.#subtreeQuota[row + resource] as number);
      if (borrowed <= 0) continue;
      const kind = this.#kinds[resource] as number;
      this.#borrowedOfKind[kind] = (this.#borrowedOfKind[kind] as number) + borrowed;
      isBorrowing = true;
    }
    return isBorrowing;
  }

  /** Computes subtree and local quotas, from the leaves up. */
  #sumUp(lendingLimit: Float64Array): void {
    for (let node = this.nodeCount - 1; node >= 0; node--) {
      const parent = this.#parents[node] as number;
      for (let resource = 0; resource < this.resourceCount; resource++) {
        const at = node * this.resourceCount + resource;
        const subtreeQuota = this.#subtreeQuota[at] as number;
        const lent = Math.min(subtreeQuota, lendingLimit[at] as number);
        this.#lent[at] = lent;
        // Without a lending limit the local quota is zero, even if the subtree quota is unbounded.
        this.#localQuota[at] = lent === subtreeQuota ? 0 : minus(subtreeQuota, lent);
        if (parent < 0) continue;
        const above = parent * this.resourceCount + resource;
        this.#subtreeQuota[above] = plus(this.#subtreeQuota[above] as number, lent);
      }
    }
  }

  /** Computes the capacity of each node when no work runs, from the roots down: the quotas, capped by the limits. */
  #spreadDown(): void {
    const byQuota = new Float64Array(this.#potential.length);
    const lowestLimit = Float64Array.from(this.#limit);
    for (let node = 0; node < this.nodeCount; node++) {
      const parent = this.#parents[node] as number;
      for (let resource = 0; resource < this.resourceCount; resource++) {
        const at = node * this.resourceCount + resource;
        const above = parent * this.resourceCount + resource;
        let quota = this.#subtreeQuota[at] as number;
        if (parent >= 0) {
          const withParent = plus(this.#localQuota[at] as number, byQuota[above] as number);
          quota = Math.min(withParent, plus(quota, this.#borrowingLimit[at] as number));
          lowestLimit[at] = Math.min(lowestLimit[at] as number, lowestLimit[above] as number);
        }
        byQuota[at] = quota;
        this.#potential[at] = Math.min(quota, lowestLimit[at] as number);
        const kind = node * this.#kindCount + (this.#kinds[resource] as number);
        this.#lendable[kind] = plus(this.#lendable[kind] as number, this.#potential[at]);
      }
    }
  }

  #flat(rows: readonly (readonly (number | null)[])[]): Float64Array {
    const flat = new Float64Array(rows.length * this.resourceCount);
    for (const [node, row] of rows.entries()) {
      for (const [resource, amount] of row.entries()) flat[node * this.resourceCount + resource] = amount ?? UNLIMITED;
    }
    return flat;
  }
}

function childrenOfAll(nodes: readonly QuotaNode[]): readonly (readonly number[])[] {
  const children: number[][] = nodes.map(() => []);
  for (const [index, { parent }] of nodes.entries()) {
    invariant(parent < index, `node ${index} of the quota tree comes before its parent`);
    if (parent >= 0) (children[parent] as number[]).push(index);
  }
  return children;
}

/** Sum and difference of two amounts. An unbounded amount stays unbounded. */
const plus = (left: number, right: number): number => Math.min(UNLIMITED, left + right);
const minus = (left: number, right: number): number => (left === UNLIMITED ? UNLIMITED : left - right);
