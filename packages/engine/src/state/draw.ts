import { hashInto } from "./hash.ts";

/**
 * A uniform 32-bit unsigned integer that depends on nothing but its arguments: the engine's and the simulator's only
 * source of randomness. No generator is kept, so a fork or a replay draws the same numbers.
 */
export function draw(seed: number, sequence: number, purpose: string): number {
  // Sequences may exceed 32 bits; both halves take part.
  const lanes = {
    a: seed | 0,
    b: sequence | 0,
    c: Math.floor(sequence / 4294967296) | 0,
    d: Math.floor(seed / 4294967296) | 0,
  };
  hashInto(lanes, purpose);
  return lanes.a >>> 0;
}
