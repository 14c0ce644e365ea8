/**
 * Simulated bursts: 20 of each kind, with `HEADROOM_SLICE=all` 1,000. Every extra node is released, and without faults no
 * gang waits longer than the lead time and 30 s after its submission.
 */
import { expect, it } from "vitest";
import type { Event } from "@headroom/model";
import { SimulatedBurst, ORDER_AFTER_MS } from "./simulated-burst.ts";

const COUNT = process.env["HEADROOM_SLICE"] === "all" ? 1_000 : 20;

it("releases every extra node, and starts every gang within the lead time and 30 s", () => {
  let orders = 0;
  let gangs = 0;
  let longestMs = 0;
  for (let seed = 1; seed <= COUNT; seed++) {
    const result = new SimulatedBurst(seed, false).run();
    expect(result.problems, `seed ${seed}`).toEqual([]);
    expect(result.waitedBeyondLeadMs, `seed ${seed}`).toBeLessThanOrEqual(ORDER_AFTER_MS);
    orders += result.orders;
    gangs += result.gangs;
    longestMs = Math.max(longestMs, result.waitedBeyondLeadMs);
  }
  process.stdout.write(
    `${COUNT} bursts: ${gangs} gangs, ${orders} orders, at most ${longestMs} ms beyond the lead time\n`,
  );
  expect(orders).toBeGreaterThan(COUNT / 2);
}, 3_600_000);

it("releases every extra node of a provisioner that fails, is silent and loses nodes", () => {
  let orders = 0;
  for (let seed = 1; seed <= COUNT; seed++) {
    const result = new SimulatedBurst(seed, true).run();
    expect(result.problems, `seed ${seed}`).toEqual([]);
    orders += result.orders;
  }
  process.stdout.write(`${COUNT} bursts with faults: ${orders} orders\n`);
}, 3_600_000);

it.each([
  {
    bug: "an order of more nodes than the work needs",
    found: /nodes were ordered for \d+ tasks of at most/,
    bend: (event: Event): Event =>
      event.kind === "capacityOrderDecided"
        ? { ...event, order: { ...event.order, nodeCount: 40 * event.order.nodeCount } }
        : event,
  },
  {
    bug: "an order of nodes for work that has not waited",
    found: /nodes were ordered for w\d+ too early/,
    bend: (event: Event): Event => (event.kind === "capacityOrderDecided" ? { ...event, atMs: 0 } : event),
  },
  {
    bug: "a release of nodes that were busy a moment ago",
    found: /were released after -1 of \d+ ms/,
    bend: (event: Event): Event => (event.kind === "capacityNodesReleased" ? { ...event, idleMs: -1 } : event),
  },
])(
  "finds $bug",
  ({ found, bend }) => {
    const problems = Array.from({ length: 20 }, (_, seed) =>
      new SimulatedBurst(seed + 1, false, (events) => events.map(bend)).run(),
    ).flatMap((result) => result.problems);
    expect(problems.some((problem) => found.test(problem))).toBe(true);
  },
  600_000,
);
