/** A replica of weight 9 gets nine times as many requests as one of weight 1, by every policy, at any load. */
import { describe, expect, it } from "vitest";
import { routingPolicies, type RouterOptions, type Ticket } from "./contract.ts";
import { seededDraw } from "./draw.ts";
import { hashText } from "./prefix-hash.ts";
import { createRouter } from "./router.ts";

/** Share of the requests that the heavy replica gets while `concurrency` requests are in progress. */
function heavyShare(policy: RouterOptions["policy"], concurrency: number, weights: readonly number[]): number {
  const router = createRouter({ policy, draw: seededDraw(7) });
  for (const [at, weight] of weights.entries()) router.addReplica({ id: `r${at}`, weight });
  const running: Ticket[] = [];
  const total = 4000;
  let heavy = 0;
  for (let at = 0; at < total; at += 1) {
    const nowMs = at * 10;
    if (running.length === concurrency) router.end(running.shift()!, "completed", nowMs);
    const request = { promptTokens: 200, expectedOutputTokens: 50, sessionHash: hashText(`s${at}`) };
    const decision = router.choose(request, nowMs);
    if (decision.kind !== "chosen") throw new Error("no replica");
    if (decision.replicaId === "r0") heavy += 1;
    running.push(router.start(decision, request, nowMs));
  }
  return heavy / total;
}

describe.each(routingPolicies)("weights of 9 and 1 by %s", (policy) => {
  it.each([1, 2, 5, 10, 20, 60])("with %d requests at a time", (concurrency) => {
    const share = heavyShare(policy, concurrency, [9, 1]);
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(0.96);
  });

  it("among ten replicas", () => {
    const share = heavyShare(policy, 20, [9, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });
});
