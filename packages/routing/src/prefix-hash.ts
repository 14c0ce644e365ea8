import type { PrefixBlocks } from "./contract.ts";
import { LANES, PRIME_1, PRIME_2, prefixLanes, ROUND_BYTES, STAGE_BYTES, type PrefixLanes } from "./prefix-lanes.ts";

/**
 * Hashes of a prompt's prefixes, computed from its bytes as they arrive. Each hash covers everything from the beginning
 * of the prompt to a boundary. It is not a cryptographic hash: a collision costs a cache miss and nothing else.
 * Boundaries lie every 512 bytes up to 4 KiB, and then at distances that grow by an eighth: 25 for 32 kB, 61 for 2 MB.
 * They depend on the offset alone, so that two prompts with the same beginning have the same boundaries.
 */
const LINEAR_BYTES = 4096;
const FIRST_BYTES = 512;
/**
 * Maximum number of boundaries, which lie from 4 KiB to 16 MiB in steps of an eighth. Bytes after the last boundary are
 * not hashed.
 */
const MAX_BOUNDARIES = 80;

const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f;

/** Byte offsets of the boundaries: whole rounds. */
const prefixBoundaries: readonly number[] = boundaries();

function boundaries(): number[] {
  const offsets: number[] = [];
  for (let offset = FIRST_BYTES; offsets.length < MAX_BOUNDARIES;) {
    offsets.push(offset);
    offset += offset < LINEAR_BYTES ? FIRST_BYTES : Math.floor(offset / 8 / ROUND_BYTES) * ROUND_BYTES;
  }
  return offsets;
}

/** The final mixing step (avalanche) of xxHash32. */
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
  readonly #shared: PrefixLanes = prefixLanes();
  readonly #lanes = new Int32Array(LANES);
  readonly #carry = new Uint8Array(ROUND_BYTES);
  #carryCount = 0;
  #offset = 0;

  /** `bytesPerToken` converts the byte offsets of boundaries to tokens. It is about 4 for English text. */
  constructor(bytesPerToken = 4) {
    this.#bytesPerToken = bytesPerToken;
  }

  /** Starts a prompt. Prompts with different seeds (model, tenant) share no hashes. */
  begin(seed: number): void {
    const low = seed | 0;
    const high = Math.trunc(seed / 0x1_0000_0000) | 0;
    for (let lane = 0; lane < LANES; lane += 4) {
      this.#lanes[lane] = low + PRIME_1 + PRIME_2 + lane;
      this.#lanes[lane + 1] = high + PRIME_2 + lane;
      this.#lanes[lane + 2] = low + lane;
      this.#lanes[lane + 3] = high - PRIME_1 + lane;
    }
    this.#carryCount = 0;
    this.#offset = 0;
    this.count = 0;
  }

  /** Hashes the next bytes of the prompt, from `start` to before `end`. It keeps no reference to them. */
  update(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    const { stage, lanes } = this.#shared;
    let from = start;
    const missing = this.#carryCount === 0 ? 0 : Math.min(ROUND_BYTES - this.#carryCount, end - from);
    if (missing > 0) from = this.#keep(bytes, from, from + missing);
    lanes.set(this.#lanes);
    if (this.#carryCount === ROUND_BYTES) {
      this.#carryCount = 0;
      stage.set(this.#carry);
      this.#absorb(ROUND_BYTES);
    }
    while (end - from >= ROUND_BYTES && this.count < MAX_BOUNDARIES) {
      const length = Math.min(end - from, STAGE_BYTES) & -ROUND_BYTES;
      stage.set(bytes.subarray(from, from + length));
      this.#absorb(length);
      from += length;
    }
    this.#lanes.set(lanes);
    if (this.count < MAX_BOUNDARIES) this.#keep(bytes, from, end);
  }

  /** Keeps bytes that do not fill a round. Returns `end`. */
  #keep(bytes: Uint8Array, start: number, end: number): number {
    for (let from = start; from < end; from += 1) this.#carry[this.#carryCount++] = bytes[from] as number;
    return end;
  }

  /** Takes `length` bytes of the stage, whole rounds. */
  #absorb(length: number): void {
    let from = 0;
    while (from < length) {
      const boundary = prefixBoundaries[this.count];
      if (boundary === undefined) return;
      const to = Math.min(length, from + boundary - this.#offset);
      this.#shared.absorb(from, to);
      this.#offset += to - from;
      from = to;
      if (this.#offset === boundary) this.#close(boundary);
    }
  }

  #close(boundary: number): void {
    const { sum } = this.#shared;
    const a = sum[0] as number;
    const b = sum[1] as number;
    const c = sum[2] as number;
    const d = sum[3] as number;
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

/** Hash of a text, such as a session's or replica's id, below 2^53. It is the same in every process. */
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

/** One hash, below 2^32, of two hashes. */
export function mixHashes(left: number, right: number): number {
  const leftHigh = Math.trunc(left / 0x1_0000_0000) | 0;
  const rightHigh = Math.trunc(right / 0x1_0000_0000) | 0;
  const mixed =
    Math.imul((left | 0) ^ rotate(right | 0, 15), PRIME_1) + Math.imul(leftHigh ^ rotate(rightHigh, 7), PRIME_2);
  return avalanche(mixed | 0);
}
