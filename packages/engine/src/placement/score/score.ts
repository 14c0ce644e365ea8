/**
 * Scores of nodes that a policy's `placement` can use; a larger score is better. All are integers, so that every
 * machine decides the same.
 */
import { WHOLE_MILLI, draw } from "@headroom/model";
import type { WorkerAsk } from "../../state/demand-mix.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { FreeProfile } from "./free-profile.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { RebalanceValue } from "./rebalance-value.ts";
import { VALUE_PER_MILLI } from "./rebalance-value.ts";

/** A node with its free capacity as an immutable value. */
export interface ScoredNode {
  readonly slot: NodeSlot;
  readonly profile: FreeProfile;
}

export interface Score {
  /** The score of a node that holds the worker. */
  score(node: ScoredNode, ask: WorkerAsk): number;
  /** The accelerator from which the node would take a fraction. */
  accelerator(node: ScoredNode, ask: WorkerAsk): number;
}

/** The largest amount of each resource that any node has. */
export interface LargestNode {
  readonly coresMilli: number;
  readonly milli: number;
}

export function largestNode(types: readonly TypeCapacity[]): LargestNode {
  let coresMilli = 0;
  let milli = 0;
  for (const { slots } of types)
    for (const { node, totalCount } of slots) {
      coresMilli = Math.max(coresMilli, node.coresMilli);
      milli = Math.max(milli, totalCount * WHOLE_MILLI);
    }
  return { coresMilli, milli };
}

/** Key that is the same for workers with equal requests. */
export const keyOf = ({ accelerators, milli, coresMilli, memoryMib }: WorkerAsk): string =>
  `${accelerators}|${milli}|${coresMilli}|${memoryMib}`;

export const isShare = ({ accelerators, milli }: WorkerAsk): boolean => accelerators > 0 && milli < WHOLE_MILLI;

/** The lowest accelerator with exactly this free amount. */
function withRoom(slot: NodeSlot, room: number): number {
  let index = 0;
  while (slot.room(index, "idle") !== room) index++;
  return index;
}

/** A number below `count`, derived from the state's sequence, so that a replay draws the same number. */
export const drawBelow = (count: number, sequence: number, purpose: string): number =>
  Math.floor((draw(0, sequence, purpose) * count) / 4_294_967_296);

/**
 * Value of all cores of the largest node, in thousandths of an accelerator. It is small, so that it only makes fuller
 * nodes preferable.
 */
const CORES_WORTH_MILLI = 50;
/**
 * Factor by which scores are multiplied, so that the free thousandths of a node can be subtracted to break ties: of
 * equal scores, the fuller node wins.
 */
export const TIE_STEPS = 131_072;

/**
 * Headroom's own score: the smallest loss of capacity for recent demand. The loss is the value of the node for the
 * sample of recent requests before the placement, minus its value afterwards.
 */
export function balancedScore(valueFor: (type: string) => RebalanceValue, largest: LargestNode): Score {
  return {
    score(node, ask) {
      const { slot, profile } = node;
      const coresLeft = slot.coresFreeMilli - ask.coresMilli;
      const coresWorth = Math.floor((CORES_WORTH_MILLI * coresLeft) / Math.max(1, largest.coresMilli));
      const value = valueFor(slot.node.acceleratorType);
      const before = value.value(profile, slot.coresFreeMilli, slot.memoryFreeMib);
      const gain = bestAfter(value, node, ask).value - before - VALUE_PER_MILLI * coresWorth;
      return gain * TIE_STEPS - Math.min(profile.freeMilli, TIE_STEPS - 1);
    },
    accelerator(node, ask) {
      return withRoom(node.slot, bestAfter(valueFor(node.slot.node.acceleratorType), node, ask).room);
    },
  };
}

/**
 * The value of the node after the best way to take the request. Among equally good ways, a fraction is taken from the
 * fullest accelerator.
 */
function bestAfter(
  value: RebalanceValue,
  { slot, profile }: ScoredNode,
  ask: WorkerAsk,
): { readonly value: number; readonly room: number } {
  const cores = slot.coresFreeMilli - ask.coresMilli;
  const memory = slot.memoryFreeMib - ask.memoryMib;
  if (!isShare(ask))
    return { value: value.value(profile.takeWhole(ask.accelerators), cores, memory), room: WHOLE_MILLI };
  let best = { value: -1, room: 0 };
  for (const { room, after } of profile.shareOptions(ask.milli)) {
    const found = value.value(after, cores, memory);
    if (found > best.value) best = { value: found, room };
  }
  return best;
}
