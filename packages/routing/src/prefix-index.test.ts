import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PrefixBlocks } from "./contract.ts";
import { PrefixIndex } from "./prefix-index.ts";

function blocks(hashes: readonly number[], tokensPerBlock = 10): PrefixBlocks {
  const endTokens = Float64Array.from(hashes, (_, index) => (index + 1) * tokensPerBlock);
  return { hashes: Float64Array.from(hashes), endTokens, count: hashes.length };
}

/** Lists of hashes, most recently used last. */
class SlowIndex {
  readonly lists: number[][];
  readonly capacities: number[];
  constructor(capacities: readonly number[]) {
    this.capacities = [...capacities];
    this.lists = capacities.map(() => []);
  }
  touch(slot: number, hashes: readonly number[]): void {
    for (const hash of hashes.toReversed()) {
      let list = (this.lists[slot] as number[]).filter((other) => other !== hash);
      const room = this.capacities[slot] as number;
      if (list.length + 1 > room) list = list.slice(list.length + 1 - room);
      this.lists[slot] = [...list, hash];
    }
  }
  match(slot: number, hashes: readonly number[]): number {
    const missing = hashes.findIndex((hash) => !(this.lists[slot] as number[]).includes(hash));
    return missing < 0 ? hashes.length : missing;
  }
}

describe("PrefixIndex", () => {
  it("matches what lists of hashes match, over random requests, capacities and restarts", () => {
    const request = fc.record({
      slot: fc.nat({ max: 39 }),
      conversation: fc.nat({ max: 12 }),
      length: fc.integer({ min: 1, max: 8 }),
      restart: fc.integer({ min: 0, max: 30 }),
    });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 120 }), fc.integer({ min: 1, max: 12 }), (requests, capacity) => {
        const capacities = Array.from({ length: 40 }, (_, slot) => capacity + (slot % 3));
        const slow = new SlowIndex(capacities);
        const index = new PrefixIndex(4096, 40);
        for (const [slot, each] of capacities.entries()) index.setCapacity(slot, each * 10);
        const matched = new Float64Array(40);
        for (const { slot, conversation, length, restart } of requests) {
          const hashes = Array.from({ length }, (_, at) => (at < 2 ? at : conversation * 2 ** 40 + at * 2 ** 20 + 1));
          index.match(blocks(hashes), matched);
          expect([...matched]).toEqual(capacities.map((_, each) => slow.match(each, hashes) * 10));
          index.touch(slot, blocks(hashes));
          slow.touch(slot, hashes);
          if (restart !== 0) continue;
          index.clear(slot);
          slow.lists[slot] = [];
        }
        expect(index.size).toBe(slow.lists.flat().length);
      }),
      { numRuns: 150 },
    );
  });

  it("stays within its bound on entries, whatever comes", () => {
    const index = new PrefixIndex(1000, 4);
    for (let slot = 0; slot < 4; slot += 1) index.setCapacity(slot, 1e9);
    const matched = new Float64Array(4);
    for (let prompt = 0; prompt < 5000; prompt += 1) {
      const hashes = Array.from({ length: 7 }, (_, at) => prompt * 100 + at);
      index.touch(prompt % 4, blocks(hashes));
      expect(index.size).toBeLessThanOrEqual(1000);
      index.match(blocks(hashes), matched);
      expect(matched[prompt % 4]).toBe(70);
    }
  });
});
