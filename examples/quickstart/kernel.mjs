// The two inner loops of the model, as a WebAssembly module that this file assembles: a matrix product and an
// exponential, four numbers at a time. The module uses plain SIMD, not relaxed SIMD: IEEE 754 fixes every bit, so a
// resumed run repeats a run exactly on any machine. V8 compiles the product to about 8 floating-point operations per
// cycle; the same loop in JavaScript reaches one. Opcodes are those of the WebAssembly specification 2.0, chapter 5.4.

/** LEB128, the variable-length integer of WebAssembly. */
const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >>> 7)]);
const signed = (n) => (n >= -64 && n < 64 ? [n & 127] : [(n & 127) | 128, ...signed(n >> 7)]);
const simd = (opcode, ...more) => [0xfd, ...unsigned(opcode), ...more];
const F32X4 = {
  add: simd(0xe4),
  sub: simd(0xe5),
  mul: simd(0xe6),
  min: simd(0xe8),
  max: simd(0xe9),
  round: simd(0x6a),
};
const I32X4 = { add: simd(0xae), fromFloat: simd(0xf8), shiftLeft: simd(0xab) };
const load = (offset) => simd(0x00, 2, ...unsigned(offset));
const splatLoad = simd(0x09, 2, 0); // copies one number into all four lanes
const store = (offset) => simd(0x0b, 2, ...unsigned(offset));
const floats = (value) => simd(0x0c, ...new Uint8Array(Float32Array.of(value, value, value, value).buffer));
const ints = (value) => simd(0x0c, ...new Uint8Array(Int32Array.of(value, value, value, value).buffer));
const get = (local) => [0x20, ...unsigned(local)];
const set = (local) => [0x21, ...unsigned(local)];
const i32 = (value) => [0x41, ...signed(value)];
const [add, subtract, multiply] = [[0x6a], [0x6b], [0x6c]];
const advance = (local, by) => [get(local), by, add, set(local)];
/** Repeats the body while `count` is above zero; each pass reduces it by `by`. */
const countdown = (count, by, body) => [
  [0x03, 0x40],
  body,
  get(count),
  i32(by),
  subtract,
  [0x22, ...unsigned(count)],
  i32(0),
  [0x4a],
  [0x0d, 0],
  [0x0b],
];

/**
 * The kernel for C = A·B (+ C): `rows` × `columns` results of `depth` products each. It handles 4 rows and 8 columns at
 * a time; strides are in bytes.
 */
function matrixProduct() {
  const [c, a, b, rows, columns, depth, aRow, aColumn, bRow, cRow, keep] = Array.from({ length: 11 }, (_, i) => i);
  const [column, left, product, bAt, cAt, a0] = [11, 12, 13, 14, 15, 16]; // a0 to a0 + 3: the four rows of A
  const [b0, b1, factor, sums] = [20, 21, 22, 23]; // sums to sums + 7: four rows of two vectors
  const four = [0, 1, 2, 3];
  const sum = (row, half) => sums + 2 * row + half;
  const rowOfC = (row) => [get(cAt), get(cRow), i32(row), multiply, add];
  const multiplyAdd = four.map((row) => [
    [get(a0 + row), splatLoad, set(factor)],
    [0, 1].map((half) => [get(sum(row, half)), get(factor), get(b0 + half), F32X4.mul, F32X4.add, set(sum(row, half))]),
    advance(a0 + row, get(aColumn)),
  ]);
  const tile = [
    [get(b), get(column), add, set(bAt), get(c), get(column), add, set(cAt)],
    four.map((row) => [get(a), get(aRow), i32(row), multiply, add, set(a0 + row)]),
    four.map((row) => [0, 1].map((half) => [floats(0), set(sum(row, half))])),
    [get(keep), [0x04, 0x40]], // if
    four.map((row) => [0, 1].map((half) => [rowOfC(row), load(16 * half), set(sum(row, half))])),
    [0x0b],
    [get(depth), set(product)],
    countdown(product, 1, [
      get(bAt),
      load(0),
      set(b0),
      get(bAt),
      load(16),
      set(b1),
      multiplyAdd,
      advance(bAt, get(bRow)),
    ]),
    four.map((row) => [0, 1].map((half) => [rowOfC(row), get(sum(row, half)), store(16 * half)])),
  ];
  const body = countdown(rows, 4, [
    [i32(0), set(column), get(columns), set(left)],
    countdown(left, 8, [tile, advance(column, i32(32))]),
    advance(a, [get(aRow), i32(4), multiply]),
    advance(c, [get(cRow), i32(4), multiply]),
  ]);
  return { parameters: 11, integers: 9, vectors: 11, body };
}

