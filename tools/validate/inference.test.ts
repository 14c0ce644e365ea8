import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

import {
  findModel,
  fittedInference,
  inferenceConstants,
  measuredServing,
  spreadConstants,
} from "../../packages/perf/src/index.ts";
import { sharedData } from "../shared-data.ts";
import { readCases } from "./inference-cases.ts";
import { parseCsv, readCsv } from "./inference-csv.ts";
import { evidenceOf, fit } from "./inference-fit.ts";
import { writeRows } from "./inference-rows-file.ts";
import { readRow } from "./inference-rows.ts";
import type { Case } from "./inference-rows.ts";
import { groupNames, observe, reportOf } from "./inference-score.ts";

const measurements = sharedData("inference/measurements.csv");

describe("the inference constants", () => {
  it("are at most 21", () => {
    expect(Object.keys(inferenceConstants).length).toBeLessThanOrEqual(21);
  });

  it("lie inside their ranges, with a unit and a meaning", () => {
    for (const { value, range, unit, meaning } of Object.values(inferenceConstants)) {
      expect(value).toBeGreaterThanOrEqual(range[0]);
      expect(value).toBeLessThanOrEqual(range[1]);
      expect(unit.length * meaning.length).toBeGreaterThan(0);
    }
  });
});

describe("rows", () => {
  const header = "id,source,kind,model,precision,gpu,tp,pp,dp,ep,engine,mode,isl,osl,batch_or_concurrency,tpot_ms";
  const read = (line: string): ReturnType<typeof readRow> => {
    const [row = {}] = parseCsv(`${header}\n${line}\n`);
    return readRow(row, { get: () => undefined });
  };

  it("that the model cannot answer get the reason", () => {
    expect(read("a,s,online_concurrency,no-such-model,fp8,H100,1,1,1,1,vllm,agg,1000,100,8,12")).toMatchObject({
      reason: 'architecture of "no-such-model" is not known',
    });
    expect(read("a,s,online_concurrency,m,fp8,XPU9,1,1,1,1,vllm,agg,1000,100,8,12")).toMatchObject({
      reason: 'accelerator "XPU9" is not in the catalogue',
    });
  });

  it("with formats that are not known are refused", () => {
    const row = { gpu: "H100", model: "llama-3-8b", kind: "static_batch", isl: "9", osl: "9", tpot_ms: "9" };
    const reason = (change: object): unknown => readRow({ ...row, ...change }, { get: findModel });
    expect(reason({ precision: "fp9" })).toMatchObject({ reason: 'precision "fp9" is not known' });
    expect(reason({ precision: "fp8", kv_precision: "half?" })).toMatchObject({
      reason: 'kv_precision "half?" is not known',
    });
  });

  it("that contradict themselves are refused, and a missing format is that of the published checkpoint", () => {
    const row = { gpu: "H100", model: "llama-3-8b", kind: "static_batch", isl: "9", osl: "9", tpot_ms: "9" };
    const stated = { ...row, precision: "fp8", batch_or_concurrency: "1", n_gpus: "1" };
    const read = (change: object): unknown => readRow({ ...stated, ...change }, { get: findModel });
    expect(read({ tp: "8" })).toMatchObject({ reason: "tp × pp × dp of 8 are more than the 1 accelerators" });
    const workers = { kind: "online_concurrency", mode: "disagg", disagg_cfg: "P1x(tp8,dp1,ep1) D0x(tp8,dp1,ep1)" };
    expect(read(workers)).toMatchObject({ reason: "disagg_cfg P1x(tp8,dp1,ep1) D0x(tp8,dp1,ep1) has a count of 0" });
    // Beyond the model's positions a row can be measured, but not beyond the memory of its accelerators.
    expect(read({ isl: "10000000" })).toMatchObject({
      reason: expect.stringMatching(/^a request of 10000009 tokens needs/),
    });
    expect(read({ isl: "1000000000" })).toMatchObject({ reason: 'isl cannot be "1000000000"' });
    expect(read({ model: "resnet-50" })).toMatchObject({ reason: expect.stringMatching(/convolutional vision model/) });
    expect(read({ precision: "" })).toMatchObject({
      replica: { formats: { linear: "bf16" } },
      chosen: expect.arrayContaining(["bf16 weights, by the model's name or its published checkpoint"]),
    });
    expect(read({ precision: "", model: "deepseek-v3", gpu: "H200", tp: "8", n_gpus: "8" })).toMatchObject({
      replica: { formats: { linear: "fp8" } },
    });
  });

  it("that measured nothing which is predicted are not scored, with the reason", () => {
    expect(read("a,s,static_batch,m,fp8,H100,1,1,1,1,vllm,agg,1000,1,8,")).toEqual({
      id: "a",
      source: "s",
      unmeasured: "no time per token, throughput or time to the first token was measured",
    });
    expect(readRow({ ttft_ms: "5", ttft_stat: "p99" }, { get: () => undefined })).toMatchObject({
      unmeasured: "only tail percentiles were measured, and means are predicted",
    });
  });

  it("know the line in which they begin", () => {
    expect(readCsv('a,b\n"x\ny",1\n\nz,2\n').rows.map(({ line }) => line)).toEqual([2, 5]);
  });

  it("with quotes, commas, line ends of any kind and padded names of columns are read", () => {
    expect(parseCsv("\uFEFFa, b \n1,2\n")).toEqual([{ a: "1", b: "2" }]);
    expect(parseCsv('a,b\r\n"x, ""y""",2\r\n')).toEqual([{ a: 'x, "y"', b: "2" }]);
  });
});

