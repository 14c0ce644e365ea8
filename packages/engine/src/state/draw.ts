/** A uniform 32-bit unsigned integer that depends on nothing but its arguments: `draw(seed, sequence, purpose)`. */
export function draw(_seed: number, _sequence: number, _purpose: string): number {
  throw new Error("being written");
}
