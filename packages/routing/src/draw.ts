/** A seeded source for `RouterOptions.draw`: xorshift32 (Marsaglia, "Xorshift RNGs", 2003). */
export function seededDraw(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) | 0;
  if (state === 0) state = 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