describe("the fit", () => {
  it("finds the constants again from what the model itself says with them", () => {
    const wanted = { ...fittedInference, kvReadEfficiency: 0.5, hostStepUs: 3000, layerFloorUs: 60 };
    const rows = ["llama-3-8b", "llama-3-70b"].flatMap((model) =>
      [1, 16, 64].flatMap((batch) => [512, 8192].map((isl) => `${model},fp8,H200,${isl},128,${batch},1`)),
    );
    const lines = rows.map((row, index) => `${index},s,static_batch,vllm,agg,1,1,1,1,${row}`).join("\n");
    const header = "id,source,kind,engine,mode,tp,pp,dp,ep,model,precision,gpu,isl,osl,batch_or_concurrency,tpot_ms";
    const table = parseCsv(`${header}\n${lines}\n`);
    const found = readCasesOf(table).map((one) => ({ ...one, measured: { tpotMs: one.predict(wanted).tpotMs ?? 0 } }));
    const groups = groupNames(found);
    const refitted = reportOf(observe(found, groups, fit(found, groups)), () => "all");
    const shipped = reportOf(observe(found, groups, fittedInference), () => "all");
    expect(refitted.macroMape).toBeLessThan(0.05);
    expect(refitted.macroMape).toBeLessThan(shipped.macroMape / 2);
  });
});

function readCasesOf(table: ReturnType<typeof parseCsv>): readonly Case[] {
  return table.map((row) => readRow(row, { get: findModel })).filter((one) => "predict" in one);
}

