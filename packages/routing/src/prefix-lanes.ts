/**
 * The inner loop of the prefix hash in WebAssembly SIMD: 16 lanes of 32 bits, each a round of xxHash32
 * (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) for each 4 bytes, 64 bytes at a time. The same loop in JavaScript
 * takes three times as long. Opcodes are those of the WebAssembly specification 2.0, chapter 5.4.
 *
 * Memory: lanes at 0, their sum over the four vectors at `SUM`, bytes from `STAGE` on. One instance serves all hashers of the
 * process, because each reserves gigabytes of address space; a hasher keeps its lanes itself between two calls.
 */

/** The part of the global object that is used here: the package is typed without those of Node and of browsers. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Readonly<Record<string, unknown>> };
};

/** Bytes of a round; the lanes take 4 bytes each. */
export const ROUND_BYTES = 64;
export const LANES = 16;
const SUM = 64;
const STAGE = 128;
/** Maximum number of bytes in one call of `absorb`. */
export const STAGE_BYTES = 65_536;
const PAGE_BYTES = 65_536;

export const PRIME_1: number = 0x9e3779b1 | 0;
export const PRIME_2: number = 0x85ebca77 | 0;

export interface PrefixLanes {
  readonly lanes: Int32Array;
  /** Four numbers from the 16 lanes, set by each `absorb`. */
  readonly sum: Int32Array;
  readonly stage: Uint8Array;
  /** Hashes the bytes `[from, to)` of the stage into the lanes. Their number is a multiple of `ROUND_BYTES`. */
  absorb(from: number, to: number): void;
}

let shared: PrefixLanes | undefined;

/** Compiled at the first call, because a browser may forbid WebAssembly, also to pages that never hash. */
export function prefixLanes(): PrefixLanes {
  shared ??= instantiate();
  return shared;
}

function instantiate(): PrefixLanes {
  const memory = new WebAssembly.Memory({ initial: Math.ceil((STAGE + STAGE_BYTES) / PAGE_BYTES) });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(assembled()), { host: { memory } });
  const absorb = exports["absorb"] as (from: number, to: number) => void;
  return {
    lanes: new Int32Array(memory.buffer, 0, LANES),
    sum: new Int32Array(memory.buffer, SUM, 4),
    stage: new Uint8Array(memory.buffer, STAGE, STAGE_BYTES),
    absorb: (from, to) => absorb(STAGE + from, STAGE + to),
  };
}

type Code = readonly (number | Code)[];

const I32 = 0x7f;
const V128 = 0x7b;

/** LEB128 of a number that is not negative. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

/** LEB128 of a signed number. */
function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}

const simd = (opcode: number, ...more: number[]): Code => [0xfd, ...unsigned(opcode), ...more];
const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const i32 = (value: number): Code => [0x41, ...signed(value)];
const load = (offset: number): Code => simd(0x00, 0, ...unsigned(offset));
const store = (offset: number): Code => simd(0x0b, 0, ...unsigned(offset));
const or = simd(0x50);
const add = simd(0xae);
const multiply = simd(0xb5);
const splat = simd(0x11);
const vectors = [0, 1, 2, 3] as const;

/** Rotates each number of a local to the left. */
function rotated(local: number, bits: number): Code {
  return [get(local), i32(bits), simd(0xab), get(local), i32(32 - bits), simd(0xad), or];
}

function absorbBody(): Code {
  const [at, end, prime1, prime2, lane] = [0, 1, 2, 3, 4];
  const round = vectors.map((index) => [
    [get(lane + index), get(at), load(16 * index), get(prime2), multiply, add, set(lane + index)],
    [rotated(lane + index, 13), get(prime1), multiply, set(lane + index)],
  ]);
  const rotations = [1, 7, 12, 18] as const;
  return [
    [i32(PRIME_1), splat, set(prime1), i32(PRIME_2), splat, set(prime2)],
    vectors.map((index) => [i32(0), load(16 * index), set(lane + index)]),
    [0x02, 0x40, 0x03, 0x40], // block, loop
    [get(at), get(end), 0x4f, 0x0d, 1], // leaves the loop when at >= end
    round,
    [get(at), i32(ROUND_BYTES), 0x6a, set(at), 0x0c, 0],
    [0x0b, 0x0b],
    vectors.map((index) => [i32(0), get(lane + index), store(16 * index)]),
    i32(0),
    vectors.map((index) =>
      index === 0 ? rotated(lane, rotations[0]) : [rotated(lane + index, rotations[index]), add],
    ),
    store(SUM),
  ];
}

function bytesOf(code: Code): number[] {
  return code.flatMap((each) => (typeof each === "number" ? each : bytesOf(each)));
}

function assembled(): Uint8Array {
  const sized = (code: Code): Code => [...unsigned(bytesOf(code).length), code];
  const section = (id: number, ...items: Code[]): Code => [id, sized([...unsigned(items.length), items])];
  const text = (name: string): Code => sized(Array.from(name, (each) => each.charCodeAt(0)));
  const locals = [6, V128];
  const module: Code = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [0x60, 2, I32, I32, 0]),
    section(2, [text("host"), text("memory"), 0x02, 0, 1]),
    section(3, [0]),
    section(7, [text("absorb"), 0x00, 0]),
    section(10, sized([1, ...locals, absorbBody(), 0x0b])),
  ];
  return Uint8Array.from(bytesOf(module));
}
