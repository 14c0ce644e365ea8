/** Lists the queue buckets that a phase tries. */

import type { AttemptId } from "@headroom/model";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { isClosed } from "../ordering/round-order.ts";
import type { RoundOrder } from "../ordering/round-order.ts";
import { couldEverFit } from "./could-ever.ts";

/** If gangs grow in queue order, a gang that has grown requests its next worker in the same round. */
export function askForMore({ rules, queue }: World, order: RoundOrder, attemptId: AttemptId): void {
  const growing = rules.elastic.grow === "in-order" ? queue.growthOf(attemptId) : undefined;
  if (growing !== undefined) order.add(growing);
}

/** Buckets of all waiting requests that the fleet could ever hold, growth requests of this round included. */
export const classesInLine = (world: World): readonly QueueBucket[] => listClasses(world, "all");

/** Whether any of these buckets passes the test, which is cheaper than the list. */
export function isAnyInLine(world: World, passes: (bucket: QueueBucket) => boolean): boolean {
  const { queue, rules } = world;
  for (const bucket of queue.waitingClasses()) if (passes(bucket) && couldEverFit(world, bucket)) return true;
  return rules.elastic.grow === "in-order" && [...queue.growthClasses()].some(passes);
}

export function listClasses(world: World, which: "all" | "open"): QueueBucket[] {
  const { queue, rules } = world;
  const isAnyAsked = which === "all";
  // `slice` allocates exactly the needed capacity; pushing to an empty list would allocate more.
  const list = queue.waitingClasses().slice();
  let count = 0;
  for (const bucket of list)
    if ((isAnyAsked || !isClosed(world, bucket)) && couldEverFit(world, bucket)) list[count++] = bucket;
  list.length = count;
  if (rules.elastic.grow === "in-order")
    for (const bucket of queue.growthClasses()) if (isAnyAsked || !isClosed(world, bucket)) list.push(bucket);
  return list;
}
