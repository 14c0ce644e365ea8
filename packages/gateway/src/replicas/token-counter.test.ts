import { expect, it } from "vitest";
import { TokenCounter } from "./token-counter.ts";

it("corrects estimates by what replicas report, where texts and images have unlike bytes", () => {
  const counter = new TokenCounter();
  const estimates = [500, 125_000];
  for (let request = 0; request < 200; request++) {
    const estimate = estimates[request % 2] ?? 0;
    counter.sent(estimate);
    counter.completed({ estimate, promptTokens: 1_000, outputTokens: 10 });
  }
  const before = counter.prompt;
  for (let request = 0; request < 200; request++) counter.sent(estimates[request % 2] ?? 0);
  expect((counter.prompt - before) / 200).toBeGreaterThan(900);
  expect((counter.prompt - before) / 200).toBeLessThan(1_100);
  expect(counter).toMatchObject({ output: 2_000, ended: 200 });
});

it("bounds what one request adds, and begins again before a report would be refused", () => {
  const counter = new TokenCounter();
  counter.completed({ estimate: 1, promptTokens: 1, outputTokens: 1e9 });
  expect(counter.output).toBe(1_000_000);
  for (let request = 0; request < 100_001; request++)
    counter.completed({ estimate: 1, promptTokens: 1, outputTokens: 1e9 });
  expect(counter.output).toBeLessThan(1e11);
});
