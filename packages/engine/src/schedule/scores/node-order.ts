/** The order in which a placement fills the nodes that fit, by the policy's `placement`. */
import type { Layer, NodeSlot } from "../../state/node-slot.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { World } from "../../state/world.ts";
import type { Candidate } from "../place-wishes.ts";

export interface Candidates {
  readonly candidates: readonly Candidate[];
  readonly layer: Layer;
}

export function nodeOrder({ rules }: World, found: PlacementClass, { candidates, layer }: Candidates): readonly Candidate[] {
  const isPacking = rules.placement !== "spread";
  const share = found.gang.shareMilli;
  const rank = ({ slot }: Candidate): number => {
    // What is idle now is left to others until the plan's time comes.
    if (layer === "later") return slot.freeCount;
    const unallocated = slot.freeCount + (layer === "idle" ? 0 : slot.comingCount);
    return isPacking ? unallocated : -unallocated;
  };
  const isOpen = share === undefined ? () => 0 : ({ slot }: Candidate) => (hasOpenShare(slot, share, layer) ? 0 : 1);
  const fitsIdle = ({ slot }: Candidate): number =>
    layer !== "coming" || slot.workersThatFit(found.gang, 1, "idle") > 0 ? 0 : 1;
  return candidates
    .map((candidate) => ({ candidate, keys: [isOpen(candidate), fitsIdle(candidate), rank(candidate)] as const }))
    .toSorted((left, right) => {
      const [leftOpen, leftIdle, leftRank] = left.keys;
      const [rightOpen, rightIdle, rightRank] = right.keys;
      return (
        leftOpen - rightOpen ||
        leftIdle - rightIdle ||
        leftRank - rightRank ||
        left.candidate.slot.position - right.candidate.slot.position
      );
    })
    .map(({ candidate }) => candidate);
}

/** Whether an accelerator of which a part is taken has room for the share. */
function hasOpenShare(slot: NodeSlot, milli: number, layer: Layer): boolean {
  for (let index = 0; index < slot.totalCount; index++) {
    if (!slot.isWhole(index, layer) && slot.room(index, layer) >= milli) return true;
  }
  return false;
}
