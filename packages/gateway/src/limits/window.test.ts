import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LocalLimits, Reservation, reserve } from "./account.ts";
import { LimitLedger, type LimitDefinition } from "./ledger.ts";
import { SlidingWindow } from "./window.ts";

const requests = (limit: number): LimitDefinition => ({ id: "requests:a", kind: "requests", limit });

describe("a sliding window", () => {
  it("never admits more than its limit in any minute, and at least 98% of it where more is asked", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 50, max: 2000 }),
        fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 400 }),
        (limit, gaps) => {
          const ledger = new LimitLedger();
          const admitted: number[] = [];
          let nowMs = 1e12;
          for (const gapMs of [...gaps, 0, 0, 0]) {
            nowMs += gapMs;
            for (let each = 0; each < 10; each++) {
              if (ledger.grant(requests(limit), { need: 1, want: 1, sharers: 1 }, nowMs).kind === "granted")
                admitted.push(nowMs);
            }
          }
          for (const [from, startMs] of admitted.entries()) {
            let to = from;
            while (to < admitted.length && admitted[to]! < startMs + 60_000) to++;
            expect(to - from).toBeLessThanOrEqual(limit);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("gives back what was not used, and nothing twice", () => {
    const window = new SlidingWindow();
    const slot = window.add(100, 1e12);
    window.refund(slot, 60, 1e12 + 100);
    expect(window.used(1e12 + 200)).toBe(40);
    window.refund(slot, 60, 1e12 + 300);
    expect(window.used(1e12 + 400)).toBe(0);
    window.add(10, 1e12 + 61_000);
    window.refund(slot, 10, 1e12 + 61_000);
    expect(window.used(1e12 + 61_000)).toBe(10);
  });

  it("says when there will be room", () => {
    const window = new SlidingWindow();
    window.add(5, 1e12);
    window.add(5, 1e12 + 30_000);
    const freeAtMs = window.freeAtMs(3, 10, 1e12 + 31_000);
    expect(window.used(freeAtMs - 1)).toBe(10);
    expect(window.used(freeAtMs)).toBe(5);
  });
});

describe("a reservation", () => {
  it("grows with a request that uses more, and settles to what it used", () => {
    const ledger = new LimitLedger();
    const definition: LimitDefinition = { id: "tokens:a", kind: "tokens", limit: 1000 };
    const source = new LocalLimits(ledger, () => 1e12);
    const limits = { requests: undefined, tokens: definition, money: undefined };
    reserve(source, limits, { tokens: 100, nanoUsd: 0 }, (outcome) => {
      if (!(outcome instanceof Reservation)) throw new Error("denied");
      outcome.advance({ tokens: 50, nanoUsd: 0 });
      expect(ledger.used(definition, 1e12)).toBe(100);
      outcome.advance({ tokens: 400, nanoUsd: 0 });
      outcome.advance({ tokens: 900, nanoUsd: 0 });
      expect(ledger.used(definition, 1e12)).toBe(900);
      outcome.settle({ tokens: 850, nanoUsd: 0 });
    });
    expect(ledger.used(definition, 1e12)).toBe(850);
  });
});
