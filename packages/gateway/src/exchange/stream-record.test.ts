import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../http/memory-budget.ts";
import { collectGarbage } from "../testing/collect-garbage.ts";
import { SseTap } from "./sse-tap.ts";
import { StreamRecord } from "./stream-record.ts";

/** Number of bytes of buffers that `work` and its result keep in memory. */
function bytesHeldBy(work: () => unknown): number {
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const held = work();
  collectGarbage();
  const bytes = process.memoryUsage().arrayBuffers - before;
  expect(held).toBeDefined();
  return bytes;
}

/** A short event as a socket delivers it: a part of a buffer that other connections share. */
function received(text: string): Buffer {
  const shared = Buffer.allocUnsafeSlow(8192);
  return shared.subarray(4000, 4000 + shared.write(text, 4000));
}

function event(delta: object): string {
  return `data: ${JSON.stringify({ id: "c1", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
}

describe("what an idle stream keeps", () => {
  it("is its text, and neither its events nor the buffers in which they arrived", () => {
    const budget = new MemoryBudget(1 << 24);
    const streams = 50;
    const records = Array.from({ length: streams }, () => new StreamRecord(budget));
    const held = bytesHeldBy(() => {
      for (let count = 0; count < 1000; count++) {
        for (const record of records) record.add(received(event({ content: `t${count} ` })));
      }
      return records;
    });
    // 1,000 events have 100 kB, and their text has 5 kB. The last few events wait in a buffer of at most 4 KiB.
    expect(held / streams).toBeLessThan(5000);
    expect(budget.usedBytes / streams).toBeLessThan(10_000);
    const text = Array.from({ length: 1000 }, (_, at) => `t${at} `).join("");
    expect(records[7]?.received()).toEqual({ identity: { id: "c1", created: 1, model: "m" }, text, tokenCount: 1000 });
    for (const record of records) record.release();
    expect([budget.usedBytes, records[7]?.received()]).toEqual([0, undefined]);
  });

  it("is nothing once the output is no text, or there is too much of it", () => {
    const budget = new MemoryBudget(1 << 20);
    for (const last of [
      event({ tool_calls: [{ index: 0 }] }),
      event({ reasoning_content: "hm" }),
      "data: null\n\n",
      event({ content: "x".repeat(1 << 20) }),
    ]) {
      const record = new StreamRecord(budget);
      record.add(Buffer.from(event({ content: "a" })));
      record.add(Buffer.from(last));
      record.add(Buffer.from(event({ content: "b".repeat(5000) })));
      expect([record.received(), budget.usedBytes]).toEqual([undefined, 0]);
    }
  });

  it("is the begun event of each stream and not the buffer in which it arrived", () => {
    const held = bytesHeldBy(() =>
      Array.from({ length: 1000 }, () => {
        const tap = new SseTap("chat", false);
        tap.feed(received('data: {"choices":[]}\n\ndata: {"cho'));
        return tap;
      }),
    );
    expect(held).toBeLessThan(1_000_000);
  });
});
