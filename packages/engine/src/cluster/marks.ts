/**
 * Anti-affinity marks of nodes: the number of workers by set and by anti-affinity term. They have the same three layers
 * as the other amounts of a node (`node-slot.ts`), so tentative plans see them.
 */
import type { AntiAffinityFrom, AntiAffinitySpec } from "@headroom/model";
import type { Layer, NodeSlot } from "./node-slot.ts";

interface MarkCounts {
  held: number;
  terminating: number;
  nominated: number;
}

export type Booked = keyof MarkCounts;

export const EXCLUSIVE = "exclusive";
export const memberKey = (set: string): string => `in ${set}`;
export const avoiderKey = (from: AntiAffinityFrom): string =>
  "within" in from ? `not ${from.set} within ${from.within}` : `not ${from.set} over ${from.topologyKey}`;

export class Marks {
  readonly #counts = new Map<string, Map<NodeSlot, MarkCounts>>();
  /** Marks of work with anti-affinity to a set, by set. */
  readonly #avoiders = new Map<string, Map<string, AntiAffinityFrom>>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  book(antiAffinity: AntiAffinitySpec, slot: NodeSlot, booked: Booked, sign: 1 | -1): void {
    if (antiAffinity.exclusive === true) this.#add(EXCLUSIVE, slot, booked, sign);
    for (const set of antiAffinity.sets ?? []) this.#add(memberKey(set), slot, booked, sign);
    for (const from of antiAffinity.from ?? []) {
      const key = avoiderKey(from);
      this.#add(key, slot, booked, sign);
      const known = this.#avoiders.get(from.set);
      if (known === undefined) this.#avoiders.set(from.set, new Map([[key, from]]));
      else known.set(key, from);
    }
  }

  #add(key: string, slot: NodeSlot, booked: Booked, sign: 1 | -1): void {
    let slots = this.#counts.get(key);
    if (slots === undefined) this.#counts.set(key, (slots = new Map()));
    let counts = slots.get(slot);
    if (counts === undefined) slots.set(slot, (counts = { held: 0, terminating: 0, nominated: 0 }));
    counts[booked] += sign;
    if (counts.held !== 0 || counts.terminating !== 0 || counts.nominated !== 0) return;
    slots.delete(slot);
    if (slots.size === 0) this.#counts.delete(key);
  }

  /** Nodes with workers of this mark, each with the number of these workers, in the capacity view. */
  *on(key: string, layer: Layer): Generator<readonly [NodeSlot, number]> {
    for (const [slot, { held, terminating, nominated }] of this.#counts.get(key) ?? [])
      yield [slot, held + nominated - (layer === "idle" ? 0 : terminating)];
  }

  avoidersOf(set: string): Iterable<readonly [string, AntiAffinityFrom]> {
    return this.#avoiders.get(set) ?? [];
  }
}
