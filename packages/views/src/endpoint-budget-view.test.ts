import type { ReadonlyState } from "@headroom/engine";
import type { Workload } from "@headroom/model";
import { expect, it } from "vitest";
import { endpointBudgetView } from "./endpoint-budget-view.ts";

it("names the pools whose replicas the budget does not count", () => {
  const worker = (node: string): object => ({ node, accelerators: "0" });
  const state = {
    nowMs: 0,
    attempts: new Map([["w1.1", { workers: [worker("n1"), worker("n2"), worker("n3")] }]]),
    nodes: new Map(["n1", "n2", "n3"].map((id, index) => [id, { pool: ["free", "paid", "old"][index] }])),
    pools: new Map([
      ["free", { priceMicroUsdPerHour: 0 }],
      ["paid", { priceMicroUsdPerHour: 1 }],
      ["old", {}],
    ]),
  } as unknown as ReadonlyState;
  const workload = {
    spec: {
      kind: "serve",
      gang: { accelerators: 1 },
      replicas: { min: 1, max: 1 },
      budget: { microUsd: 50_000_000, period: "day", over: "stop" },
    },
    account: { atMs: 0, sinceMs: 0, moneyMilliMs: 0, overflowMicroUsd: 0 },
    activeAttempts: ["w1.1"],
  } as unknown as Workload;
  expect(endpointBudgetView(state, workload, 0)?.sentence).toBe(
    "0% of 50.00 USD for this day is spent, renewed at 1970-01-02T00:00:00Z. Replicas in old are not counted: the pool has no price.",
  );
});
