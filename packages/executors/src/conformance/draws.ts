/** A generator of Lehmer (Park and Miller, 1988): numbers between 0 and 1. For tests. */
export function drawsOf(seed: number): () => number {
  let state = (seed * 7_919 + 1) % 2_147_483_647;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}
