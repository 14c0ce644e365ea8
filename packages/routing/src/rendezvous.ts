/**
 * Weighted rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998; weights
 * after Schindelhauer and Schomaker, "Weighted distributed hash tables", 2005). A session goes to the replica with the
 * smallest -ln(u) / weight, where u is the hash of session and replica. The result depends on the ids alone, so every
 * process decides the same. When a replica joins or leaves, only the sessions that it gains or loses move.
 */
import { mixHashes } from "./prefix-hash.ts";

/** Distance of a session from a replica; the smallest wins. */
export function rendezvousDistance(sessionHash: number, replicaHash: number, weight: number): number {
  return negativeLog((mixHashes(sessionHash, replicaHash) + 0.5) / 0x1_0000_0000) / weight;
}

/**
 * -log2(u) for u in (0, 1). It uses only operations with exact rounding, so that every JavaScript engine computes the
 * same bits: the exponent, and a series in (m - 1) / (m + 1) for the mantissa. The absolute error is below 2e-5.
 */
export function negativeLog(u: number): number {
  let exponent = 0;
  let mantissa = u;
  while (mantissa < 0.5) {
    mantissa *= 2;
    exponent += 1;
  }
  const t = (1 - mantissa) / (1 + mantissa);
  const t2 = t * t;
  return exponent + 2.8853900817779268 * t * (1 + t2 * (1 / 3 + t2 * (1 / 5 + t2 * (1 / 7 + t2 / 9))));
}
