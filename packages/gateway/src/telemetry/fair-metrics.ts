/** Pools whose requests wait in the gateway for their turn. */
import { priorities } from "../fairness/priority.ts";
import type { Pool } from "../replicas/pool.ts";
import { escaped, family } from "./prometheus-text.ts";

export function fairText(pools: Iterable<Pool>): string {
  const waiting: string[] = [];
  const byPriority: string[] = [];
  const displaced: string[] = [];
  const running: string[] = [];
  const stopped: string[] = [];
  for (const { name, fair } of pools) {
    if (fair === undefined) continue;
    const labels = `{name="${escaped(name)}"`;
    const { runningLineCount: lines } = fair;
    waiting.push(`${labels},kind="request"} ${fair.waitingCount}`, `${labels},kind="line"} ${fair.waitingLineCount}`);
    for (const each of priorities) byPriority.push(`${labels},priority="${each}"} ${fair.waitingAt(each)}`);
    displaced.push(`${labels}} ${fair.displacedCount}`);
    running.push(`${labels},kind="request"} ${fair.runningCount - lines}`, `${labels},kind="line"} ${lines}`);
    stopped.push(`${labels}} ${fair.yieldCount}`);
  }
  const metric = (suffix: string): string => `headroom_gateway_fair_${suffix}`;
  return [
    family("gauge", metric("waiting"), "Requests and lines of batches that wait for their turn", waiting),
    family("gauge", metric("waiting_by_priority"), "Requests that wait for their turn, by priority", byPriority),
    family("gauge", metric("running"), "Requests and lines of batches that have a slot", running),
    family(
      "counter",
      metric("displaced_total"),
      "Requests that left a full queue for one of a higher priority",
      displaced,
    ),
    family("counter", metric("lines_stopped_total"), "Lines of batches that gave their slot to a request", stopped),
  ].join("");
}
