import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { MemoryBudget } from "../http/memory-budget.ts";
import { StreamRecord } from "./resume.ts";
import { SseTap } from "./sse-tap.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Collects garbage twice: buffers freed by the first collection are swept on another thread and count until the second.
 */
function collectGarbage(): void {
  collect();
  collect();
}

/**
 * Bytes of buffers in use in addition to those before `work`. The result of `work` stays alive during the measurement.
 */
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

describe("what an idle stream keeps", () => {
  it("is its events and not the buffers in which they arrived", () => {
    const budget = new MemoryBudget(1 << 20);
    const record = new StreamRecord(budget);
    const held = bytesHeldBy(() => {
      for (let count = 0; count < 1000; count++) record.add(received(`data: ${count}\n\n`));
      return record;
    });
    expect(held).toBeLessThan(100_000);
    expect(record.text()?.split("\n\n").length).toBe(1001);
    const bytes = Buffer.byteLength(record.text() ?? "");
    expect(budget.usedBytes).toBe(bytes);
    record.release();
    expect([budget.usedBytes, record.text()]).toEqual([0, undefined]);
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
