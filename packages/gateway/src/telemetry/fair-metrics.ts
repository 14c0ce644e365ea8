/** Pools whose requests wait in the gateway for their turn. */
import type { Pool } from "../replicas/pool.ts";
import { escaped, family } from "./prometheus-text.ts";

export function fairText(pools: Iterable<Pool>): string {
  const waiting: string[] = [];
  const running: string[] = [];
  const stopped: string[] = [];
  for (const { name, fair } of pools) {
    if (fair === undefined) continue;
    const labels = `{name="${escaped(name)}"`;
    const { runningLineCount: lines } = fair;
    waiting.push(`${labels},kind="request"} ${fair.waitingCount}`, `${labels},kind="line"} ${fair.waitingLineCount}`);
    running.push(`${labels},kind="request"} ${fair.runningCount - lines}`, `${labels},kind="line"} ${lines}`);
    stopped.push(`${labels}} ${fair.yieldCount}`);
  }
  const metric = (suffix: string): string => `headroom_gateway_fair_${suffix}`;
  return [
    family("gauge", metric("waiting"), "Requests and lines of batches that wait for their turn", waiting),
    family("gauge", metric("running"), "Requests and lines of batches that have a slot", running),
    family("counter", metric("lines_stopped_total"), "Lines of batches that gave their slot to a request", stopped),
  ].join("");
}
