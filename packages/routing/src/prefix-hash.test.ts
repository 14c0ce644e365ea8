import { describe, expect, it } from "vitest";
import { hashText, PrefixHasher } from "./prefix-hash.ts";

function bytes(length: number, seed = 1): Uint8Array {
  const out = new Uint8Array(length);
  for (let index = 0, state = seed; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    out[index] = state >>> 16;
  }
  return out;
}

function hashesOf(prompt: Uint8Array, seed = 7, chunks: readonly number[] = []): number[] {
  const hasher = new PrefixHasher();
  hasher.begin(seed);
  let from = 0;
  for (const length of chunks) {
    hasher.update(prompt, from, from + length);
    from += length;
  }
  hasher.update(prompt, from);
  return [...hasher.hashes.subarray(0, hasher.count)];
}

describe("PrefixHasher", () => {
  const prompt = bytes(40_000);

  it("gives the same hashes however the bytes are cut and aligned", () => {
    const whole = hashesOf(prompt);
    expect(whole.length).toBeGreaterThan(20);
    expect(hashesOf(prompt, 7, [1, 2, 3, 13, 16, 17, 700, 4099])).toEqual(whole);
    const shifted = new Uint8Array(prompt.length + 3);
    shifted.set(prompt, 3);
    expect(hashesOf(shifted.subarray(3))).toEqual(whole);
  });

  it("gives the same hashes in pieces of every size, beyond the memory of the kernel too", () => {
    const long = bytes(300_000);
    const whole = hashesOf(long);
    expect(whole.length).toBeGreaterThan(40);
    for (const piece of [63, 64, 65, 512, 65_535, 65_536, 65_537, 200_000]) {
      const pieces = new Array<number>(Math.floor(long.length / piece)).fill(piece);
      expect(hashesOf(long, 7, pieces)).toEqual(whole);
    }
  });

  it("keeps two prompts apart whose pieces arrive in turns", () => {
    const other = bytes(40_000, 2);
    const [left, right] = [new PrefixHasher(), new PrefixHasher()];
    left.begin(7);
    right.begin(7);
    for (let from = 0; from < prompt.length; from += 1000) {
      left.update(prompt, from, from + 1000);
      right.update(other, from, from + 1000);
    }
    expect([...left.hashes.subarray(0, left.count)]).toEqual(hashesOf(prompt));
    expect([...right.hashes.subarray(0, right.count)]).toEqual(hashesOf(other));
  });

  it("changes with every byte of a block", () => {
    const block = bytes(1024);
    const first = hashesOf(block);
    for (let at = 0; at < block.length; at += 1) {
      const changed = block.slice();
      changed[at] = (changed[at] as number) ^ 0x80;
      const hashes = hashesOf(changed);
      expect(hashes[0] === first[0]).toBe(at >= 512);
      expect(hashes[1]).not.toBe(first[1]);
    }
  });

  it("shares the hashes of a common prefix and none after it", () => {
    const other = prompt.slice();
    other[10_000] = (other[10_000] as number) ^ 1;
    const left = hashesOf(prompt);
    const right = hashesOf(other);
    const common = left.findIndex((hash, index) => hash !== right[index]);
    expect(common).toBeGreaterThan(8);
    expect(left.slice(common).filter((hash) => right.includes(hash))).toEqual([]);
    expect(hashesOf(prompt.subarray(0, 20_000))).toEqual(left.slice(0, hashesOf(prompt.subarray(0, 20_000)).length));
  });

  it("separates prompts by their seed and starts over with begin", () => {
    const hasher = new PrefixHasher();
    hasher.begin(1);
    hasher.update(prompt);
    const first = hasher.hashes[0];
    hasher.begin(2);
    hasher.update(prompt);
    expect(hasher.hashes[0]).not.toBe(first);
    hasher.begin(1);
    hasher.update(prompt);
    expect(hasher.hashes[0]).toBe(first);
  });

  it("has no collision and no bias among 100,000 similar blocks", () => {
    const block = bytes(512);
    const view = new DataView(block.buffer);
    const seen = new Set<number>();
    const buckets = new Array<number>(64).fill(0);
    for (let index = 0; index < 100_000; index += 1) {
      view.setUint32(index % 500, index, true);
      const [hash = 0] = hashesOf(block);
      expect(Number.isSafeInteger(hash)).toBe(true);
      seen.add(hash);
      buckets[hash % 64] = (buckets[hash % 64] as number) + 1;
    }
    expect(seen.size).toBe(100_000);
    expect(Math.max(...buckets)).toBeLessThan((100_000 / 64) * 1.2);
    expect(Math.min(...buckets)).toBeGreaterThan((100_000 / 64) * 0.8);
  });
});

describe("hashText", () => {
  it("spreads ids that differ in one character", () => {
    const hashes = Array.from({ length: 10_000 }, (_, index) => hashText(`session-${index}`));
    expect(new Set(hashes.map((hash) => hash % 0x1_0000_0000)).size).toBeGreaterThan(9_995);
  });
});
