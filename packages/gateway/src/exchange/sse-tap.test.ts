import { expect, it } from "vitest";
import { SseTap } from "./sse-tap.ts";

const event = (text: string, end: string): string => `data: {"choices":[{"delta":{"content":"${text}"}}]}${end}`;

it("gives the same bytes and counts, however a stream is cut", () => {
  for (const end of ["\n\n", "\r\n\r\n"]) {
    const stream = Buffer.from(event("one", end) + event("two", end) + `data: [DONE]${end}`);
    for (let size = 1; size <= stream.length; size++) {
      const tap = new SseTap("chat", false);
      const given: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) {
        const out = tap.feed(stream.subarray(at, at + size));
        if (out !== undefined) given.push(Buffer.from(out));
      }
      expect(Buffer.concat(given).toString(), `pieces of ${size} bytes`).toBe(stream.toString());
      expect([tap.eventCount, tap.outputCount, tap.isDone, tap.heldBytes]).toEqual([3, 2, true, 0]);
    }
  }
});

it("gives an event of four megabytes that arrives in pieces of eight bytes, and the last event without its end", () => {
  const tap = new SseTap("chat", false);
  const stream = Buffer.from(event("x".repeat(1 << 22), "\n\n"));
  const given: Buffer[] = [];
  for (let at = 0; at < stream.length; at += 8) {
    const out = tap.feed(stream.subarray(at, at + 8));
    if (out !== undefined) given.push(out);
  }
  expect(Buffer.concat(given).equals(stream)).toBe(true);
  const cut = Buffer.from("data: unfinished");
  for (const byte of cut) tap.feed(Buffer.of(byte));
  expect(tap.heldBytes).toBe(cut.length);
  expect(tap.rest()).toEqual(cut);
  expect(tap.heldBytes).toBe(0);
});

it("reports an event that is too long", () => {
  const tap = new SseTap("chat", false);
  for (let count = 0; count < 9; count++) tap.feed(Buffer.alloc(1 << 20, "x"));
  expect(tap.isTooLong).toBe(true);
});
