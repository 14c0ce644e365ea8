import type { PrefixBlocks } from "./contract.ts";

/**
 * Hashes of a prompt's prefixes over its bytes, fed in chunks as they arrive.
 *
 * Four 32-bit lanes after xxHash32's round (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), 16 bytes a
 * round, so that the multiplications of four lanes overlap. The lanes run on across boundaries: each digest covers everything
 * before it. Not a cryptographic hash: a collision costs a cache miss and nothing else.
 *
 * Boundaries lie every 512 bytes up to 4 KiB, then grow by an eighth: 26 for 32 kB, 61 for 2 MB. They depend on the offset
 * alone, so that prompts which extend one another share them.
 */
const LINEAR_BYTES = 4096;
const FIRST_BYTES = 512;
/** 4 KiB to 16 MiB in steps of an eighth. Prompts beyond are hashed up to the last boundary. */
const MAX_BOUNDARIES = 80;

const PRIME_1 = 0x9e3779b1 | 0;
const PRIME_2 = 0x85ebca77 | 0;
const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f;

/** Byte offsets of the boundaries; multiples of 16. */
const prefixBoundaries: readonly number[] = boundaries();

function boundaries(): number[] {
  const offsets: number[] = [];
  for (let offset = FIRST_BYTES; offsets.length < MAX_BOUNDARIES;) {
    offsets.push(offset);
    offset += offset < LINEAR_BYTES ? FIRST_BYTES : Math.floor(offset / 128) * 16;
  }
  return offsets;
}

/** xxHash32's avalanche. */
function avalanche(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 15), PRIME_2);
  mixed = Math.imul(mixed ^ (mixed >>> 13), PRIME_3);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** An integer below 2^53 from 64 bits. */
function join53(high: number, low: number): number {
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}

export class PrefixHasher implements PrefixBlocks {
  readonly hashes: Float64Array = new Float64Array(MAX_BOUNDARIES);
  readonly endTokens: Float64Array = new Float64Array(MAX_BOUNDARIES);
  count = 0;
  readonly #bytesPerToken: number;
  readonly #state = new Int32Array(4);
  readonly #carry = new Uint8Array(16);
  readonly #carryView: DataView = new DataView(this.#carry.buffer);
  #carryCount = 0;
  #offset = 0;

  /** `bytesPerToken` converts boundaries to tokens; about 4 for English text. */
  constructor(bytesPerToken = 4) {
    this.#bytesPerToken = bytesPerToken;
  }

  /** Starts a prompt. Prompts with different seeds (model, tenant) share no hashes. */
  begin(seed: number): void {
    const low = seed | 0;
    const high = Math.trunc(seed / 0x1_0000_0000) | 0;
    this.#state[0] = (low + PRIME_1 + PRIME_2) | 0;
    this.#state[1] = (high + PRIME_2) | 0;
    this.#state[2] = low;
    this.#state[3] = (high - PRIME_1) | 0;
    this.#carryCount = 0;
    this.#offset = 0;
    this.count = 0;
  }

  /** The next bytes of the prompt, from `start` to before `end`. Keeps no reference to them. */
  update(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    let from = start;
    if (this.#carryCount > 0) {
      while (this.#carryCount < 16 && from < end) this.#carry[this.#carryCount++] = bytes[from++] as number;
      if (this.#carryCount < 16) return;
      this.#carryCount = 0;
      this.#rounds(this.#carryView, 0, 16);
    }
    const whole = from + ((end - from) & ~15);
    if (whole > from) this.#rounds(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), from, whole);
    for (from = whole; from < end; from += 1) this.#carry[this.#carryCount++] = bytes[from] as number;
  }

  #rounds(view: DataView, start: number, end: number): void {
    let from = start;
    while (from < end) {
      const boundary = prefixBoundaries[this.count];
      if (boundary === undefined) return;
      const to = Math.min(end, from + boundary - this.#offset);
      absorb(this.#state, view, from, to);
      this.#offset += to - from;
      from = to;
      if (this.#offset === boundary) this.#close(boundary);
    }
  }

  #close(boundary: number): void {
    const state = this.#state;
    const a = state[0] as number;
    const b = state[1] as number;
    const c = state[2] as number;
    const d = state[3] as number;
    const low = avalanche(rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18) + boundary);
    const high = avalanche(Math.imul(a ^ rotate(c, 16), PRIME_4) + (b ^ rotate(d, 11)) + low);
    this.hashes[this.count] = join53(high, low);
    this.endTokens[this.count] = Math.round(boundary / this.#bytesPerToken);
    this.count += 1;
  }
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function absorb(state: Int32Array, view: DataView, start: number, end: number): void {
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  for (let at = start; at < end; at += 16) {
    a = (a + Math.imul(view.getInt32(at, true), PRIME_2)) | 0;
    b = (b + Math.imul(view.getInt32(at + 4, true), PRIME_2)) | 0;
    c = (c + Math.imul(view.getInt32(at + 8, true), PRIME_2)) | 0;
    d = (d + Math.imul(view.getInt32(at + 12, true), PRIME_2)) | 0;
    a = Math.imul((a << 13) | (a >>> 19), PRIME_1);
    b = Math.imul((b << 13) | (b >>> 19), PRIME_1);
    c = Math.imul((c << 13) | (c >>> 19), PRIME_1);
    d = Math.imul((d << 13) | (d >>> 19), PRIME_1);
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}

/** Hash of a text (a session's or replica's id), below 2^53. The same in every process. */
export function hashText(text: string): number {
  let low = 0x811c9dc5 | 0;
  let high = PRIME_4;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, PRIME_1);
    high = Math.imul(rotate(high, 5) ^ unit, PRIME_3);
  }
  return join53(avalanche(high ^ text.length), avalanche(low + high));
}

/** One hash from two, below 2^32. */
export function mixHashes(left: number, right: number): number {
  const leftHigh = Math.trunc(left / 0x1_0000_0000) | 0;
  const rightHigh = Math.trunc(right / 0x1_0000_0000) | 0;
  const mixed =
    Math.imul((left | 0) ^ rotate(right | 0, 15), PRIME_1) + Math.imul(leftHigh ^ rotate(rightHigh, 7), PRIME_2);
  return avalanche(mixed | 0);
}
