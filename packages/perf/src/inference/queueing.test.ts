import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import { batchLimit } from "./batching.ts";
import { finiteRun, latencyQuantile, openLoop, requestsPerSMax } from "./queueing.ts";
import { layout, replicaOf } from "./testing/replicas.ts";

const request = { promptTokens: 1500, outputTokens: 300, prefixHitShare: 0 };
const replica = replicaOf("llama-3-8b", "H100", layout(1));

describe("an engine under a request rate", () => {
  const most = requestsPerSMax(replica, request, k);

  it("obeys Little's law: what runs is the rate times the time that it runs", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 0.98, noNaN: true }), (share) => {
        const requestsPerS = share * most;
        const state = openLoop(replica, request, requestsPerS, k);
        expect(state.kind).toBe("steady");
        if (state.kind !== "steady") return;
        const running = (requestsPerS * request.outputTokens * state.tpotMs) / 1000;
        expect(running / state.batch).toBeCloseTo(1, 3);
      }),
    );
  });

  it("has latencies that grow with the rate and with the share that is promised", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 0.95, noNaN: true }),
        fc.double({ min: 0.5, max: 0.98, noNaN: true }),
        (load, share) => {
          const at = (more: number, of: number): { ttftMs: number; tpotMs: number } | undefined =>
            latencyQuantile(replica, request, { requestsPerS: load * more * most, share: of }, k);
          const [low, busier, surer] = [at(1, share), at(1.04, share), at(1, share + 0.015)];
          if (low === undefined || busier === undefined || surer === undefined) throw new Error("overloaded");
          expect(busier.ttftMs).toBeGreaterThanOrEqual(low.ttftMs - 1e-6);
          expect(busier.tpotMs).toBeGreaterThanOrEqual(low.tpotMs - 1e-6);
          expect(surer.ttftMs).toBeGreaterThanOrEqual(low.ttftMs - 1e-6);
          expect(surer.tpotMs).toBeGreaterThanOrEqual(low.tpotMs - 1e-3);
        },
      ),
    );
  });

  it("says up to which rate it could go when asked for more", () => {
    expect(openLoop(replica, request, most * 1.01, k)).toEqual({ kind: "overloaded", requestsPerSMax: most });
    expect(openLoop(replica, request, most * 0.99, k).kind).toBe("steady");
  });

  it("runs fewer at a time in a short run, and as many as at that rate for ever in a long one", () => {
    const requestsPerS = 0.6 * most;
    const steady = openLoop(replica, request, requestsPerS, k);
    if (steady.kind !== "steady") throw new Error("overloaded");
    const batchOf = (requests: number): number =>
      finiteRun(replica, request, { requestsPerS, requests, most: 10_000 }, k).batch;
    expect(batchOf(20)).toBeLessThan(batchOf(200));
    expect(batchOf(200)).toBeLessThan(steady.batch);
    expect(Math.abs(batchOf(1_000_000) / steady.batch - 1)).toBeLessThan(0.1);
  });

  it("lets requests of an overloaded run wait in proportion to its length, and takes as many tokens as it can", () => {
    const run = { requestsPerS: 3 * most, most: 10_000 };
    const [short, long] = [4_000, 8_000].map((requests) => finiteRun(replica, request, { ...run, requests }, k));
    expect(short?.batch).toBe(batchLimit(replica, request));
    const ratio = (long?.firstToken.admissionMs ?? 0) / (short?.firstToken.admissionMs ?? 1);
    expect(ratio).toBeGreaterThan(1.8);
    expect(ratio).toBeLessThan(2.4);
    expect(long?.outputTokensPerS).toBe(short?.outputTokensPerS);
    const limited = finiteRun(replica, request, { ...run, requests: 4_000, most: 16 }, k);
    expect(limited.batch).toBe(16);
    expect(limited.firstToken.admissionMs).toBeGreaterThan(short?.firstToken.admissionMs ?? Infinity);
  });

  it("waits longest for the first token just before it is overloaded", () => {
    const near = openLoop(replica, request, most * 0.999, k);
    const far = openLoop(replica, request, most * 0.5, k);
    if (near.kind !== "steady" || far.kind !== "steady") throw new Error("overloaded");
    expect(near.firstToken.totalMs).toBeGreaterThan(3 * far.firstToken.totalMs);
  });
});
