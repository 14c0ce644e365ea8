import type { KvBlocks } from "./kv-blocks.ts";
import { noSlot } from "./requests.ts";
import type { RequestTable } from "./requests.ts";
import type { StepCosts } from "./step-costs.ts";

/**
 * Clock of an engine that only decodes: the time at which the running step ends, and the duration of the step that is
 * scheduled after it.
 */
export interface CoastingClock {
  atMs: number;
  aheadMs: number;
  busyMs: number;
  readonly isAhead: boolean;
}

/**
 * Set of decoding sequences. Each tick adds one token to every sequence. The set keeps sums, so the cost of a tick
 * depends only on the number of sequences that start or end.
 */
export class DecodingSet {
  /** Number of ticks so far; each tick adds one token to every decoding sequence. */
  tick: number = 0;
  count: number = 0;
  /** Tokens in the cache, summed over the sequences. */
  contextTokens: number = 0;
  readonly #table: RequestTable;
  readonly #blockTokens: number;
  /**
   * Number of sequences by the tick at which they need a new block. The index is that tick modulo the tokens of a
   * block.
   */
  readonly #beginning: Int32Array;
  /**
   * First of the sequences that end at a tick. The index is that tick modulo the length of the array (a timing wheel).
   */
  #ending = new Int32Array(1024).fill(noSlot);

  constructor(table: RequestTable, blockTokens: number) {
    this.#table = table;
    this.#blockTokens = blockTokens;
    this.#beginning = new Int32Array(blockTokens);
  }

  /** Number of new blocks that the next tick needs. */
  get blocksNeeded(): number {
    return this.#beginning[this.tick % this.#blockTokens] ?? 0;
  }

  /** Cached tokens of a decoding sequence. */
  tokensOf(slot: number): number {
    return (this.#table.tokenBase[slot] ?? 0) + this.tick;
  }

  /** Adds a sequence with `tokens` in the cache that decodes `steps` more tokens (at least one), one per tick. */
  enter(slot: number, tokens: number, steps: number): void {
    const base = tokens - this.tick;
    this.#table.tokenBase[slot] = base;
    const phase = this.#phaseOf(base);
    this.#beginning[phase] = (this.#beginning[phase] ?? 0) + 1;
    this.count += 1;
    this.contextTokens += tokens;
    if (steps >= this.#ending.length) this.#widen(steps);
    this.#link(slot, this.tick + steps - 1);
  }

  /** Removes a sequence before its end. */
  leave(slot: number): void {
    this.#unlink(slot);
    this.#forget(slot);
  }

  /** Advances every sequence by one token. Sequences that end are removed and appended to `ended`. */
  advance(ended: number[]): void {
    const place = this.tick & (this.#ending.length - 1);
    this.tick += 1;
    this.contextTokens += this.count;
    let slot = this.#ending[place] ?? noSlot;
    this.#ending[place] = noSlot;
    while (slot !== noSlot) {
      const next = this.#table.endsAfter[slot] ?? noSlot;
      this.#forget(slot);
      ended.push(slot);
      slot = next;
    }
  }

  /**
   * Advances tick by tick while no sequence ends, enough blocks are available, and `clock` is before `untilMs`. Each
   * tick is a step whose time follows from `costs` by `stepMs`. Returns the number of ticks.
   */
  coast(clock: CoastingClock, untilMs: number, costs: StepCosts, blocks: KvBlocks): number {
    const { count } = this;
    const tokensMs = costs.tokensMs[count] ?? Number.NaN;
    const sampledMs = costs.sampledMs * count;
    const ending = this.#ending;
    const from = this.tick;
    let context = this.contextTokens;
    let { atMs, aheadMs, busyMs } = clock;
    let { tick } = this;
    while (atMs < untilMs && ending[tick & (ending.length - 1)] === noSlot) {
      const needed = this.#beginning[tick % this.#blockTokens] ?? 0;
      if (needed > 0) {
        if (needed > blocks.availableCount) break;
        blocks.take(needed);
      }
      tick += 1;
      context += count;
      const takesMs = tokensMs + costs.contextMs * context + sampledMs;
      const begunMs = clock.isAhead ? aheadMs : takesMs;
      aheadMs = takesMs;
      atMs += begunMs;
      busyMs += begunMs;
    }
    this.tick = tick;
    this.contextTokens = context;
    clock.atMs = atMs;
    clock.aheadMs = aheadMs;
    clock.busyMs = busyMs;
    return tick - from;
  }

  #phaseOf(base: number): number {
    const rest = base % this.#blockTokens;
    return rest > 0 ? this.#blockTokens - rest : Math.abs(rest);
  }

  #forget(slot: number): void {
    const base = this.#table.tokenBase[slot] ?? 0;
    const phase = this.#phaseOf(base);
    this.#beginning[phase] = (this.#beginning[phase] ?? 0) - 1;
    this.count -= 1;
    this.contextTokens -= base + this.tick;
  }

  #link(slot: number, tick: number): void {
    const { endsAt, endsBefore, endsAfter } = this.#table;
    const place = tick & (this.#ending.length - 1);
    const first = this.#ending[place] ?? noSlot;
    endsAt[slot] = tick;
    endsBefore[slot] = noSlot;
    endsAfter[slot] = first;
    if (first !== noSlot) endsBefore[first] = slot;
    this.#ending[place] = slot;
  }

  #unlink(slot: number): void {
    const { endsAt, endsBefore, endsAfter } = this.#table;
    const before = endsBefore[slot] ?? noSlot;
    const after = endsAfter[slot] ?? noSlot;
    if (before === noSlot) this.#ending[(endsAt[slot] ?? 0) & (this.#ending.length - 1)] = after;
    else endsAfter[before] = after;
    if (after !== noSlot) endsBefore[after] = before;
  }

  #widen(steps: number): void {
    const slots: number[] = [];
    for (const first of this.#ending) {
      for (let slot = first; slot !== noSlot; slot = this.#table.endsAfter[slot] ?? noSlot) slots.push(slot);
    }
    this.#ending = new Int32Array(2 ** Math.ceil(Math.log2(steps + 1))).fill(noSlot);
    for (const slot of slots) this.#link(slot, this.#table.endsAt[slot] ?? 0);
  }
}
