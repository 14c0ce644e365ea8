import { describe, expect, it } from "vitest";
import { LANES, PRIME_1, PRIME_2, prefixLanes, ROUND_BYTES, STAGE_BYTES } from "./prefix-lanes.ts";

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** The same rounds in plain JavaScript. */
function absorbed(lanes: Int32Array, bytes: Uint8Array): Int32Array {
  const state = lanes.slice();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 4) {
    const lane = (at / 4) % LANES;
    const taken = ((state[lane] as number) + Math.imul(view.getInt32(at, true), PRIME_2)) | 0;
    state[lane] = Math.imul(rotate(taken, 13), PRIME_1);
  }
  return state;
}

function sumOf(lanes: Int32Array): number[] {
  const at = (index: number): number => lanes[index] as number;
  return [0, 1, 2, 3].map(
    (lane) =>
      (rotate(at(lane), 1) + rotate(at(lane + 4), 7) + rotate(at(lane + 8), 12) + rotate(at(lane + 12), 18)) | 0,
  );
}

describe("prefixLanes", () => {
  it("equals xxHash32's rounds in JavaScript, for any range of the stage", () => {
    const { lanes, sum, stage, absorb } = prefixLanes();
    let state = 1;
    const draw = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) | 0);
    for (let index = 0; index < STAGE_BYTES; index += 1) stage[index] = draw() >>> 16;
    for (const [from, to] of [
      [0, 0],
      [0, ROUND_BYTES],
      [ROUND_BYTES, 9 * ROUND_BYTES],
      [STAGE_BYTES - ROUND_BYTES, STAGE_BYTES],
      [0, STAGE_BYTES],
    ] as const) {
      const before = Int32Array.from({ length: LANES }, draw);
      lanes.set(before);
      absorb(from, to);
      const expected = absorbed(before, stage.subarray(from, to));
      expect([...lanes]).toEqual([...expected]);
      expect([...sum]).toEqual(sumOf(expected));
    }
  });
});
