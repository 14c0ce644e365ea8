import { describe, expect, it } from "vitest";
import { documentIn, problemsIn } from "../testing/reading.ts";
import { workloadSpec } from "./workload.ts";

const serve = (overflow: object): object => ({ kind: "serve", name: "chat", run: "serve", overflow });

describe("the overflow of an endpoint", () => {
  it("is read with its conditions, money and data rules", () => {
    const written = {
      provider: "backup",
      when: { queueTime: "5s", concurrency: 2.5 },
      budget: "50 USD/day",
      data: ["unmarked", "public"],
    };
    expect(documentIn(serve(written))).toMatchObject({
      spec: {
        overflow: {
          provider: "backup",
          queueTimeMs: 5_000,
          concurrencyMilli: 2_500,
          budget: { microUsd: 50_000_000, period: "day" },
          dataRules: ["unmarked", "public"],
        },
      },
    });
    expect(documentIn(serve({ endpoint: "a/chat" }))).toMatchObject({
      spec: { overflow: { endpoint: "a/chat", dataRules: ["unmarked"] } },
    });
  });

  it("needs one target, and money for a provider", () => {
    expect(problemsIn(serve({ when: { queueTime: "5s" } }))).toEqual(["overflow: needs either provider or endpoint"]);
    expect(problemsIn(serve({ provider: "p", endpoint: "e", budget: "1 USD/day" }))).toHaveLength(1);
    expect(problemsIn(serve({ provider: "p" })).join()).toContain("needs a budget, such as budget: 50 USD/day");
    expect(problemsIn(serve({ provider: "p", budget: "50 EUR/day" })).join()).toContain("such as 50 USD/day");
    const wire = { kind: "serve", name: "chat", run: "serve" };
    expect(workloadSpec.safeParse({ ...wire, overflow: { provider: "p" } }).success).toBe(false);
    expect(workloadSpec.safeParse({ ...wire, overflow: { endpoint: "e" } }).success).toBe(true);
  });
});
