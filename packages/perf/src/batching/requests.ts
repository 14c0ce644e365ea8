import { larger } from "./kv-blocks.ts";

/** A request for the kernel. */
export interface BatchedRequest {
  /** Id that the caller gave the request. Steps report this id. */
  readonly id: number;
  readonly promptTokens: number;
  /** Number of tokens to generate, at least 1. */
  readonly outputTokens: number;
  /** Priority. As in vLLM, a lower number goes first. Requests of one priority are served in the order of arrival. */
  readonly priority: number;
  /**
   * Names of the whole prefix pages of the prompt. A name identifies its page together with all pages before it. The
   * list is empty if the request shares no prefix.
   */
  readonly pages: readonly number[];
  /**
   * Number of tokens at the beginning of the prompt that are loaded from a store outside the engine. They take blocks,
   * but need no computation.
   */
  readonly loadedTokens: number;
}

export const noSlot = -1;

/**
 * The requests that an engine holds, with one array for each field. A request has the same index, its slot, in every
 * array. Slots are reused. The fields `before` and `after` link a slot into one list: of waiting or of running
 * requests.
 */
export class RequestTable {
  size: number = 0;
  id: Float64Array<ArrayBuffer> = new Float64Array(64);
  promptTokens: Int32Array<ArrayBuffer> = new Int32Array(64);
  outputTokens: Int32Array<ArrayBuffer> = new Int32Array(64);
  level: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Number of output tokens at the last change of phase. A decoding sequence has generated more tokens since then. */
  generated: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Number of cached tokens while the prompt is computed. */
  computed: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Number of cached tokens minus the engine's tick. The difference stays constant while the sequence decodes. */
  tokenBase: Int32Array<ArrayBuffer> = new Int32Array(64);
  phase: Uint8Array<ArrayBuffer> = new Uint8Array(64);
  /** Number of cache blocks that the sequence holds as pages. */
  pageBlocks: Int32Array<ArrayBuffer> = new Int32Array(64);
  preemptions: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Position of the sequence in the order in which sequences last started to run. */
  begun: Float64Array<ArrayBuffer> = new Float64Array(64);
  /** Extent of the blocks that a preemption left in the cache, or -1 if there are none. */
  run: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Number of tokens in the pages before the extent `run`. */
  runAfter: Int32Array<ArrayBuffer> = new Int32Array(64);
  before: Int32Array<ArrayBuffer> = new Int32Array(64);
  after: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Neighbours in the list of sequences that end at the same tick. */
  endsBefore: Int32Array<ArrayBuffer> = new Int32Array(64);
  endsAfter: Int32Array<ArrayBuffer> = new Int32Array(64);
  endsAt: Int32Array<ArrayBuffer> = new Int32Array(64);
  loadedTokens: Int32Array<ArrayBuffer> = new Int32Array(64);
  readonly pages: (readonly number[])[] = [];
  /** Extents of the pages that each sequence holds, in the order of its tokens. */
  readonly heldPages: number[][] = [];
  readonly #unused: number[] = [];

  add(request: BatchedRequest, level: number): number {
    const slot = this.#unused.pop() ?? this.#newSlot();
    this.id[slot] = request.id;
    this.promptTokens[slot] = request.promptTokens;
    this.outputTokens[slot] = request.outputTokens;
    this.loadedTokens[slot] = request.loadedTokens;
    this.level[slot] = level;
    this.generated[slot] = 0;
    this.computed[slot] = 0;
    this.pageBlocks[slot] = 0;
    this.preemptions[slot] = 0;
    this.run[slot] = noSlot;
    this.pages[slot] = request.pages;
    return slot;
  }

  remove(slot: number): void {
    this.pages[slot] = [];
    this.#unused.push(slot);
  }

  #newSlot(): number {
    const slot = this.size;
    this.size += 1;
    if (slot >= this.id.length) this.#grow();
    this.heldPages[slot] = [];
    return slot;
  }

  #grow(): void {
    const size = this.id.length * 2;
    const id = new Float64Array(size);
    id.set(this.id);
    this.id = id;
    const begun = new Float64Array(size);
    begun.set(this.begun);
    this.begun = begun;
    const phase = new Uint8Array(size);
    phase.set(this.phase);
    this.phase = phase;
    this.promptTokens = larger(this.promptTokens, size);
    this.outputTokens = larger(this.outputTokens, size);
    this.loadedTokens = larger(this.loadedTokens, size);
    this.level = larger(this.level, size);
    this.generated = larger(this.generated, size);
    this.computed = larger(this.computed, size);
    this.tokenBase = larger(this.tokenBase, size);
    this.pageBlocks = larger(this.pageBlocks, size);
    this.preemptions = larger(this.preemptions, size);
    this.run = larger(this.run, size);
    this.runAfter = larger(this.runAfter, size);
    this.before = larger(this.before, size);
    this.after = larger(this.after, size);
    this.endsBefore = larger(this.endsBefore, size);
    this.endsAfter = larger(this.endsAfter, size);
    this.endsAt = larger(this.endsAt, size);
  }
}

/**
 * First-in-first-out lists of slots, one list for each priority level. Slots can also be added at the front and removed
 * from any position.
 */
export class LevelLists {
  readonly #table: RequestTable;
  /** Levels in order, the most urgent first. The array is shared with the kernel, which adds levels. */
  readonly #order: readonly number[];
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  length: number = 0;

  constructor(table: RequestTable, order: readonly number[]) {
    this.#table = table;
    this.#order = order;
  }

  /** Returns the first slot of the most urgent level that has one, or -1 if all lists are empty. */
  first(): number {
    for (const level of this.#order) {
      const slot = this.#first[level] ?? noSlot;
      if (slot !== noSlot) return slot;
    }
    return noSlot;
  }

  /** Returns the last slot of the least urgent level that has one, or -1 if all lists are empty. */
  last(): number {
    for (let index = this.#order.length - 1; index >= 0; index -= 1) {
      const slot = this.#last[this.#order[index] ?? 0] ?? noSlot;
      if (slot !== noSlot) return slot;
    }
    return noSlot;
  }

  append(slot: number): void {
    const level = this.#table.level[slot] ?? 0;
    const last = this.#last[level] ?? noSlot;
    this.#table.before[slot] = last;
    this.#table.after[slot] = noSlot;
    if (last === noSlot) this.#first[level] = slot;
    else this.#table.after[last] = slot;
    this.#last[level] = slot;
    this.length += 1;
  }

  prepend(slot: number): void {
    const level = this.#table.level[slot] ?? 0;
    const first = this.#first[level] ?? noSlot;
    this.#table.before[slot] = noSlot;
    this.#table.after[slot] = first;
    if (first === noSlot) this.#last[level] = slot;
    else this.#table.before[first] = slot;
    this.#first[level] = slot;
    this.length += 1;
  }

  remove(slot: number): void {
    const level = this.#table.level[slot] ?? 0;
    const before = this.#table.before[slot] ?? noSlot;
    const after = this.#table.after[slot] ?? noSlot;
    if (before === noSlot) this.#first[level] = after;
    else this.#table.after[before] = after;
    if (after === noSlot) this.#last[level] = before;
    else this.#table.before[after] = before;
    this.length -= 1;
  }
}
