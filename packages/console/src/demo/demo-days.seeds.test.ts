/** Four days of the demo. */
import { expect, it } from "vitest";
import { createDemoClient } from "./demo-client.ts";
import { startAtMs, worldAfter } from "./testing/demo-worlds.ts";

it("loses nothing for ever: what ran on a lost node is tried again, most work succeeds", async () => {
  const later = createDemoClient(worldAfter(24 * 4), startAtMs);
  const { items } = await later.listWorkloads({ phase: "succeeded", limit: 500 });
  expect(items.length).toBe(500);
  const failed = await later.listWorkloads({ phase: "failed", limit: 500 });
  expect(failed.items.length).toBeLessThan(60);
});
