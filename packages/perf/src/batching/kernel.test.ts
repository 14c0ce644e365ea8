import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TimedEngine } from "./engine-clock.ts";
import { BatchingKernel } from "./kernel.ts";
import type { Step } from "./kernel.ts";
import { usualLimits } from "./limits.ts";
import type { BatchingLimits } from "./limits.ts";
import type { BatchedRequest } from "./requests.ts";
import { runArrivals, runClosedLoop } from "./runs.ts";
import { stepMs, tabulated } from "./step-costs.ts";
import type { StepCosts } from "./step-costs.ts";
import { ReferenceKernel } from "./testing/reference-kernel.ts";

interface World {
  readonly limits: BatchingLimits;
  readonly requests: readonly BatchedRequest[];
  /** For each request, the number of the step before which it arrives. */
  readonly arrivals: readonly number[];
  readonly isScheduledAhead: boolean;
}

/**
 * Names of the prefix pages of a request. Requests share prefixes: each has the first `count` pages of one of a few
 * chains.
 */
function pagesOf(chain: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index < 2 ? index : chain * 100 + index));
}

const requestShape = fc.record({
  promptTokens: fc.integer({ min: 1, max: 60 }),
  outputTokens: fc.integer({ min: 1, max: 40 }),
  priority: fc.constantFrom(0, 0, 0, 1, -2),
  chain: fc.integer({ min: 1, max: 4 }),
  pageShare: fc.constantFrom(0, 0.5, 1),
  loadedTokens: fc.constantFrom(0, 0, 0, 5, 30),
  arrival: fc.integer({ min: 0, max: 60 }),
});

const worlds: fc.Arbitrary<World> = fc
  .record({
    sequencesMax: fc.integer({ min: 1, max: 8 }),
    extraTokens: fc.integer({ min: 0, max: 40 }),
    blockTokens: fc.constantFrom(1, 4, 7),
    spareBlocks: fc.integer({ min: 0, max: 20 }),
    isPrefixCached: fc.boolean(),
    admission: fc.constantFrom("firstChunk" as const, "wholePrompt" as const),
    watermarkBlocks: fc.integer({ min: 0, max: 3 }),
    isScheduledAhead: fc.boolean(),
    shapes: fc.array(requestShape, { minLength: 1, maxLength: 30 }),
  })
  .map(({ shapes, extraTokens, spareBlocks, isScheduledAhead, ...limits }) => {
    const { blockTokens } = limits;
    const requests = shapes.map(({ promptTokens, outputTokens, priority, loadedTokens, chain, pageShare }, id) => ({
      id,
      promptTokens,
      outputTokens,
      priority,
      loadedTokens,
      pages: pagesOf(chain, Math.floor((promptTokens / blockTokens) * pageShare)),
    }));
    return {
      limits: {
        ...limits,
        stepTokensMax: limits.sequencesMax + extraTokens,
        isPromptChunked: true,
        blockCount: Math.ceil(100 / blockTokens) + spareBlocks,
      },
      requests,
      arrivals: shapes.map((one) => one.arrival),
      isScheduledAhead,
    };
  });

/**
 * Runs all requests of a world to their end, with or without scheduling one step ahead. Calls `watch` with the kernel
 * after every decision.
 */
function run(world: World, watch: (kernel: BatchingKernel, step: Step) => void): BatchingKernel {
  const kernel = new BatchingKernel(world.limits);
  const inFlight: Step[] = [];
  const depth = world.isScheduledAhead ? 2 : 1;
  for (let turn = 0; turn <= 60 || !kernel.isIdle; turn += 1) {
    if (turn > 100_000) throw new Error("the kernel does not come to its end");
    for (const request of world.requests) if (world.arrivals[request.id] === turn) kernel.add(request);
    while (inFlight.length < depth) {
      const step = kernel.schedule();
      if (step === undefined) break;
      watch(kernel, step);
      inFlight.push(step);
    }
    const done = inFlight.shift();
    if (done !== undefined) kernel.complete(done);
  }
  return kernel;
}

