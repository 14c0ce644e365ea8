/** Advice on orders as a resource of the API. */
import type { Engine } from "@headroom/engine";
import { orderAdvice } from "@headroom/explain";
import { poolName, workloadId } from "@headroom/model";
import { refuse } from "@headroom/protocol";
import type { AdviceQuery, OrderAdvice } from "@headroom/protocol";

/** Throws a refusal if the question names a pool or a workload that does not exist. */
export function checkAdviceQuery({ state }: Engine, { pool, workload }: AdviceQuery): void {
  if (pool !== undefined && !state.pools.has(poolName(pool)))
    throw refuse("unknownPoolName", `There is no pool ${pool}.`);
  if (workload !== undefined && !state.workloads.has(workloadId(workload)))
    throw refuse("unknownWorkload", `There is no workload ${workload}.`);
}

export function orderAdviceView(engine: Engine, query: AdviceQuery, nowMs: number): OrderAdvice {
  const { pool = null, workload = null, nodes: nodesMax } = query;
  const advice = orderAdvice(engine, { pool, workload, nodesMax }, nowMs);
  const orders = advice.orders.map((each) => ({
    ...each,
    workloads: [...each.workloads],
    others: [...each.others],
    expected:
      each.leadTime === null ? null : { p50AtMs: nowMs + each.leadTime.p50Ms, p95AtMs: nowMs + each.leadTime.p95Ms },
  }));
  const view = { ...advice, atMs: nowMs, orders, unserved: [...advice.unserved] };
  return { ...view, sentence: sentenceOf(view) };
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function sentenceOf(advice: Omit<OrderAdvice, "sentence">): string {
  const { orders, taskCountWithout, unservedCount, isComplete } = advice;
  const parts = orders.map(
    ({ pool, nodes, taskCount, workloadCount }) =>
      `${counted(nodes, "node")} of ${pool} would start ${counted(taskCount, "task")} of ${counted(workloadCount, "workload")}`,
  );
  const none = isComplete ? "No work waits" : "The queue is too long to be looked at to its end";
  const nothing = taskCountWithout + unservedCount === 0 ? none : "No order would start waiting work";
  const first = parts.length === 0 ? nothing : parts.join("; ");
  const without = taskCountWithout === 0 ? "" : ` ${counted(taskCountWithout, "task")} start without an order.`;
  const never = unservedCount === 0 ? "" : ` No order starts ${counted(unservedCount, "workload")}.`;
  return `${first}.${without}${never}`;
}
