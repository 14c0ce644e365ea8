import { tabulated, usualLimits } from "@headroom/perf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines, sharedData } from "../../../../tools/shared-data.ts";
import {
  importAzure,
  importGatewayLog,
  importGenai,
  importMooncake,
  PrefixPages,
  routingPolicies,
  ServingSimulation,
} from "./index.ts";
import type { RequestImport } from "./index.ts";
import { plainRequest, traceOf } from "./request-trace.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { ServingVariant } from "./variant.ts";

const strict = { skipBroken: false };
const file = (text: string) => ({ file: "f", lines: text.split("\n") });

function traceIn(imported: RequestImport): RequestTrace {
  if (imported.kind === "imported") return imported.trace;
  throw new Error(imported.reason);
}

function group(name: string, count: number, slowness: number): ServingVariant["groups"][number] {
  return {
    name,
    count,
    acceleratorsPerReplica: 2,
    costs: {
      tokensMs: tabulated(512, (tokens) => slowness * (8 + tokens / 20)),
      contextMs: slowness * 1e-5,
      pairMs: slowness * 1e-7,
      sampledMs: 0.01,
    },
    limits: { ...usualLimits, sequencesMax: 32, stepTokensMax: 512, blockCount: 1500 },
    zone: "",
  };
}

const variant: ServingVariant = {
  name: "v",
  groups: [group("fast", 2, 1), group("slow", 1, 2.5)],
  router: "predicted-latency",
  seed: 1,
  start: { kind: "warm", coldStartMs: 0 },
  store: undefined,
  adapters: undefined,
  isScheduledAhead: true,
  frontEndMs: 2,
  slo: { ttftMs: 500, tpotMs: 60 },
};

const traces: fc.Arbitrary<RequestTrace> = fc
  .array(
    fc.record({
      gapMs: fc.integer({ min: 0, max: 200 }),
      promptTokens: fc.integer({ min: 1, max: 4000 }),
      outputTokens: fc.integer({ min: 1, max: 300 }),
      session: fc.integer({ min: 0, max: 5 }),
    }),
    { minLength: 1, maxLength: 120 },
  )
  .map((reservedTopology) => {
    let arrivalMs = 0;
    const requests = reservedTopology.map(({ gapMs, promptTokens, outputTokens, session }) => {
      arrivalMs += gapMs;
      const count = Math.floor(promptTokens / 256);
      const pages = Array.from({ length: count }, (_, index) => session * 1000 + index);
      return { ...plainRequest, arrivalMs, promptTokens, outputTokens, pages };
    });
    return traceOf(requests, 256);
  });

function simulated(trace: RequestTrace, how: ServingVariant): ServingSimulation {
  const simulation = new ServingSimulation(trace, how);
  while (!simulation.advance(7));
  return simulation;
}

describe("traffic from files", () => {
  it("reads an Azure trace, the first arrival at 0", () => {
    const rows = ["TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.9799600,4808,10"];
    const offsets = ["2024-05-10 00:00:00.25+00:00,1,1", "2024-05-10 02:00:01+02:00,1,1", "1715299202,1,1"];
    const mixed = traceIn(importAzure(file([...rows.slice(0, 1), ...offsets].join("\r\n")), strict));
    expect(mixed.requests.map(({ arrivalMs }) => arrivalMs)).toEqual([0, 750, 1750]);
    const trace = traceIn(importAzure(file([...rows, "2023-11-16 18:17:04.0319600,3180,8"].join("\n")), strict));
    expect(trace.requests.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [4808, 10],
      [3180, 8],
    ]);
    expect(trace.requests[1]?.arrivalMs).toBeCloseTo(52, 3);
  });

  it("names the broken row, and leaves it out when told to", () => {
    const text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,1,1\nyesterday,1,1\n";
    const refused = importAzure(file(text), strict);
    expect(refused).toMatchObject({ kind: "refused", reason: "1 row is broken, of 2" });
    expect(refused.report.problems).toMatchObject([{ file: "f", line: 3 }]);
    expect(traceIn(importAzure(file(text), { skipBroken: true })).requests).toHaveLength(1);
  });

  it("takes the last line of each request of a gateway's log, without the ones that failed", () => {
    const line = (id: string, outcome: string, completionTokens: number): string =>
      JSON.stringify({ id, outcome, completionTokens, promptTokens: 10, cachedTokens: 4, atMs: 5000 });
    const lines = [line("a", "open", 1), line("b", "failed", 3), line("a", "completed", 7), line("c", "aborted", 2)];
    const { requests } = traceIn(importGatewayLog(file(lines.join("\n")), strict));
    expect(requests.map(({ outputTokens, cachedTokens }) => [outputTokens, cachedTokens])).toEqual([
      [7, 4],
      [2, 4],
    ]);
    const access =
      '{"at":"2026-01-31T18:17:03.979Z","id":"a","outcome":"completed","promptTokens":1,"completionTokens":2}';
    expect(traceIn(importGatewayLog(file(access), strict)).requests).toHaveLength(1);
  });

  it("reads pages of a Mooncake trace, and models of an image service's", () => {
    const line = '{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}';
    expect(traceIn(importMooncake(file(line), strict))).toMatchObject({
      pageTokens: 512,
      requests: [{ pages: [0, 1, 2] }],
    });
    expect(importMooncake(file(line.replace("1100", "900")), strict).kind).toBe("refused");
    const head = "gmt_create,predict_status,exec_time_seconds,checkpoint_model_version_id";
    const images = `${head}\n2024-11-15 16:57:50,SUCCEED,32.0,M0\n2024-11-15 16:58:50,FAILED,1.0,M0`;
    expect(traceIn(importGenai(file(images), strict)).requests).toMatchObject([{ outputTokens: 320, adapter: "M0" }]);
  });
});

