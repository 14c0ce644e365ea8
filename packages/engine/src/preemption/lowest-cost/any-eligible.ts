/** Whether any waiting request may free capacity, from totals of the queue: rules out most rounds without reading the requests. */
import type { EvictionReason, Workload } from "@headroom/model";
import type { World } from "../../cluster/world.ts";
import type { WaitingLines } from "../../cluster/waiting-lines.ts";
import { isAnyAlwaysPreemptible } from "../eligibility.ts";

/** Returns false only if no waiting request is eligible for this reason. */
export function mayAnyBeEligible(world: World, reason: EvictionReason): boolean {
  const { evictable, terminating, queue, capacity } = world;
  const { lines } = queue;
  if (reason === "incomplete" || evictable.size === 0) return false;
  if (lines === null) return true;
  if (reason === "migrated")
    return isAnyAlwaysPreemptible(world) && capacity.allTypes.some((type) => type.freeCount >= lines.acceleratorsMin);
  if (terminating.size > 0) return true;
  return reason === "reclaimed" ? mayAnyReclaim(world, lines) : mayAnyPreempt(world, lines);
}

/** A request may reclaim only from other teams. */
const mayAnyReclaim = ({ evictable }: World, { onlyTeam }: WaitingLines): boolean =>
  evictable.size > 1 || onlyTeam === null || !evictable.has(onlyTeam);

/** A request may preempt only work of lower priority. Without an order by priority the highest one is not known. */
function mayAnyPreempt({ evictable, rules }: World, lines: WaitingLines): boolean {
  if (rules.order[0] !== "priority") return true;
  let highest = Number.NEGATIVE_INFINITY;
  for (const { buckets } of lines.all) {
    const head = buckets.first()?.waiting.first() as Workload;
    highest = Math.max(highest, head.spec.priority);
  }
  for (const work of evictable.values())
    if (work.for("any").some(({ priorityMin }) => priorityMin < highest)) return true;
  return false;
}