describe("the batching kernel", () => {
  it("never holds more blocks, tokens or sequences than there are, and finishes every request once", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const finished: number[] = [];
        const firsts: number[] = [];
        const kernel = run(world, ({ heldBlocks, runningCount }, { load, ...step }) => {
          expect(heldBlocks).toBeLessThanOrEqual(world.limits.blockCount);
          expect(heldBlocks).toBeGreaterThanOrEqual(0);
          expect(runningCount).toBeLessThanOrEqual(world.limits.sequencesMax);
          expect(load.decodeSequences + load.promptTokens).toBeLessThanOrEqual(world.limits.stepTokensMax);
          finished.push(...step.finished);
          firsts.push(...step.firsts);
        });
        const ids = world.requests.map(({ id }) => id);
        expect(finished.toSorted((a, b) => a - b)).toEqual(ids);
        expect(firsts.toSorted((a, b) => a - b)).toEqual(ids);
        expect(kernel.heldBlocks).toBe(0);
      }),
    );
  });

  it("starts requests of one priority in the order in which they came", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const started: number[] = [];
        run(world, (_, step) => started.push(...step.started));
        for (const priority of new Set(world.requests.map((one) => one.priority))) {
          const came = world.requests
            .filter((one) => one.priority === priority)
            .toSorted((a, b) => (world.arrivals[a.id] ?? 0) - (world.arrivals[b.id] ?? 0) || a.id - b.id);
          const left = started.filter((id) => world.requests[id]?.priority === priority);
          expect(left).toEqual(came.map(({ id }) => id));
        }
      }),
    );
  });

  it("decides as the plain kernel that moves every sequence and every block by itself", () => {
    const seen = { preemptions: 0, pagesHit: 0, promptTokensHit: 0 };
    fc.assert(
      fc.property(worlds, (world) => {
        const reference = new ReferenceKernel(world.limits);
        const kernel = new BatchingKernel(world.limits);
        for (let turn = 0; turn <= 60 || !kernel.isIdle; turn += 1) {
          for (const request of world.requests) {
            if (world.arrivals[request.id] !== turn) continue;
            kernel.add(request);
            reference.add(request);
          }
          const step = kernel.schedule();
          const expected = reference.schedule();
          const { promptsEnding: _, ...load } = step?.load ?? {
            decodeSequences: 0,
            contextTokens: 0,
            promptTokens: 0,
            promptPairs: 0,
            promptsEnding: 0,
          };
          const decided = { started: step?.started ?? [], firsts: step?.firsts ?? [] };
          const finished = (step?.finished ?? []).toSorted((a, b) => a - b);
          expect({ ...load, ...decided, finished }).toEqual({
            ...expected,
            finished: expected.finished.toSorted((a, b) => a - b),
          });
          if (step !== undefined) kernel.complete(step);
          reference.complete();
          expect(kernel.totals.preemptions).toBe(reference.preemptions);
          expect(kernel.totals.pagesHit).toBe(reference.pagesHit);
        }
        for (const name of ["preemptions", "pagesHit", "promptTokensHit"] as const) seen[name] += kernel.totals[name];
      }),
      { numRuns: 200 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });

  it("gives the same bytes twice", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const text = (): string => {
          const steps: string[] = [];
          run(world, (_, step) => steps.push(JSON.stringify(step)));
          return steps.join("\n");
        };
        expect(text()).toBe(text());
      }),
      { numRuns: 30 },
    );
  });

  it("says why it cannot serve a request", () => {
    const kernel = new BatchingKernel({ ...usualLimits, blockCount: 10 });
    const request = { id: 0, promptTokens: 100, outputTokens: 61, priority: 0, pages: [], loadedTokens: 0 };
    expect(kernel.refusal(request)).toBeUndefined();
    expect(kernel.refusal({ ...request, outputTokens: 62 })).toContain("161 tokens do not fit into a cache of 160");
    expect(() => kernel.add({ ...request, promptTokens: 0 })).toThrow(RangeError);
    expect(() => new BatchingKernel({ ...usualLimits, blockCount: 10, sequencesMax: 4096 })).toThrow(/sequencesMax/);
  });
});

/**
 * Reference for the engine without its shortcut for plain decoding: every step is scheduled, timed and completed
 * separately.
 */
function stepByStep(world: World, priced: StepCosts, arrivalMs: readonly number[]): number[][] {
  const kernel = new BatchingKernel(world.limits);
  const times = world.requests.map(() => [0, 0]);
  const inFlight: Step[] = [];
  const depth = world.isScheduledAhead ? 2 : 1;
  let atMs = 0;
  let next = 0;
  let guard = 0;
  const fill = (): void => {
    for (; next < arrivalMs.length && (arrivalMs[next] ?? 0) <= atMs; next += 1) {
      const request = world.requests[next];
      if (request !== undefined) kernel.add(request);
    }
    while (inFlight.length < depth) {
      const step = kernel.schedule();
      if (step === undefined) return;
      inFlight.push(step);
    }
  };
  while (next < arrivalMs.length || !kernel.isIdle) {
    guard += 1;
    if (guard > 100_000) throw new Error("the engine does not come to its end");
    if (inFlight.length === 0) atMs = kernel.isIdle ? Math.max(atMs, arrivalMs[next] ?? atMs) : atMs;
    fill();
    const step = inFlight.shift();
    if (step === undefined) throw new Error("nothing to do, but not idle");
    atMs += stepMs(priced, step.load);
    for (const id of step.firsts) (times[id] ?? [])[0] = atMs;
    for (const id of step.finished) (times[id] ?? [])[1] = atMs;
    kernel.complete(step);
  }
  return times;
}

