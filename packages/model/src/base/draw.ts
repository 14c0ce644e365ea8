import { finalMix, hashInto } from "./hash.ts";

/**
 * A uniform 32-bit unsigned integer that depends only on its arguments: the only source of randomness of engine and
 * simulator. There is no generator state, so a fork or a replay draws the same numbers. Seed and sequence are mixed in
 * word by word, one after the other, so that exchanging two words changes the result.
 */
export function draw(seed: number, sequence: number, purpose: string): number {
  const lanes = { a: 0, b: 0, c: 0, d: 0 };
  hashInto(lanes, purpose);
  const ofSeed = mixIn(mixIn(lanes.a, seed | 0), highWord(seed));
  return mixIn(mixIn(ofSeed, sequence | 0), highWord(sequence)) >>> 0;
}

const highWord = (value: number): number => Math.floor(value / 4294967296) | 0;

/** MurmurHash3's step with its final mix: bijective in either argument when the other is fixed. */
const mixIn = (hash: number, word: number): number => finalMix((Math.imul(hash, 5) + 0xe6546b64) ^ word);
