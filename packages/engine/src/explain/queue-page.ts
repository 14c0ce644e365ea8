/** What waits, read in the order of the policy without sorting it: the classes are sorted already and are merged. */
import { worldOf } from "../engine.ts";
import type { Workload } from "../model/workload.ts";
import type { Engine } from "../ready.ts";
import { waitingTaskCount } from "../state/ready-task.ts";

/**
 * Waiting workloads with a task that may start now, in the order in which the policy considers them, from `offset` on.
 * Those in back-off are not in it. Costs what the page holds and what it skips.
 */
export function queuePage(
  engine: Engine,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): readonly Workload[] {
  const { queue } = worldOf(engine);
  const heads = [...queue.classes()].flatMap(({ waiting }) => {
    const rest = waiting.from(0);
    const first = rest.next();
    return first.done === true ? [] : [{ workload: first.value, rest }];
  });
  const page: Workload[] = [];
  for (let position = 0; heads.length > 0 && page.length < limit; position++) {
    let best = 0;
    for (let index = 1; index < heads.length; index++) {
      if (
        queue.compare(
          (heads[index] as (typeof heads)[number]).workload,
          (heads[best] as (typeof heads)[number]).workload,
        ) < 0
      )
        best = index;
    }
    const head = heads[best] as (typeof heads)[number];
    if (position >= offset) page.push(head.workload);
    const next = head.rest.next();
    if (next.done === true) heads.splice(best, 1);
    else head.workload = next.value;
  }
  return page;
}

/** How many workloads the policy considers before this one. */
export function queuePosition(engine: Engine, { id }: Pick<Workload, "id">): number {
  const { queue, state } = worldOf(engine);
  const workload = state.workloads.get(id);
  let position = 0;
  if (workload !== undefined) for (const { waiting } of queue.classes()) position += waiting.rank(workload);
  return position;
}

/** Totals over everything that may start now; costs one step for each workload that waits. */
export function waitingSummary(engine: Engine): {
  readonly workloads: number;
  readonly tasks: number;
  readonly accelerators: number;
} {
  let workloads = 0;
  let tasks = 0;
  let accelerators = 0;
  for (const { waiting, gang } of worldOf(engine).queue.classes()) {
    workloads += waiting.length;
    for (const workload of waiting.from(0)) {
      const count = waitingTaskCount(workload);
      tasks += count;
      accelerators += count * gang.workers * gang.accelerators;
    }
  }
  return { workloads, tasks, accelerators };
}
