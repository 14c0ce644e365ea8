import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  estimateMemory,
  estimateStep,
  trainingConstants,
  trainingConstantsOf,
  type MemoryEstimate,
  type StageMemory,
} from "@headroom/perf";
import { sharedData } from "../shared-data.ts";
import { fitConstants, logError, priorConstants } from "./training-fit.ts";
import { abstentionText, quantile } from "./training-report.ts";
import { readTrainingRow, reportedStage, type Fields, type TrainingRow } from "./training-rows.ts";

const root = path.resolve(import.meta.dirname, "../..");
const measurements = sharedData("training/measurements.csv");

const fields: Fields = {
  id: "X1",
  source_group: "example",
  model: "Llama-8B",
  layers: "32",
  hidden: "4096",
  heads: "32",
  kv_heads: "8",
  head_dim: "128",
  ffn_hidden: "14336",
  gated_ffn: "1",
  vocab: "128256",
  tied_emb: "0",
  attn: "gqa",
  seq_len: "8192",
  gpu: "H100",
  gpus: "64",
  gpus_per_node: "8",
  tp: "2",
  pp: "4",
  vpp: "4",
  cp: "2",
  zero_stage: "1",
  recompute: "none",
  micro_batch: "1",
  global_batch: "128",
  precision: "fp8-mx",
  inter_link: "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s",
  framework: "NeMo 25.02",
  step_time_s: "5",
  status: "ok",
  score: "1",
};

function rowOf(change: Fields): TrainingRow {
  const reading = readTrainingRow({ ...fields, ...change });
  if (reading.kind !== "row") throw new Error(reading.reason);
  return reading.row;
}

