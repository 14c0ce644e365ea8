/**
 * The prefix blocks that each replica probably holds, according to the requests that were sent to it. Each replica has
 * one LRU list of blocks. The replica's KV cache limits the list in tokens; another limit applies to the entries of all
 * replicas together. An open-addressing table finds a block by its hash, and a bit set for each block states which
 * replicas hold it. A second table finds a (block, replica) pair, which is linked into the replica's LRU list.
 * Everything is in typed arrays, so a lookup allocates nothing. The blocks of a request are marked as used from the
 * last to the first, so that a prefix stays longer than its extensions (vLLM frees blocks in the same order:
 * https://docs.vllm.ai/en/latest/design/prefix_caching.html).
 */
import type { PrefixBlocks } from "./contract.ts";

const NONE = -1;
const MULTIPLIER = 0x9e3779b1 | 0;

function powerOfTwoAbove(count: number): number {
  let size = 16;
  while (size < count) size *= 2;
  return size;
}

export class PrefixIndex {
  readonly #maxPairs: number;
  readonly #slotWords: number;
  readonly #maxSlots: number;
  // Blocks: an open-addressing table of block numbers, and the columns of the blocks.
  readonly #blockTable: Int32Array;
  readonly #blockHash: Float64Array;
  readonly #blockHolders: Int32Array;
  readonly #blockBits: Int32Array;
  #freeBlock = NONE;
  #blockCount = 0;
  // Pairs: an open-addressing table of (block, slot), with LRU links.
  readonly #pairTable: Int32Array;
  readonly #pairBlock: Int32Array;
  readonly #pairSlot: Uint16Array;
  readonly #pairTokens: Float32Array;
  readonly #newer: Int32Array;
  readonly #older: Int32Array;
  #freePair = NONE;
  #pairCount = 0;
  #usedPairs = 0;
  // The newest pair of each replica. The fields after it hold further data of the replicas.
  readonly #newest: Int32Array;
  readonly #oldest: Int32Array;
  readonly #slotTokens: Float64Array;
  readonly #slotCapacity: Float64Array;
  readonly #slotPairs: Int32Array;
  // Memory that a match uses while it runs.
  readonly #running: Int32Array;

  constructor(maxPairs: number, maxSlots: number) {
    this.#maxPairs = maxPairs;
    this.#maxSlots = maxSlots;
    this.#slotWords = Math.ceil(maxSlots / 32);
    const tableSize = powerOfTwoAbove(maxPairs * 2);
    this.#blockTable = new Int32Array(tableSize).fill(NONE);
    this.#blockHash = new Float64Array(maxPairs);
    this.#blockHolders = new Int32Array(maxPairs);
    this.#blockBits = new Int32Array(maxPairs * this.#slotWords);
    this.#pairTable = new Int32Array(tableSize).fill(NONE);
    this.#pairBlock = new Int32Array(maxPairs);
    this.#pairSlot = new Uint16Array(maxPairs);
    this.#pairTokens = new Float32Array(maxPairs);
    this.#newer = new Int32Array(maxPairs);
    this.#older = new Int32Array(maxPairs);
    this.#newest = new Int32Array(maxSlots).fill(NONE);
    this.#oldest = new Int32Array(maxSlots).fill(NONE);
    this.#slotTokens = new Float64Array(maxSlots);
    this.#slotCapacity = new Float64Array(maxSlots);
    this.#slotPairs = new Int32Array(maxSlots);
    this.#running = new Int32Array(this.#slotWords);
  }

  /** Number of pairs in use; never above `maxPairs`. */
  get size(): number {
    return this.#usedPairs;
  }

  setCapacity(slot: number, tokens: number): void {
    this.#slotCapacity[slot] = tokens;
    this.#shrink(slot, 0);
  }

