/**
 * 128-bit hashes of texts: MurmurHash3 x86-128 (Austin Appleby, public domain, smhasher `MurmurHash3.cpp`) of their
 * UTF-8 bytes, with a seed for each lane. It detects damage and disagreement; it does not resist forgery. Only 32-bit
 * integer arithmetic, so every JavaScript engine gives the same bits (on little-endian machines, the only supported
 * ones).
 */
import { utf8EncodeInto } from "./utf8.ts";

export interface Lanes {
  a: number;
  b: number;
  c: number;
  d: number;
}

const C1 = 0x239b961b;
const C2 = 0xab0e9789 | 0;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93 | 0;

const mixA = (k: number): number => {
  const m = Math.imul(k, C1);
  return Math.imul((m << 15) | (m >>> 17), C2);
};
const mixB = (k: number): number => {
  const m = Math.imul(k, C2);
  return Math.imul((m << 16) | (m >>> 16), C3);
};
const mixC = (k: number): number => {
  const m = Math.imul(k, C3);
  return Math.imul((m << 17) | (m >>> 15), C4);
};
const mixD = (k: number): number => {
  const m = Math.imul(k, C4);
  return Math.imul((m << 18) | (m >>> 14), C1);
};

export function finalMix(value: number): number {
  let h = value;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** Buffer for the text's bytes as little-endian words. It grows to the longest text so far. */
let scratch: Int32Array = new Int32Array(1 << 14);
let scratchBytes: Uint8Array = new Uint8Array(scratch.buffer);

/**
 * Fills `scratch` with the bytes of the text, zero-padded to a whole block; returns the number of bytes of the text.
 */
function loadBytes(text: string): number {
  const wordsNeeded = ((text.length * 3) >>> 2) + BLOCK_WORDS + 1;
  if (scratch.length < wordsNeeded) {
    scratch = new Int32Array(wordsNeeded * 2);
    scratchBytes = new Uint8Array(scratch.buffer);
  }
  const length = utf8EncodeInto(text, scratchBytes);
  // A loop, because a call of `fill` takes longer than the at most sixteen bytes.
  for (let at = length; at < ((length + BLOCK_BYTES) & -BLOCK_BYTES); at++) scratchBytes[at] = 0;
  return length;
}

const BLOCK_BYTES = 16;
const BLOCK_WORDS = 4;

/** Replaces the lanes of `into` (the seed) by the hash of `text` under that seed. */
export function hashInto(into: Lanes, text: string): void {
  const length = loadBytes(text);
  const words = scratch;
  const blockEnd = (length >>> 4) * BLOCK_WORDS;
  let { a, b, c, d } = into;
  // The mixing functions are inlined: this loop is among the simulator's hottest, and four calls for each block took a
  // third of its time.
  for (let i = 0; i < blockEnd; i += BLOCK_WORDS) {
    let k = Math.imul(words[i] as number, C1);
    a ^= Math.imul((k << 15) | (k >>> 17), C2);
    a = (Math.imul(((a << 19) | (a >>> 13)) + b, 5) + 0x561ccd1b) | 0;
    k = Math.imul(words[i + 1] as number, C2);
    b ^= Math.imul((k << 16) | (k >>> 16), C3);
    b = (Math.imul(((b << 17) | (b >>> 15)) + c, 5) + 0x0bcaa747) | 0;
    k = Math.imul(words[i + 2] as number, C3);
    c ^= Math.imul((k << 17) | (k >>> 15), C4);
    c = (Math.imul(((c << 15) | (c >>> 17)) + d, 5) + 0x96cd1c35) | 0;
    k = Math.imul(words[i + 3] as number, C4);
    d ^= Math.imul((k << 18) | (k >>> 14), C1);
    d = (Math.imul(((d << 13) | (d >>> 19)) + a, 5) + 0x32ac3b17) | 0;
  }
  // The rest of the last block is zero-padded; zeros do not change the hash.
  d ^= mixD(words[blockEnd + 3] as number);
  c ^= mixC(words[blockEnd + 2] as number);
  b ^= mixB(words[blockEnd + 1] as number);
  a ^= mixA(words[blockEnd] as number);
  a ^= length;
  b ^= length;
  c ^= length;
  d ^= length;
  a = (a + b + c + d) | 0;
  b = (b + a) | 0;
  c = (c + a) | 0;
  d = (d + a) | 0;
  a = finalMix(a);
  b = finalMix(b);
  c = finalMix(c);
  d = finalMix(d);
  a = (a + b + c + d) | 0;
  into.a = a;
  into.b = (b + a) | 0;
  into.c = (c + a) | 0;
  into.d = (d + a) | 0;
}

const HEX_BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const hexByte = (word: number, shift: number): string => HEX_BYTES[(word >>> shift) & 255] as string;
const hexWord = (word: number): string => hexByte(word, 24) + hexByte(word, 16) + hexByte(word, 8) + hexByte(word, 0);

export const lanesToHex = (lanes: Lanes): string =>
  hexWord(lanes.a) + hexWord(lanes.b) + hexWord(lanes.c) + hexWord(lanes.d);

/** The inverse of `lanesToHex`. */
export function lanesFromHex(hex: string): Lanes {
  const word = (index: number): number => Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16) | 0;
  return { a: word(0), b: word(1), c: word(2), d: word(3) };
}

export function hashText(text: string): string {
  const lanes: Lanes = { a: 0, b: 0, c: 0, d: 0 };
  hashInto(lanes, text);
  return lanesToHex(lanes);
}

/** The chain value before the journal's first group. */
export const CHAIN_START = "00000000000000000000000000000000";

/** The chain value after a group: the hash of the group's text, seeded with the chain value before it. */
export function chainAfter(chain: string, text: string): string {
  const lanes = lanesFromHex(chain);
  hashInto(lanes, text);
  return lanesToHex(lanes);
}
