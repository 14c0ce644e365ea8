import { refuse } from "@headroom/protocol";
import type { EventEnvelope, HeadroomClient, Status } from "@headroom/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventFeed } from "./event-feed.ts";

const envelope = (sequence: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs: sequence, nodeId: "n" },
});

/** A journal that can be extended, truncated, and replaced after a restart. */
class Journal {
  head = 5;
  isUp = true;
  readonly asked: (number | "next")[] = [];
  #wake: () => void = () => undefined;

  change(change: Partial<Pick<Journal, "head" | "isUp">>): void {
    Object.assign(this, change);
    this.#wake();
  }

  async *events({ from = 1 }: { from?: number | "next" } = {}): AsyncGenerator<EventEnvelope> {
    this.asked.push(from);
    for (let next = Number(from); ;) {
      if (!this.isUp) throw refuse("unreachable", "It is away.");
      if (next <= this.head) yield envelope(next++);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  status(): Promise<Status> {
    if (!this.isUp) return Promise.reject(refuse("unreachable", "It is away."));
    return Promise.resolve({ sequence: this.head } as Status);
  }
}

describe("the event feed", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function follow(journal: Journal): { feed: EventFeed; seen: number[]; gaps: () => number } {
    let gaps = 0;
    const feed = new EventFeed(journal as unknown as HeadroomClient, 3, {
      onGap: () => gaps++,
      onUnauthorized: () => undefined,
    });
    const seen: number[] = [];
    feed.subscribe((batch) => seen.push(...batch.map(({ sequence }) => sequence)));
    void feed.run();
    return { feed, seen, gaps: () => gaps };
  }

  it("starts behind what the status said and hands out batches", async () => {
    const journal = new Journal();
    const { feed, seen } = follow(journal);
    await vi.advanceTimersByTimeAsync(300);
    expect([seen, feed.state.phase, feed.state.lastSequence]).toEqual([[4, 5], "live", 5]);
    feed.stop();
  });

  it("takes up where it was after an interruption, without a gap", async () => {
    const journal = new Journal();
    const { feed, seen, gaps } = follow(journal);
    await vi.advanceTimersByTimeAsync(300);
    journal.change({ isUp: false });
    await vi.advanceTimersByTimeAsync(300);
    expect([feed.state.phase, feed.state.detail]).toEqual(["interrupted", "It is away."]);
    journal.change({ isUp: true, head: 9 });
    await vi.advanceTimersByTimeAsync(12_000);
    expect([seen, feed.state.phase, gaps()]).toEqual([[4, 5, 6, 7, 8, 9], "live", 0]);
    expect(journal.asked).toEqual([4, ...journal.asked.slice(1).map(() => 6)]);
    feed.stop();
  });

  it("looks at everything anew when it fell far behind, or when the history is another one", async () => {
    for (const head of [1_000_000, 2]) {
      const journal = new Journal();
      const { feed, seen, gaps } = follow(journal);
      await vi.advanceTimersByTimeAsync(300);
      journal.change({ isUp: false });
      await vi.advanceTimersByTimeAsync(100);
      journal.change({ isUp: true, head });
      await vi.advanceTimersByTimeAsync(12_000);
      expect([gaps(), feed.state.lastSequence, seen]).toEqual([1, head, [4, 5]]);
      feed.stop();
    }
  });
});