  /** Removes all blocks of a replica. */
  clear(slot: number): void {
    while (this.#oldest[slot] !== NONE) this.#dropPair(this.#oldest[slot] as number);
  }

  /**
   * Writes into `matched[slot]`, for every slot, how many tokens from the beginning of the prompt the replica holds
   * without a gap. Returns whether any replica holds any.
   */
  match(prefix: PrefixBlocks, matched: Float64Array): boolean {
    matched.fill(0);
    const { hashes, endTokens, count } = prefix;
    let found = false;
    for (let index = 0; index < count; index += 1) {
      const block = this.#findBlock(hashes[index] as number);
      const end = index === 0 ? 0 : (endTokens[index - 1] as number);
      if (block === NONE) {
        if (found) this.#settleAll(matched, end);
        return found;
      }
      if (index === 0) this.#beginRunning(block);
      else if (!this.#continueRunning(block, matched, end)) return true;
      found = true;
    }
    if (found) this.#settleAll(matched, endTokens[count - 1] as number);
    return found;
  }

  #beginRunning(block: number): void {
    const base = block * this.#slotWords;
    for (let word = 0; word < this.#slotWords; word += 1) this.#running[word] = this.#blockBits[base + word] as number;
  }

  /**
   * Keeps the replicas that also hold this block. For the others the match ends at `end` tokens. Returns whether a
   * replica remains.
   */
  #continueRunning(block: number, matched: Float64Array, end: number): boolean {
    const base = block * this.#slotWords;
    let left = 0;
    for (let word = 0; word < this.#slotWords; word += 1) {
      const before = this.#running[word] as number;
      if (before === 0) continue;
      const after = before & (this.#blockBits[base + word] as number);
      if (after !== before) settle(matched, word, before & ~after, end);
      this.#running[word] = after;
      left |= after;
    }
    return left !== 0;
  }

  #settleAll(matched: Float64Array, end: number): void {
    for (let word = 0; word < this.#slotWords; word += 1) settle(matched, word, this.#running[word] as number, end);
  }

  /** Records that the replica holds all blocks of the prompt, and that they were used last. */
  touch(slot: number, prefix: PrefixBlocks): void {
    const { hashes, endTokens, count } = prefix;
    for (let index = count - 1; index >= 0; index -= 1) {
      const tokens = (endTokens[index] as number) - (index === 0 ? 0 : (endTokens[index - 1] as number));
      if (tokens <= (this.#slotCapacity[slot] as number)) this.#touchBlock(slot, hashes[index] as number, tokens);
    }
  }

  #touchBlock(slot: number, hash: number, tokens: number): void {
    let block = this.#findBlock(hash);
    if (block !== NONE && this.#holds(block, slot)) {
      const pair = this.#findPair(block, slot);
      if (this.#newest[slot] === pair) return;
      this.#unlink(pair, slot);
      this.#linkNewest(pair, slot);
      return;
    }
    this.#shrink(slot, tokens);
    if (this.#usedPairs === this.#maxPairs) this.#dropPair(this.#victim(slot));
    // The block may have been freed when pairs were dropped.
    block = this.#findBlock(hash);
    if (block === NONE) block = this.#addBlock(hash);
    this.#addPair(block, slot, tokens);
  }

  /** Evicts the replica's least recently used blocks until `room` more tokens fit. */
  #shrink(slot: number, room: number): void {
    while (
      this.#oldest[slot] !== NONE &&
      (this.#slotTokens[slot] as number) + room > (this.#slotCapacity[slot] as number)
    ) {
      this.#dropPair(this.#oldest[slot] as number);
    }
  }

  /**
   * The pair to evict: the oldest pair of the replica with the most pairs. This replica is preferred if it has equally
   * many.
   */
  #victim(slot: number): number {
    let most = slot;
    for (let other = 0; other < this.#maxSlots; other += 1) {
      if ((this.#slotPairs[other] as number) > (this.#slotPairs[most] as number)) most = other;
    }
    return this.#oldest[most] as number;
  }

  #holds(block: number, slot: number): boolean {
    return ((this.#blockBits[block * this.#slotWords + (slot >>> 5)] as number) & (1 << (slot & 31))) !== 0;
  }

  #findBlock(hash: number): number {
    const mask = this.#blockTable.length - 1;
    for (let at = homeOfBlock(hash, mask); ; at = (at + 1) & mask) {
      const block = this.#blockTable[at] as number;
      if (block === NONE || this.#blockHash[block] === hash) return block;
    }
  }

  #findPair(block: number, slot: number): number {
    const mask = this.#pairTable.length - 1;
    for (let at = homeOfPair(block, slot, mask); ; at = (at + 1) & mask) {
      const pair = this.#pairTable[at] as number;
      if (pair === NONE || (this.#pairBlock[pair] === block && this.#pairSlot[pair] === slot)) return pair;
    }
  }

  #addBlock(hash: number): number {
    let block = this.#freeBlock;
    if (block === NONE) block = this.#blockCount++;
    else this.#freeBlock = this.#blockHolders[block] as number;
    this.#blockHash[block] = hash;
    this.#blockHolders[block] = 0;
    const mask = this.#blockTable.length - 1;
    let at = homeOfBlock(hash, mask);
    while (this.#blockTable[at] !== NONE) at = (at + 1) & mask;
    this.#blockTable[at] = block;
    return block;
  }

  #addPair(block: number, slot: number, tokens: number): void {
    let pair = this.#freePair;
    if (pair === NONE) pair = this.#pairCount++;
    else this.#freePair = this.#newer[pair] as number;
    this.#pairBlock[pair] = block;
    this.#pairSlot[pair] = slot;
    this.#pairTokens[pair] = tokens;
    const mask = this.#pairTable.length - 1;
    let at = homeOfPair(block, slot, mask);
    while (this.#pairTable[at] !== NONE) at = (at + 1) & mask;
    this.#pairTable[at] = pair;
    const word = block * this.#slotWords + (slot >>> 5);
    this.#blockBits[word] = (this.#blockBits[word] as number) | (1 << (slot & 31));
    this.#blockHolders[block] = (this.#blockHolders[block] as number) + 1;
    this.#slotTokens[slot] = (this.#slotTokens[slot] as number) + tokens;
    this.#slotPairs[slot] = (this.#slotPairs[slot] as number) + 1;
    this.#usedPairs += 1;
    this.#linkNewest(pair, slot);
  }

  #dropPair(pair: number): void {
    const block = this.#pairBlock[pair] as number;
    const slot = this.#pairSlot[pair] as number;
    this.#unlink(pair, slot);
    this.#removeFromPairTable(pair, block, slot);
    const word = block * this.#slotWords + (slot >>> 5);
    this.#blockBits[word] = (this.#blockBits[word] as number) & ~(1 << (slot & 31));
    this.#slotTokens[slot] = (this.#slotTokens[slot] as number) - (this.#pairTokens[pair] as number);
    this.#slotPairs[slot] = (this.#slotPairs[slot] as number) - 1;
    this.#usedPairs -= 1;
    this.#newer[pair] = this.#freePair;
    this.#freePair = pair;
    const holders = (this.#blockHolders[block] as number) - 1;
    this.#blockHolders[block] = holders;
    if (holders === 0) this.#dropBlock(block);
  }

  #dropBlock(block: number): void {
    const table = this.#blockTable;
    const mask = table.length - 1;
    let gap = homeOfBlock(this.#blockHash[block] as number, mask);
    while (table[gap] !== block) gap = (gap + 1) & mask;
    for (let at = (gap + 1) & mask; table[at] !== NONE; at = (at + 1) & mask) {
      const home = homeOfBlock(this.#blockHash[table[at] as number] as number, mask);
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      table[gap] = table[at] as number;
      gap = at;
    }
    table[gap] = NONE;
    this.#blockHash[block] = NONE;
    this.#blockHolders[block] = this.#freeBlock;
    this.#freeBlock = block;
  }

  /** Deletes by shifting back (Knuth, TAOCP 3, 6.4, algorithm R), so that the table needs no tombstones. */
  #removeFromPairTable(pair: number, block: number, slot: number): void {
    const table = this.#pairTable;
    const mask = table.length - 1;
    let gap = homeOfPair(block, slot, mask);
    while (table[gap] !== pair) gap = (gap + 1) & mask;
    for (let at = (gap + 1) & mask; table[at] !== NONE; at = (at + 1) & mask) {
      const other = table[at] as number;
      const home = homeOfPair(this.#pairBlock[other] as number, this.#pairSlot[other] as number, mask);
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      table[gap] = other;
      gap = at;
    }
    table[gap] = NONE;
  }

  #linkNewest(pair: number, slot: number): void {
    const newest = this.#newest[slot] as number;
    this.#older[pair] = newest;
    this.#newer[pair] = NONE;
    if (newest === NONE) this.#oldest[slot] = pair;
    else this.#newer[newest] = pair;
    this.#newest[slot] = pair;
  }

  #unlink(pair: number, slot: number): void {
    const newer = this.#newer[pair] as number;
    const older = this.#older[pair] as number;
    if (newer === NONE) this.#newest[slot] = older;
    else this.#older[newer] = older;
    if (older === NONE) this.#oldest[slot] = newer;
    else this.#newer[older] = newer;
  }
}

function homeOfBlock(hash: number, mask: number): number {
  const mixed = Math.imul(hash | 0, MULTIPLIER);
  return (mixed ^ (mixed >>> 15)) & mask;
}

function homeOfPair(block: number, slot: number, mask: number): number {
  const mixed = Math.imul(block + Math.imul(slot, 0x85ebca77 | 0), MULTIPLIER);
  return (mixed ^ (mixed >>> 15)) & mask;
}

function settle(matched: Float64Array, word: number, bits: number, tokens: number): void {
  for (let left = bits; left !== 0; left &= left - 1) {
    matched[word * 32 + 31 - Math.clz32(left & -left)] = tokens;
  }
}