describe("a row of measurements", () => {
  it.each([
    [{ tp: "abc" }, 'tp cannot be "abc"'],
    [{ layers: "-3" }, 'layers cannot be "-3"'],
    [{ gpus: "2.5" }, 'gpus cannot be "2.5"'],
    [{ seq_len: "1e99" }, 'seq_len cannot be "1e99"'],
    [{ step_time_s: "0" }, 'step_time_s cannot be "0"'],
    [{ tp: "7" }, "tp × pp × cp of 56 does not divide 64 accelerators"],
    [{ gpu: "Z9000" }, "accelerator Z9000 is not in the catalogue"],
    [{ zero_stage: "5" }, 'zero_stage cannot be "5"'],
    [{ sequence_parallel: "maybe" }, 'sequence_parallel cannot be "maybe"'],
    [{ vocab: "" }, "layers, hidden size, heads or vocabulary of the model are missing"],
    [{ seq_len: "1000000000" }, 'seq_len cannot be "1000000000"'],
    [{ pp: "64", tp: "1", cp: "1", vpp: "" }, "pp of 64 is more than the 32 layers"],
    [{ tp: "64", pp: "1", cp: "1", vpp: "" }, "tp of 64 does not divide the 32 heads"],
    [{ ep: "8" }, "ep of 8 needs a model with experts"],
    [{ experts: "8", topk: "2", ep: "3" }, "ep of 3 does not divide the 8 experts"],
    [{ experts: "8", topk: "9" }, "topk of 9 is more than the 8 experts"],
    [{ experts: "8", topk: "2", dense_layers: "999" }, "dense_layers of 999 is more than the 32 layers"],
    [{ micro_batch: "1000" }, "micro_batch of 1000 is more than the global batch of 128"],
    [{ global_batch: "2" }, "the layout has more data-parallel ranks than the 2 sequences"],
    [{ model: "DLRM v2", layers: "" }, expect.stringMatching(/^DLRM v2 is a recommender: /)],
  ])("that cannot be is refused with the reason: %j", (change, reason) => {
    expect(readTrainingRow({ ...fields, ...change })).toMatchObject({ kind: "unreadable", isScored: true, reason });
  });

  it.each(["madeup", "ful", "none or full", "none full"])(
    "with recomputation %j is refused with its line",
    (recompute) => {
      const reading = readTrainingRow({ ...fields, recompute }, "own.csv:7");
      if (reading.kind === "row") throw new Error("the row was read");
      expect(reading.reason).toContain(`recompute cannot be "${recompute}"; known: none, full, selective`);
      expect(abstentionText([reading], 1)).toMatch(/recompute cannot be .* \(own\.csv:7\)/);
    },
  );

  it.each([
    ["full?", "full"],
    ["moe_act,mla_up_proj", "none"],
    ["save_dot_except_logits", "partial"],
    ["[]", "none"],
  ])("reads recomputation %j as %s", (recompute, read) => {
    expect(rowOf({ recompute }).plan.recomputation).toBe(read);
  });

  it("says which stack was assumed, unless its framework is known", () => {
    const note = (framework: string): string => rowOf({ framework, precision: "bf16" }).note;
    expect(note("Own Trainer 3")).toBe("framework Own Trainer 3 is not known: counted as fused");
    expect(note("")).toBe("no framework is stated: counted as fused");
    expect(["NeMo 25.02", "MaxText", "DeepSpeed", "nanotron"].map(note)).toEqual(["", "", "", ""]);
  });

  it("states the peak of the fullest stage, and of the first stage where rank 0 writes the log", () => {
    const of = (framework: string): readonly [reported: StageMemory, memory: MemoryEstimate] => {
      const { job, plan } = rowOf({
        framework,
        precision: "bf16",
        cp: "1",
        vpp: "",
        micro_batch: "8",
        recompute: "full",
      });
      const memory = estimateMemory(job, plan);
      expect(memory.last.bytes).toBeGreaterThan(memory.first.bytes);
      return [reportedStage(job, memory), memory];
    };
    const [megatron, most] = of("Megatron-LM");
    expect(megatron).toBe(most.last);
    const [nanotron, own] = of("nanotron");
    expect(nanotron).toBe(own.first);
  });

  it("is judged for memory as far as it says what it recomputes", () => {
    const judged = (change: Fields): string => rowOf(change).memoryJudgement;
    expect(judged({ recompute: "selective" })).toBe("as stated");
    expect(judged({ recompute: "" })).toBe("at least");
    expect(judged({ recompute: "selective", framework: "PyTorch FSDP" })).toBe("at least");
    expect(judged({ recompute: "qkv_proj_offloaded", framework: "MaxText" })).toBe("unknown policy");
  });

  it("becomes a job, a plan and a system", () => {
    const { plan, job, system } = rowOf({});
    expect(plan).toMatchObject({
      tensor: 2,
      pipeline: 4,
      context: 2,
      data: 4,
      virtualStages: 4,
      schedule: "interleaved",
    });
    expect(plan).toMatchObject({ sequenceParallel: true, zeroStage: 1, microBatch: 1 });
    expect([job.precision.linear, job.software.stack, job.software.attention]).toEqual(["mxfp8", "fused", "flash"]);
    expect(system.cluster.node.scaleOutGbPerS).toBe(400);
  });

  it("reads networks, frameworks and sharding as they are written", () => {
    const rate = (inter_link: string): number => rowOf({ inter_link }).system.cluster.node.scaleOutGbPerS;
    expect([rate("1600Gbps RoCE per node"), rate("400Gbps/node"), rate("8x200Gb HDR"), rate("")]).toEqual([
      200, 50, 200, 400,
    ]);
    const stack = (framework: string): string =>
      rowOf({ framework, tp: "1", pp: "1", cp: "1", precision: "bf16" }).job.software.stack;
    expect(["llm-foundry FSDP", "Megatron-Bridge 26", "MaxText", ""].map(stack)).toEqual([
      "eager",
      "fused",
      "compiled",
      "eager",
    ]);
    expect(rowOf({ tp: "1", pp: "1", cp: "1", zero_stage: "3", fsdp: "HSDP" }).plan.shardCount).toBe(8);
  });

  it("runs 8-bit products in fused kernels whatever calls them", () => {
    expect(rowOf({ framework: "PyTorch", tp: "1", pp: "1", cp: "1" }).job.software.stack).toBe("fused");
  });

  it("leaves what it does not state to the search, within memory", () => {
    const open = rowOf({ micro_batch: "", recompute: "", model: "Llama-8B" });
    expect(open.chosen).toEqual(["microBatch", "recomputation"]);
    expect(open.plan).toMatchObject({ tensor: 2, pipeline: 4, context: 2, virtualStages: 4, recomputation: "none" });
    const large = rowOf({ micro_batch: "", recompute: "", vpp: "", pp: "1", cp: "1", tp: "1", seq_len: "32768" });
    expect(large.plan.recomputation).not.toBe("none");
    expect(rowOf({}).chosen).toEqual([]);
  });

  it("is passed over with the reason where it cannot be read", () => {
    expect(readTrainingRow({ ...fields, gpu: "H999" })).toMatchObject({
      kind: "unreadable",
      reason: "accelerator H999 is not in the catalogue",
    });
    expect(readTrainingRow({ ...fields, layers: "" })).toMatchObject({ kind: "unreadable" });
    expect(readTrainingRow({ ...fields, precision: "fp3" })).toMatchObject({ reason: "precision fp3 is unknown" });
  });
});

