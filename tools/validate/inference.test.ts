import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

import { findModel, fittedInference, inferenceConstants, spreadConstants } from "../../packages/perf/src/index.ts";
import { readCases } from "./inference-cases.ts";
import { parseCsv } from "./inference-csv.ts";
import { fit } from "./inference-fit.ts";
import { readRow } from "./inference-rows.ts";
import type { Case } from "./inference-rows.ts";
import { groupNames, observe, reportOf } from "./inference-score.ts";

const root = path.resolve(import.meta.dirname, "../..");
const file = path.join(
  process.env["HEADROOM_SHARED"] ?? path.join(root, "../shared"),
  "data/inference/measurements.csv",
);
if (!existsSync(file)) process.stderr.write(`SKIPPED: ${file} is not there, so nothing is compared with it.\n`);

describe("the inference constants", () => {
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

  it("that measured nothing which is predicted are passed over", () => {
    expect(read("a,s,static_batch,m,fp8,H100,1,1,1,1,vllm,agg,1000,1,8,")).toBeUndefined();
  });

  it("with quotes, commas and line ends of any kind are read", () => {
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
  return table.map((row) => readRow(row, { get: findModel })).filter((one) => one !== undefined && "predict" in one);
}

describe.skipIf(!existsSync(file))(`${path.basename(file)}, rows with score 1`, () => {
  const { cases, abstentions } = readCases(file, false);
  const groups = groupNames(cases);
  const report = reportOf(observe(cases, groups, fittedInference), (one) => one.group);

  it("are predicted within a macro average of 20% (in-sample)", () => {
    expect(report.macroMape).toBeLessThan(0.2);
  });

  it("are answered but for one in ten", () => {
    expect(abstentions.length / (abstentions.length + cases.length)).toBeLessThan(0.1);
  });

  it("lie inside the interval four times in five or more", () => {
    expect(spreadConstants.length).toBe(2);
    expect(report.all.coverage).toBeGreaterThan(0.75);
  });
});
