/**
 * A round, after a batch's inputs were taken in: time is dealt with, promises are kept, then come the phases that the policy
 * names, in its order. Each phase is callable alone. A round in which nothing may have changed costs a look at the timers
 * and at the classes that are not closed.
 */
import type { Batch } from "../batch.ts";
import type { Phase } from "../policy/policy.ts";
import { dropIncomplete } from "./drop-incomplete.ts";
import { evictFor } from "./evict/evict.ts";
import { expire } from "./expire.ts";
import { growLast } from "./grow.ts";
import { placeWaiting } from "./place-waiting.ts";
import { refill } from "./refill.ts";
import { keepPromises } from "./promises.ts";

const phases: { readonly [Name in Phase]: (batch: Batch) => void } = {
  place: placeWaiting,
  consolidate: (batch) => evictFor(batch, "moved"),
  reclaim: (batch) => evictFor(batch, "reclaimed"),
  preempt: (batch) => evictFor(batch, "preempted"),
  refill,
  grow: growLast,
  "drop-incomplete": dropIncomplete,
};

/** What is evicted stops counting for its team at once: others of it may start beside what its plan was made for. */
function useWhatPlansFreed(batch: Batch): void {
  const { phases: named } = batch.world.rules;
  if (named.includes("place")) placeWaiting(batch);
  if (named.includes("grow")) growLast(batch);
}

export function runRound(batch: Batch): void {
  batch.world.calendar.nowMs = batch.nowMs;
  batch.world.past.nowMs = batch.nowMs;
  expire(batch);
  keepPromises(batch);
  const { rules } = batch.world;
  for (const phase of rules.phases) phases[phase](batch);
  if (rules.phases.length > 1) useWhatPlansFreed(batch);
  batch.endRound();
  batch.world.queue.dropEmptyClasses();
}