const costs = { tokensMs: tabulated(2048, (tokens) => 10 + tokens / 10), contextMs: 0, pairMs: 0, sampledMs: 0 };
const limits = { ...usualLimits, blockCount: 1000 };

describe("a timed engine", () => {
  it("gives the same times, bit for bit, as every step by itself", () => {
    const priced = {
      tokensMs: tabulated(64, (tokens) => 3 + tokens / 7),
      contextMs: 0.01,
      pairMs: 0.003,
      sampledMs: 0.1,
    };
    fc.assert(
      fc.property(worlds, fc.double({ min: 0, max: 40, noNaN: true }), (world, gapMs) => {
        const arrivalMs = Float64Array.from(world.requests, ({ id }) => id * gapMs);
        const options = { limits: world.limits, costs: priced, isScheduledAhead: world.isScheduledAhead };
        const times = runArrivals(options, world.requests, arrivalMs);
        const expected = stepByStep(world, priced, [...arrivalMs]);
        expect([...times.firstTokenMs]).toEqual(expected.map(([first]) => first));
        expect([...times.endMs]).toEqual(expected.map(([, end]) => end));
      }),
      { numRuns: 200 },
    );
  });

  it("begins what arrives together in one step, and what arrives during a step with the next", () => {
    const requests = [
      { promptTokens: 100, outputTokens: 1 },
      { promptTokens: 100, outputTokens: 2 },
      { promptTokens: 50, outputTokens: 1 },
    ];
    const times = runArrivals({ limits, costs, isScheduledAhead: false }, requests, Float64Array.of(5, 5, 6));
    // The step with 200 prompt tokens takes 30 ms. The following step, with one decoding token and 50 prompt tokens,
    // takes 15.1 ms.
    expect([...times.firstTokenMs]).toEqual([35, 35, 50.1]);
    expect([...times.endMs]).toEqual([35, 50.1, 50.1]);
  });

  it("makes a request that arrives during a step wait for one more step where steps are scheduled ahead", () => {
    const requests = [
      { promptTokens: 100, outputTokens: 3 },
      { promptTokens: 50, outputTokens: 1 },
    ];
    const times = runArrivals({ limits, costs, isScheduledAhead: true }, requests, Float64Array.of(0, 1));
    expect(times.firstTokenMs[0]).toBeCloseTo(20);
    // Steps end at 20 ms and, with one token, at 30.1 ms. The step that was scheduled at 20 ms contains the prompt.
    expect(times.startMs[1]).toBeCloseTo(20);
    expect(times.firstTokenMs[1]).toBeCloseTo(30.1 + 15.1);
  });

  it("keeps as many requests in flight as asked", () => {
    const requests = Array.from({ length: 20 }, () => ({ promptTokens: 10, outputTokens: 5 }));
    const times = runClosedLoop({ limits, costs, isScheduledAhead: false }, requests, 4);
    for (const [id, atMs] of times.arrivalMs.entries()) {
      const inFlight = [...times.endMs].filter((endMs, other) => (times.arrivalMs[other] ?? 0) <= atMs && endMs > atMs);
      expect(inFlight.length, `at the arrival of ${id}`).toBeLessThanOrEqual(4);
    }
    expect(times.totals.outputTokens).toBe(100);
  });

  it("is idle until something comes and after it has gone", () => {
    const engine = new TimedEngine({ limits, costs, isScheduledAhead: true });
    expect(engine.nextMs).toBe(Infinity);
    engine.add({ id: 7, promptTokens: 1, outputTokens: 1, priority: 0, pages: [], loadedTokens: 0 }, 100);
    expect(engine.nextMs).toBe(100);
    const ended: number[] = [];
    engine.advanceTo(Infinity, {
      started: () => undefined,
      firstToken: () => undefined,
      finished: (id, atMs) => ended.push(id, atMs),
    });
    expect(ended).toEqual([7, 110.1]);
    expect(engine.isIdle).toBe(true);
  });
});
