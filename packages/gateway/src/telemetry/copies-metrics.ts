/** Copies of requests for a revision that is rolled out in the shadow of the present one. */
import type { Pool } from "../replicas/pool.ts";
import { escaped, family } from "./prometheus-text.ts";

export function copiesText(pools: Iterable<Pool>): string {
  const lines: string[] = [];
  for (const { name, copies } of pools)
    for (const [outcome, count] of Object.entries(copies))
      if (count > 0) lines.push(`{name="${escaped(name)}",outcome="${outcome}"} ${count}`);
  return family(
    "counter",
    "headroom_gateway_copies_total",
    "Requests copied to a new revision, those that failed, and those skipped",
    lines,
  );
}
