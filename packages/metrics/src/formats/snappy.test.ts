import { expect, it } from "vitest";
import { compressed, uncompressed } from "./snappy.ts";

const bytesOf = (...bytes: readonly number[]): Uint8Array => Uint8Array.from(bytes);
const MAX = 1 << 20;

/** Numbers of a fixed sequence, so that a failure can be repeated. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

it("reads the literals and copies of the format's description", () => {
  // "Wikipedia" in a literal; a copy with an overlap repeats "ab".
  expect(uncompressed(bytesOf(9, 8 << 2, ...Buffer.from("Wikipedia")), MAX)).toEqual(
    Uint8Array.from(Buffer.from("Wikipedia")),
  );
  expect(uncompressed(bytesOf(8, 1 << 2, 97, 98, (5 << 2) | 2, 2, 0), MAX)).toEqual(
    Uint8Array.from(Buffer.from("abababab")),
  );
});

it("brings back every text that it compresses", () => {
  const below = generator(7);
  for (let turn = 0; turn < 200; turn++) {
    const length = below(turn < 150 ? 400 : 150_000);
    const letters = 1 + below(turn % 2 === 0 ? 4 : 255);
    const input = Uint8Array.from({ length }, () => below(letters));
    expect(uncompressed(compressed(input), MAX)).toEqual(input);
  }
  const text = new TextEncoder().encode('headroom_pool_accelerators{pool="a",state="held"} 1\n'.repeat(2_000));
  expect(compressed(text).length).toBeLessThan(text.length / 10);
});

it.each([
  ["nothing", []],
  ["a length without an end", [255, 255, 255, 255, 255, 255]],
  ["more content than allowed", [0x81, 0x80, 0x40]],
  ["a literal of 2^31 bytes, on which snappyjs loops", [4, 63 << 2, 255, 255, 255, 127, 1, 2, 3, 4]],
  ["a copy from before the beginning", [4, (3 << 2) | 2, 1, 0]],
  ["a copy with the offset 0", [8, 3 << 2, 1, 2, 3, 4, (3 << 2) | 2, 0, 0]],
  ["less content than announced", [9, 0, 1]],
  ["more content than announced", [1, 1 << 2, 1, 2]],
  ["an end within a copy", [8, 3 << 2, 1, 2, 3, 4, 3 | (3 << 2), 1]],
])("refuses %s", (_, bytes) => {
  expect(uncompressed(bytesOf(...bytes), MAX)).toBeNull();
});

it("ends for every damaged text", () => {
  const below = generator(11);
  const whole = compressed(new TextEncoder().encode("accelerator node pool ".repeat(50)));
  for (let turn = 0; turn < 5_000; turn++) {
    const damaged = Uint8Array.from(whole);
    for (let flips = 1 + below(4); flips > 0; flips--) damaged[below(damaged.length)] = below(256);
    const read = uncompressed(damaged.subarray(0, 1 + below(damaged.length)), MAX);
    expect(read?.length ?? 0).toBeLessThanOrEqual(MAX);
  }
});
