import { describe, expect, it } from "vitest";
import { collectGarbage } from "../testing/collect-garbage.ts";
import { BodyCollector } from "./body-collector.ts";
import { BodySlabs } from "./body-slabs.ts";
import { ConnectionTable } from "./connection-table.ts";
import { FairTurns } from "./fair-turns.ts";
import { SharedBudget } from "./shared-budget.ts";

describe("a shared budget", () => {
  it.each([1, 2, 3, 5, 10, 40])("keeps room for one more owner beside %d", (owners) => {
    const budget = new SharedBudget(1_000_000);
    for (let round = 0; round < 3000; round++) {
      for (let owner = 0; owner < owners; owner++) budget.take(`o${owner}`, 1000, 0);
    }
    expect(budget.take("new", 1000, 0)).toBe(true);
    expect(budget.usedBytes).toBeLessThanOrEqual(1_000_000);
    expect(budget.usedBytes).toBeGreaterThan(750_000);
  });

  it("lends an owner what is free, and has nothing left when all is given back", () => {
    const budget = new SharedBudget(1000);
    expect(budget.take("a", 400, 0)).toBe(true);
    expect(budget.take("a", 600, 400)).toBe(true);
    expect(budget.take("b", 1, 0)).toBe(false);
    budget.give("a", 1000);
    expect(budget.take("b", 800, 0)).toBe(true);
    expect(budget.take("b", 1, 0)).toBe(false);
    budget.give("b", 800);
    expect(budget.usedBytes).toBe(0);
  });
});

describe("collected bodies", () => {
  it.each([
    [true, 1],
    [true, 7],
    [true, 4096],
    [true, 65_536],
    [false, 1],
    [false, 7],
    [false, 4096],
    [false, 65_536],
  ])("are the bytes that came, shared reads %s, %d at a time", (isShared, size) => {
    for (const total of [1, 1023, 1024, 16_383, 16_385, 65_537, ...(size > 7 ? [1_048_577, 3_000_000] : [])]) {
      const collector = new BodyCollector(new BodySlabs(), isShared);
      const read = Buffer.alloc(65_536);
      for (let at = 0; at < total; at += size) {
        const part = read.subarray(0, Math.min(size, total - at));
        for (let index = 0; index < part.length; index++) part[index] = (at + index) % 251;
        collector.add(isShared ? part : Buffer.from(part));
      }
      const { bytes } = collector.take();
      expect(bytes.length).toBe(total);
      expect(bytes.every((byte, index) => byte === index % 251)).toBe(true);
    }
  });

  it("cost about their size, however small their parts are", () => {
    const collector = new BodyCollector(new BodySlabs(), false);
    const read = Buffer.alloc(65_536);
    collectGarbage();
    const before = process.memoryUsage();
    for (let at = 0; at < 300_000; at++) collector.add(read.subarray(at % 1000, (at % 1000) + 1));
    collectGarbage();
    const after = process.memoryUsage();
    // An object for each part would keep 30 MB.
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(3_000_000);
    expect(collector.take().bytes.length).toBe(300_000);
  });
});

describe("turns", () => {
  it("go round, and never run in the turn that added them", async () => {
    const turns = new FairTurns();
    const order: number[] = [];
    for (let at = 0; at < 40; at++) {
      const taker = {
        left: 3,
        takeTurn(): void {
          order.push(at);
          this.left--;
          if (this.left > 0) turns.add(taker);
        },
      };
      turns.add(taker);
    }
    expect(order).toEqual([]);
    await expect.poll(() => order.length).toBe(120);
    const round = Array.from({ length: 40 }, (_, at) => at);
    expect(order).toEqual([...round, ...round, ...round]);
  });
});

describe("a table of connections", () => {
  const entry = (address: string, isEvictable = true) => ({
    address,
    isEvictable,
    isKnown: false,
    isDestroyed: false,
    destroy() {
      this.isDestroyed = true;
    },
  });

  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["2001:db8:1:2::1", "2001:db8:1:2:aaaa::7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:6:5:4:3"],
    ["2001:db8::1", "2001:db8::2"],
  ])("counts %s and %s together", (one, other) => {
    const table = new ConnectionTable<ReturnType<typeof entry>>();
    table.connectionsMax = 6;
    const lone = entry("192.0.2.9");
    const first = entry(one);
    const second = entry(other);
    for (const each of [lone, first, second]) table.add(each);
    expect(table.makeRoom()).toBe(true);
    expect([lone.isDestroyed, first.isDestroyed, second.isDestroyed]).toEqual([false, true, false]);
  });

  it("closes an idle connection with a key only if there is no stranger, and none that is in use", () => {
    const table = new ConnectionTable<ReturnType<typeof entry>>();
    table.connectionsMax = 4;
    const known = Array.from({ length: 4 }, (_, at) => entry("10.0.0.1", at !== 0));
    for (const each of known) {
      expect(table.makeRoom()).toBe(true);
      table.add(each);
      table.identified(each);
    }
    expect(table.makeRoom()).toBe(true);
    expect(known.map(({ isDestroyed }) => isDestroyed)).toEqual([false, true, false, false]);
    const busy = entry("10.0.0.2", false);
    table.add(busy);
    expect(table.makeRoom()).toBe(true);
    expect(known.map(({ isDestroyed }) => isDestroyed)).toEqual([false, true, true, false]);
    known[3]!.isEvictable = false;
    table.add(entry("10.0.0.3", false));
    expect(table.makeRoom()).toBe(false);
  });
});
