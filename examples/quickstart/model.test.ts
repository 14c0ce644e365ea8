/**
 * Tests the quickstart's arithmetic: the kernels against plain loops, and every gradient against differences of the
 * loss.
 */
import { describe, expect, it } from "vitest";
import { Arena, matrix, turned } from "./kernel.mjs";
import { Model, draw } from "./model.mjs";
import { VOCABULARY } from "./tokens.mjs";

const noise = (seed: number, count: number) => Float32Array.from({ length: count }, (_, i) => draw(seed, i, 0) - 0.5);

describe("the matrix product", () => {
  it.each([
    [4, 8, 1],
    [8, 16, 5],
    [36, 24, 64],
    [100, 264, 33],
  ])(
    "of %i × %i with depth %i is that of plain loops, plain and with A turned, set and added",
    (rows, columns, depth) => {
      const arena = new Arena(200_000);
      const [a, b, c] = [arena.floats(rows * depth), arena.floats(depth * columns), arena.floats(rows * columns)];
      a.set(noise(1, a.length));
      b.set(noise(2, b.length));
      for (const isTurned of [false, true]) {
        const cell = (i: number, k: number) => a[isTurned ? k * rows + i : i * depth + k]!;
        const expected = Float64Array.from({ length: c.length }, (_, at) => {
          const [i, j] = [Math.floor(at / columns), at % columns];
          return Array.from({ length: depth }, (_x, k) => cell(i, k) * b[k * columns + j]!).reduce((x, y) => x + y, 0);
        });
        const left = isTurned ? turned(matrix(a, rows)) : matrix(a, depth);
        for (const keep of [0, 1] as const) {
          arena.product(matrix(c, columns), left, matrix(b, columns), rows, columns, depth, keep);
          for (const [at, value] of c.entries())
            expect(Math.abs(value - (1 + keep) * expected[at]!)).toBeLessThan(1e-5);
        }
      }
    },
  );
});

it("the exponential is within 2 units in the last place of Math.exp, and finite beyond the range of numbers", () => {
  const arena = new Arena(4_096);
  const x = arena.floats(4_096);
  x.set(noise(3, x.length).map((value) => value * 170));
  const expected = Array.from(x, Math.exp);
  arena.exp(x, x.length);
  for (const [i, value] of x.entries()) expect(Math.abs(value / expected[i]! - 1)).toBeLessThan(2 ** -22);
  x.set([-1e9, -200, 0, 1e9]);
  arena.exp(x, 4);
  expect(x[0]).toBeLessThan(1e-37);
  expect(x[1]).toBeLessThan(1e-37);
  expect(x[2]).toBe(1);
  expect(x[3]).toBeGreaterThan(1e38);
});

describe("the model", () => {
  const model = new Model({ context: 40, hidden: 32, layers: 2, seed: 3, sequences: 2 });
  for (let i = 0; i < model.size; i++) model.weights[i]! *= 1 + draw(9, i, 0);
  const text = Array.from({ length: model.rows + 1 }, (_, i) => Math.floor(draw(5, i, 0) * VOCABULARY));

  /** The mean loss, computed in float64 from the model's scores. */
  function loss(): number {
    const scores = model.forward(text);
    let total = 0;
    for (let i = 0; i < model.rows; i++) {
      const row = scores.subarray(i * VOCABULARY, (i + 1) * VOCABULARY);
      total += Math.log(row.reduce((sum, score) => sum + Math.exp(score), 0)) - row[text[i + 1]!]!;
    }
    return total / model.rows;
  }

  it("reports the loss that its scores have", () => {
    expect(model.backward(text, text.slice(1), 1)).toBeCloseTo(loss(), 5);
  });

  it.each([...model.tensor.keys()])("has the gradient of %s that differences of the loss have", (name) => {
    const { value, gradient } = model.tensor.get(name)!;
    model.backward(text, text.slice(1), 1);
    const direction = Float64Array.from(value, (_, i) => draw(7, i, 1) - 0.5);
    const along = direction.reduce((sum, each, i) => sum + each * gradient[i]!, 0);
    const before = value.slice();
    const step = 0.03 / Math.sqrt(direction.reduce((sum, each) => sum + each * each, 0));
    const at = (by: number) => {
      for (let i = 0; i < value.length; i++) value[i] = before[i]! + by * direction[i]!;
      return loss();
    };
    // The difference uses a five-point stencil. Its error is of the order of step^4, so only the rounding of float32
    // remains.
    const difference = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
    value.set(before);
    expect(Math.abs(difference - along)).toBeLessThan(0.01 * Math.abs(along));
  });

  it("scores a token by itself and those before it alone", () => {
    const first = model.forward(text).slice(0, 20 * VOCABULARY);
    const changed = text.map((token, i) => (i < 20 ? token : (token + 1) % VOCABULARY));
    expect(model.forward(changed).slice(0, 20 * VOCABULARY)).toEqual(first);
  });
});