/**
 * The kernel for x = e^x, in place, for `count` numbers in steps of 4. It computes 2^n · e^r with |r| ≤ ln 2 / 2 by the
 * polynomial of Cephes' expf.
 */
function exponential() {
  const [x, count, value, n, power] = [0, 1, 2, 3, 4];
  const horner = [1.9875691e-4, 1.3981999e-3, 8.3334519e-3, 4.1665796e-2, 1.6666665e-1, 0.5, 1, 1];
  const body = countdown(count, 4, [
    [get(x), load(0), floats(-87), F32X4.max, floats(88), F32X4.min, set(value)],
    [get(value), floats(Math.LOG2E), F32X4.mul, F32X4.round, set(n)],
    [get(value), get(n), floats(0.693359375), F32X4.mul, F32X4.sub], // ln 2 in two parts, so that r is exact enough
    [get(n), floats(-2.1219444e-4), F32X4.mul, F32X4.sub, set(value), floats(horner[0]), set(power)],
    horner.slice(1).map((factor) => [get(power), get(value), F32X4.mul, floats(factor), F32X4.add, set(power)]),
    [get(x), get(power), get(n), I32X4.fromFloat, ints(127), I32X4.add, i32(23), I32X4.shiftLeft, F32X4.mul, store(0)],
    advance(x, i32(16)),
  ]);
  return { parameters: 2, integers: 0, vectors: 3, body };
}

function assemble(functions) {
  const list = (items) => [...unsigned(items.length), ...items.flat(Infinity)];
  const section = (id, items) => [id, ...sized(list(items))];
  const sized = (bytes) => [...unsigned(bytes.length), ...bytes];
  const text = (name) => sized([...Buffer.from(name)]);
  const code = ({ integers, vectors, body }) =>
    sized([
      ...list([
        [...unsigned(integers), 0x7f],
        [...unsigned(vectors), 0x7b],
      ]),
      ...body.flat(Infinity),
      0x0b,
    ]);
  const entries = Object.values(functions);
  return Uint8Array.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(
      1,
      entries.map(({ parameters }) => [0x60, ...list(Array.from({ length: parameters }, () => 0x7f)), 0]),
    ),
    ...section(2, [[...text("host"), ...text("memory"), 0x02, 0, 1]]),
    ...section(
      3,
      entries.map((_, i) => i),
    ),
    ...section(
      7,
      Object.keys(functions).map((name, i) => [...text(name), 0x00, i]),
    ),
    ...section(10, entries.map(code)),
  ]);
}

const compiled = new WebAssembly.Module(assemble({ matrixProduct: matrixProduct(), exponential: exponential() }));
const PAGE = 65_536;

/**
 * Memory for `capacity` numbers that kernels and JavaScript share. `floats(n)` allocates the next n numbers, all zero.
 */
export class Arena {
  #used = 0;
  #memory;
  constructor(capacity) {
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil((4 * capacity) / PAGE) + 1 });
    const { matrixProduct, exponential } = new WebAssembly.Instance(compiled, { host: { memory: this.#memory } })
      .exports;
    /** Computes x = e^x for `count` numbers from `x` on. `count` is a multiple of 4. */
    this.exp = (x, count) => exponential(x.byteOffset, count);
    /**
     * Computes C = A·B, or C += A·B if `keep` is 1. Matrices are `{ at, row, column }`: byte address and strides in
     * bytes.
     */
    this.product = (c, a, b, rows, columns, depth, keep = 0) =>
      matrixProduct(c.at, a.at, b.at, rows, columns, depth, a.row, a.column, b.row, c.row, keep);
  }
  floats(count) {
    const view = new Float32Array(this.#memory.buffer, this.#used, count);
    this.#used += Math.ceil(count / 16) * 64;
    return view;
  }
}

/** A matrix that begins at an index of a vector and has rows of `width` numbers. `turned`: its transpose. */
export const matrix = (vector, width, start = 0) => ({ at: vector.byteOffset + 4 * start, row: 4 * width, column: 4 });
export const turned = ({ at, row, column }) => ({ at, row: column, column: row });
