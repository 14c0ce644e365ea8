import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import { latencyQuantile, openLoop, requestsPerSMax } from "./queueing.ts";
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

  it("waits longest for the first token just before it is overloaded", () => {
    const near = openLoop(replica, request, most * 0.999, k);
    const far = openLoop(replica, request, most * 0.5, k);
    if (near.kind !== "steady" || far.kind !== "steady") throw new Error("overloaded");
    expect(near.firstToken.totalMs).toBeGreaterThan(3 * far.firstToken.totalMs);
  });
});