describe("a file of measurements", () => {
  it("is scored against the model: its own answers lie on it, a quarter more is a quarter off, other rows get a reason", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-measurements-"));
    try {
      const columns =
        "id,source,kind,engine,mode,tp,pp,dp,ep,model,precision,gpu,isl,osl,batch_or_concurrency,tpot_ms,score";
      const line = (id: number, tpotMs: number): string =>
        `${id},own,static_batch,vllm,agg,1,1,1,1,llama-3-8b,fp8,H200,1024,128,${id},${tpotMs},1`;
      const written = path.join(folder, "measurements.csv");
      const batches = [1, 8, 32];
      writeFileSync(written, `${columns}\n${batches.map((batch) => line(batch, 1)).join("\n")}\n`);
      const answers = readCases(written, false).cases.map((one) => one.predict(fittedInference).tpotMs ?? 0);
      const wrong = "99,own,static_batch,vllm,agg,1,1,1,1,no-such-model,fp8,H200,1024,128,1,9,1";
      const unscored = "98,own,static_batch,vllm,agg,1,1,1,1,llama-3-8b,fp8,H200,1024,128,1,9,0";
      const scored = (factor: number): ReturnType<typeof scoreOf> => {
        const lines = batches.map((batch, index) => line(batch, (answers[index] ?? 0) * factor));
        writeFileSync(written, `${columns}\n${[...lines, wrong, unscored].join("\n")}\n`);
        return scoreOf(written);
      };
      expect(scored(1).report.macroMape).toBeLessThan(0.001);
      expect(scored(1.25).report.macroMape).toBeCloseTo(0.2, 2);
      expect(scored(1).abstentions.map(({ reason }) => reason)).toEqual([
        'architecture of "no-such-model" is not known',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function scoreOf(measurements: string): Pick<ReturnType<typeof readCases>, "abstentions"> & {
  readonly report: ReturnType<typeof reportOf>;
} {
  const { cases, abstentions } = readCases(measurements, false);
  const groups = groupNames(cases);
  return { abstentions, report: reportOf(observe(cases, groups, fittedInference), (one) => one.group) };
}

describe("a row with the number of requests of its run", () => {
  it("has a median that the requests that start together do not move, and a mean that they raise", () => {
    const columns =
      "id,source,kind,engine,mode,tp,pp,dp,ep,model,precision,gpu,isl,osl,batch_or_concurrency,ttft_ms,ttft_stat,notes";
    const firstToken = (stat: string, requests: number): number => {
      const line = `a,own,online_concurrency,vllm,agg,1,1,1,1,llama-3-8b,fp8,H200,1024,1024,32,20,${stat},${requests} requests`;
      const [row = {}] = parseCsv(`${columns}\n${line}\n`);
      const read = readRow(row, { get: findModel });
      return "predict" in read ? (read.predict(fittedInference).ttftMs ?? 0) : 0;
    };
    expect(firstToken("median", 64)).toBeGreaterThan(0);
    expect(firstToken("median", 64)).toBe(firstToken("median", 320));
    expect(firstToken("mean", 64)).toBeGreaterThan(firstToken("mean", 320));
    expect(firstToken("mean", 320)).toBeGreaterThan(firstToken("median", 320));
  });
});

describe("a row with the time to the first token alone", () => {
  it("is scored for it, and every row is listed, with the reason where it is not scored", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-first-tokens-"));
    try {
      const [measurements, rows] = [path.join(folder, "measurements.csv"), path.join(folder, "rows.csv")];
      const line = (id: string, measured: string, score: number): string =>
        `${id},own,static_batch,vllm,agg,1,1,1,1,llama-3-8b,fp8,H200,1024,1,1,${measured},${score}`;
      const columns =
        "id,source,kind,engine,mode,tp,pp,dp,ep,model,precision,gpu,isl,osl,batch_or_concurrency,ttft_ms,ttft_stat,score";
      const lines = [columns, line("first", "20,mean", 1), line("tail", "20,p99", 1), line("other", "20,mean", 0)];
      writeFileSync(measurements, `${lines.join("\n")}\n`);
      const read = readCases(measurements, false);
      const groups = groupNames(read.cases);
      const observations = observe(read.cases, groups, fittedInference, { wanted: ["tpot", "throughput", "ttft"] });
      expect(observations.map(({ id, quantity }) => [id, quantity])).toEqual([["first", "ttft"]]);
      expect(read.unscored).toMatchObject([
        { id: "tail", reason: "only tail percentiles were measured, and means are predicted" },
        { id: "other", reason: 'score is "0" in the file' },
      ]);
      writeRows(rows, read, fittedInference);
      const listed = parseCsv(readFileSync(rows, "utf8"));
      expect(listed.map(({ id, scored, reason }) => [id, scored, reason !== ""])).toEqual([
        ["first", "1", false],
        ["tail", "0", true],
        ["other", "0", true],
      ]);
      expect(Number(listed[2]?.["predicted_ttft_ms"])).toBe(Number(listed[0]?.["predicted_ttft_ms"]));
      expect(Number(listed[0]?.["predicted_ttft_ms"])).toBeGreaterThan(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.skipIf(measurements === null)("published measurements, rows with score 1", () => {
  // Vitest also runs the body of a skipped suite, so the file is read inside the tests.
  let read: Pick<ReturnType<typeof readCases>, "cases" | "abstentions"> & {
    readonly report: ReturnType<typeof reportOf>;
  };
  beforeAll(() => {
    const { cases, abstentions } = readCases(measurements!, false);
    const groups = groupNames(cases);
    const report = reportOf(observe(cases, groups, fittedInference), (one) => one.group);
    read = { cases, abstentions, report };
  });

  it("are predicted within a macro average of 11% (in-sample)", () => {
    expect(read.report.macroMape).toBeLessThan(0.11);
  });

  it("have their first token predicted within a macro average of 25% (in-sample)", () => {
    const { cases } = read;
    const firstTokens = reportOf(
      observe(cases, groupNames(cases), fittedInference, { wanted: ["ttft"] }),
      (one) => one.group,
    );
    expect(firstTokens.macroMape).toBeLessThan(0.25);
  });

  it("are of the kinds that count as evidence", () => {
    expect(evidenceOf(read.cases)).toEqual(measuredServing);
  });

  it("are answered but for one in ten", () => {
    const { abstentions, cases } = read;
    expect(abstentions.length / (abstentions.length + cases.length)).toBeLessThan(0.1);
  });

  it("lie inside the interval three times in four or more", () => {
    expect(spreadConstants.length).toBe(2);
    expect(read.report.all.coverage).toBeGreaterThan(0.75);
    expect(read.report.all.intervalRatio).toBeLessThan(1.5);
  });
});