describe("a store of prefix pages", () => {
  it("finds what the trace's publishers' rules find in Mooncake's conversations", () => {
    const found = sharedData("traces/mooncake/conversation_trace.jsonl");
    if (found === null) return;
    const trace = traceIn(importMooncake({ file: found, lines: readLines(found) }, strict));
    for (const [pageCount, share] of [
      [Infinity, 0.3664],
      [5859, 0.1355],
    ] as const) {
      const store = new PrefixPages(pageCount);
      for (const { pages } of trace.requests) store.look(pages);
      expect(store.asked).toBe(288_500);
      expect(Math.abs(store.hits / store.asked / share - 1)).toBeLessThan(0.01);
    }
  });
});

describe("a serving simulation", () => {
  it("answers every request, none before its arrival and none faster than a step", () => {
    fc.assert(
      fc.property(traces, fc.constantFrom(...routingPolicies), (trace, router) => {
        const simulation = simulated(trace, { ...variant, router });
        const { firstTokenMs, endMs } = simulation.times;
        for (const [id, { arrivalMs, outputTokens }] of trace.requests.entries()) {
          expect(firstTokenMs[id]).toBeGreaterThan(arrivalMs + 8);
          expect((endMs[id] ?? 0) - (firstTokenMs[id] ?? 0)).toBeGreaterThanOrEqual((outputTokens - 1) * 8);
        }
        const result = simulation.result();
        expect(result).toMatchObject({ refused: 0, accelerators: 6, requests: trace.requests.length });
        expect(result.busy_share).toBeLessThanOrEqual(1 + 1e-9);
      }),
      { numRuns: 60 },
    );
  });

  it("gives the same bytes twice, however its work is cut", () => {
    fc.assert(
      fc.property(traces, (trace) => {
        const whole = new ServingSimulation(trace, variant);
        whole.advance(Infinity);
        expect(JSON.stringify(whole.result())).toBe(JSON.stringify(simulated(trace, variant).result()));
      }),
      { numRuns: 20 },
    );
  });

  it("holds requests until replicas that start cold are ready", () => {
    const request = { ...plainRequest, promptTokens: 10, outputTokens: 2 };
    const trace = traceOf(
      [0, 500, 3000].map((arrivalMs) => ({ ...request, arrivalMs })),
      0,
    );
    const simulation = simulated(trace, { ...variant, start: { kind: "cold", coldStartMs: 2000 } });
    const { firstTokenMs } = simulation.times;
    expect(simulation.result().held).toBe(2);
    expect(firstTokenMs[0]).toBeGreaterThan(2000);
    expect(firstTokenMs[0]).toBeLessThan(2050);
    expect(firstTokenMs[2]).toBeLessThan(3050);
  });

  it("loads a model once for requests that share it, and again after another", () => {
    const request = { ...plainRequest, promptTokens: 1, outputTokens: 10 };
    const models = ["a", "a", "b", "a"];
    const trace = traceOf(
      models.map((adapter, index) => ({ ...request, adapter, arrivalMs: index * 10_000 })),
      0,
    );
    const costs = { tokensMs: Float64Array.of(100, 100), contextMs: 0, pairMs: 0, sampledMs: 0 };
    const limits = { ...usualLimits, sequencesMax: 1, stepTokensMax: 1, blockCount: 1000 };
    const groups = [{ ...group("image", 1, 1), costs, limits }];
    const adapters = { slots: 1, loadMs: 3000, isExclusive: true };
    const simulation = simulated(trace, { ...variant, groups, adapters, frontEndMs: 0 });
    expect(simulation.result().adapter_loads).toBe(3);
    const first = [...simulation.times.firstTokenMs].map((ms, index) => Math.round(ms - index * 10_000));
    expect(first).toEqual([3100, 100, 3100, 3100]);
  });

  it("finds pages in a store that all replicas share, and refuses what fits into no cache", () => {
    const request = { ...plainRequest, promptTokens: 1024, outputTokens: 2, pages: [1, 2, 3, 4] };
    const trace = traceOf(
      [0, 5000, 10_000]
        .map((arrivalMs) => ({ ...request, arrivalMs }))
        .concat({ ...request, promptTokens: 900_000, pages: [], arrivalMs: 11_000 }),
      256,
    );
    const result = simulated(trace, {
      ...variant,
      router: "round-robin",
      store: { pageCount: 100, pageLoadMs: 1 },
    }).result();
    expect(result.store_hit_share).toBeCloseTo(8 / 12);
    expect(result.refused).toBe(1);
  });
});
