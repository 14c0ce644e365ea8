import type { EventEnvelope } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { EventLog } from "./event-log.ts";

const envelope = (sequence: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs: sequence, nodeId: "n" },
});
const never = new Promise<void>(() => undefined);

async function take(log: EventLog, from: number, count: number): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of log.read(from, never)) {
    sequences.push(sequence);
    if (sequences.length === count) break;
  }
  return sequences;
}

describe("the demo's event log", () => {
  it("gives what is kept, then what comes", async () => {
    const log = new EventLog();
    for (let sequence = 1; sequence <= 3; sequence++) log.append(envelope(sequence));
    const reading = take(log, 2, 4);
    await Promise.resolve();
    log.append(envelope(4));
    log.append(envelope(5));
    log.announce();
    expect(await reading).toEqual([2, 3, 4, 5]);
  });

  it("starts at the oldest kept when asked for older ones", async () => {
    const log = new EventLog();
    for (let sequence = 1; sequence <= 70_002; sequence++) log.append(envelope(sequence));
    const [first] = await take(log, 1, 1);
    expect(first).toBeGreaterThan(1);
    expect(await take(log, 70_000, 3)).toEqual([70_000, 70_001, 70_002]);
  });

  it("ends when it is stopped, even while it waits", async () => {
    const log = new EventLog();
    let stop = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (stop = resolve));
    const reading = log.read(1, stopped).next();
    stop();
    expect((await reading).done).toBe(true);
  });
});
