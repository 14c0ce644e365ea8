/**
 * Scores of the published comparison of placement policies on shared accelerators (Weng et al., USENIX ATC '23):
 * random, best fit, and Fragmentation Gradient Descent.
 */
import { askedMilli } from "../../state/demand-mix.ts";
import type { WorkerAsk } from "../../state/demand-mix.ts";
import type { ReadonlyDemand } from "../../state/state.ts";
import type { World } from "../../cluster/world.ts";
import { drawBelow, keyOf, largestNode } from "../../placement/score/score.ts";
import type { LargestNode, Score, ScoredNode } from "../../placement/score/score.ts";
import { Fragmentation } from "./fragmentation.ts";
import type { TypicalKind } from "./fragmentation.ts";

/** The score for a policy's node order other than Headroom's own. */
export function publishedScore({ rules, capacity, state }: World): Score {
  if (rules.placement === "random") return randomScore(() => state.sequence);
  if (rules.placement === "best-fit") return bestFitScore(largestNode(capacity.allTypes));
  return fragmentationScore(rules.typicalDemand ?? typicalOf(state.demand));
}

/** All nodes get the same score; the index draws one that holds the worker. */
function randomScore(sequence: () => number): Score {
  return {
    score: () => 0,
    accelerator({ slot }, { milli }) {
      const open: number[] = [];
      for (let index = 0; index < slot.totalCount; index++) if (slot.room(index, "idle") >= milli) open.push(index);
      return open[drawBelow(open.length, sequence(), "accelerator of a share")] as number;
    },
  };
}

/**
 * Best fit: the node with the smallest sum of remaining cores and accelerators is best. Both amounts are relative to
 * the largest node. The sum is multiplied by both denominators, so that it is an integer.
 */
function bestFitScore({ coresMilli, milli }: LargestNode): Score {
  return {
    score: ({ slot, profile }, ask) => {
      const coresLeft = slot.coresFreeMilli - ask.coresMilli;
      const milliLeft = profile.freeMilli - askedMilli(ask);
      return -(coresLeft * Math.max(1, milli) + milliLeft * Math.max(1, coresMilli));
    },
    accelerator: fullestWithRoom,
  };
}

function fullestWithRoom({ slot }: ScoredNode, { milli }: WorkerAsk): number {
  let best = -1;
  for (let index = 0; index < slot.totalCount; index++) {
    const room = slot.room(index, "idle");
    if (room >= milli && (best < 0 || room < slot.room(best, "idle"))) best = index;
  }
  return best;
}

function fragmentationScore(kinds: readonly TypicalKind[]): Score {
  const fragmentation = new Fragmentation(kinds);
  return {
    score: ({ slot }, ask) => fragmentation.grade(slot, ask).grade,
    accelerator: ({ slot }, ask) => fragmentation.grade(slot, ask).accelerator,
  };
}

/** Typical demand if the policy states none: the sample of recent demand. */
function typicalOf(demand: ReadonlyDemand | null): readonly TypicalKind[] {
  const counts = new Map<string, TypicalKind>();
  for (const kind of demand?.sample ?? []) {
    const known = counts.get(keyOf(kind));
    counts.set(keyOf(kind), { ...kind, count: (known?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
