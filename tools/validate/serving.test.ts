import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { simulate } from "./serving-fit.ts";
import type { Corrections, EngineSetup } from "./serving-fit.ts";
import { readRun, readRuns } from "./serving-runs.ts";
import { minimise } from "./simplex.ts";

let folder = "";
const row = (index: number): string =>
  JSON.stringify({
    input_toks: 300 + index,
    output_toks: 50,
    arrival_time: 1_700_000_000 + index * 0.2,
    queued_ts: 500 + index * 0.2 + (index === 3 ? 0 : 0.05),
    scheduled_ts: 500.1 + index * 0.2,
    first_token_ts: 500.4 + index * 0.2,
    last_token_ts: 502 + index * 0.2,
  });

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-runs-"));
  const lines = Array.from({ length: 30 }, (_, index) => row(index));
  writeFileSync(path.join(folder, "L40S_Llama-3.1-8B-Instruct.jsonl"), lines.join("\n"));
  writeFileSync(path.join(folder, "short.jsonl"), lines.slice(0, 3).join("\n"));
  writeFileSync(path.join(folder, "broken.jsonl"), [...lines, '{"input_toks": 1}'].join("\n"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe("measured runs", () => {
  it("puts both clocks on one: the request queued soonest after its arrival was queued at it", () => {
    const run = readRun(path.join(folder, "L40S_Llama-3.1-8B-Instruct.jsonl"));
    expect(run).toMatchObject({ isKnown: true, accelerator: { name: "L40S" }, model: { name: "llama-3-8b" } });
    expect(run.requests[3]?.arrivalMs).toBeCloseTo(600, 3);
    expect(run.requests[3]?.firstTokenMs).toBeCloseTo(1000, 3);
  });

  it("names file and line of a broken row, and refuses a run that is too short", () => {
    expect(() => readRun(path.join(folder, "broken.jsonl"))).toThrow(/broken\.jsonl:31: output_toks is not a number/);
    expect(() => readRun(path.join(folder, "short.jsonl"))).toThrow(/3 requests, at least 20/);
    expect(() => readRuns(path.join(folder, "absent"))).toThrow(/absent/);
  });

  it("answers later on slower memory, and not at all where the cache holds no request", () => {
    const run = readRun(path.join(folder, "L40S_Llama-3.1-8B-Instruct.jsonl"));
    const setup: EngineSetup = { tensor: 1, engines: 1, sequencesMax: 128, stepTokensMax: 2048 };
    const neutral: Corrections = { memoryRate: 1, computeRate: 1, stepMs: 0, cacheSize: 1, frontEndMs: 0 };
    const as = simulate(run, setup, neutral);
    const slow = simulate(run, setup, { ...neutral, memoryRate: 0.5 });
    for (const [id, endMs] of (as?.endMs ?? []).entries()) expect(slow?.endMs[id]).toBeGreaterThan(endMs);
    expect(simulate(run, setup, { ...neutral, cacheSize: 1e-4 })).toBeUndefined();
  });
});

describe("the downhill simplex", () => {
  it("finds the bottom of a bent valley", () => {
    const valley = ([x = 0, y = 0]: readonly number[]): number => (1 - x) ** 2 + 100 * (y - x * x) ** 2;
    const { at, value } = minimise(valley, [-1.2, 1], [0.1, 0.1], 300);
    expect(value).toBeLessThan(1e-10);
    expect(at[0]).toBeCloseTo(1, 4);
    expect(at[1]).toBeCloseTo(1, 4);
  });
});