describe("the fit", () => {
  it("finds constants that explain the data, the same each time, and leaves alone what no row speaks of", () => {
    const truth = trainingConstantsOf((name) =>
      name === "matmulShare" ? 0.7 : (trainingConstants[name].prior ?? trainingConstants[name].value),
    );
    const rows = ["8", "16", "32", "64"].flatMap((gpus) =>
      ["1024", "8192"].map((seq_len): TrainingRow => {
        const row = rowOf({ tp: "1", pp: "1", cp: "1", gpus, seq_len, precision: "bf16" });
        return { ...row, stepSeconds: estimateStep(row.job, row.plan, row.system, truth).seconds };
      }),
    );
    const fitted = fitConstants(rows);
    const errors = (constants: typeof fitted): readonly number[] =>
      rows.map((row) => Math.abs(logError(row, constants)));
    expect(Math.min(...errors(priorConstants()))).toBeGreaterThan(0.04);
    expect(Math.max(...errors(fitted))).toBeLessThan(0.02);
    expect(fitted.matmulShare).toBeLessThan(0.8);
    expect(fitted.routingPasses).toBeCloseTo(trainingConstants.routingPasses.prior ?? Number.NaN, 6);
    expect(fitConstants(rows)).toEqual(fitted);
  });

  it("quantiles lie between the values", () => {
    expect([0, 0.5, 0.9, 1].map((share) => quantile([4, 1, 3, 2, 5], share))).toEqual([1, 3, 4.6, 5]);
  });
});

interface Section {
  readonly macro_mape_pct: number;
  readonly overall: { readonly median_pct: number; readonly rows: number };
  readonly groups: readonly { readonly group: string; readonly rows: number; readonly mape_pct: number }[];
}

interface Report {
  readonly sections: readonly Section[];
  readonly memory: Readonly<
    Record<
      "rows" | "median_pct" | "mape_pct" | "out_of_memory_rows" | "out_of_memory_called" | "false_alarm_pct",
      number
    >
  >;
}

function validate(files: readonly string[], ...flags: readonly string[]): Report {
  const script = path.join(root, "tools", "validate", "training.ts");
  const paths = files.map((file) => sharedData(`training/${file}`) ?? file);
  const run = spawnSync(process.execPath, [script, ...paths, "--json", ...flags], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  expect(run.stderr).toBe("");
  return JSON.parse(run.stdout) as Report;
}

describe.skipIf(measurements === null)(
  "against published measurements (in-sample; sources left out: the system suite)",
  () => {
    it("step times: macro error under 7%, median under 5%, no large group over 20%", () => {
      const [shipped] = validate(["measurements.csv", "measurements_unseen_1.csv"]).sections;
      expect(shipped?.overall.rows).toBe(437);
      expect(shipped?.macro_mape_pct ?? 100).toBeLessThan(7);
      expect(shipped?.overall.median_pct ?? 100).toBeLessThan(5);
      expect(shipped?.groups.filter(({ rows, mape_pct }) => rows >= 6 && mape_pct > 20)).toEqual([]);
    });
  },
);

describe.skipIf(measurements === null)("memory against published peaks and failures", () => {
  it("mean error under 9% and 15%, every failure called, few false alarms", () => {
    const bulk = validate(["measurements_bulk.csv"]).memory;
    expect(bulk.rows).toBe(1024);
    expect(bulk.mape_pct).toBeLessThan(9);
    const all = validate(["measurements.csv"]).memory;
    expect(all.mape_pct).toBeLessThan(15);
    expect(all.out_of_memory_called).toBe(all.out_of_memory_rows);
    expect(all.false_alarm_pct).toBeLessThan(4);
  });
});

describe.skipIf(measurements === null)("every row by itself", () => {
  it("is written with its prediction, its parts, its plan and the reason where there is none", () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), "rows-")), "rows.csv");
    validate(["measurements_unseen_1.csv"], "--rows", file);
    const [header = "", ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
    rmSync(path.dirname(file), { recursive: true });
    expect(lines.length).toBe(96);
    const columns = header.split(",");
    expect(columns).toEqual(expect.arrayContaining(["predicted_s", "matmul_s", "low_s", "plan", "chosen", "reason"]));
    expect(lines.find((line) => line.startsWith("T0970,"))).toMatch(/of the model are missing"?$/);
    expect(lines.find((line) => line.startsWith("T0909,"))).toMatch(/ZeRO 3.*,tensor pipeline .*recomputation,$/);
  });
});
