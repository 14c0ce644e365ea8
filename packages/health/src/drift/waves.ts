/**
 * Remediation of drift in waves: which nodes are changed together, and the proof that a change did what it should. The
 * control plane carries it out (`server/src/remediations`).
 */
import type { FactValue } from "./profile.ts";

export interface WavePlan {
  /** Nodes of the first wave. */
  readonly canary: number;
  /** Nodes of each further wave, as a number or in percent of all nodes of the remediation. */
  readonly wave: { readonly nodes: number } | { readonly percent: number };
}

/** Number of nodes in each further wave; one at least. */
export const waveSize = (count: number, { wave }: WavePlan): number =>
  "nodes" in wave ? Math.max(1, wave.nodes) : Math.max(1, Math.floor((count * wave.percent) / 100));

/** The number of the wave of each node, in the order of the nodes; the canary is wave 0. */
export function wavesOf(count: number, plan: WavePlan): readonly number[] {
  const canary = Math.max(1, Math.min(plan.canary, count));
  const size = waveSize(count, plan);
  return Array.from({ length: count }, (_, index) => (index < canary ? 0 : 1 + Math.floor((index - canary) / size)));
}

export interface FactDeviation {
  readonly fact: string;
  readonly value: FactValue;
  readonly expected: string;
}

/** Facts of a node that differ from the desired ones, in the order of their names. */
export function factDeviations(
  facts: ReadonlyMap<string, string>,
  desired: ReadonlyMap<string, string>,
): readonly FactDeviation[] {
  return [...desired]
    .filter(([fact, expected]) => facts.get(fact) !== expected)
    .map(([fact, expected]) => ({ fact, value: facts.get(fact) ?? null, expected }))
    .toSorted((left, right) => (left.fact < right.fact ? -1 : 1));
}

/** Percent by which performance after a change is below that before it; negative: it is better. More is better. */
export const slowerPercent = (before: number, after: number): number =>
  before <= 0 ? 0 : Math.round((1000 * (before - after)) / before) / 10;
