import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ServingReport, TrainingReport } from "@headroom/perf";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-size-open-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const size = (...args: string[]): Promise<Said> => headroom(["size", ...args], { workingDirectory: folder });

describe("what a question leaves out", () => {
  interface Completed extends TrainingReport {
    readonly recipe: { readonly source: string; readonly globalBatch: { readonly usual: number } };
  }

  it("takes the batch of the published recipe, the fewest accelerators that hold it, and says so", async () => {
    const { code, stdout } = await size("train", "--model", "llama-3-405b", "--accelerator", "H100");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^On 128 accelerators with \d+ sequences of 8192 tokens in a step \(Llama 3, arXiv 2407\.21783/,
    );
    const { recipe } = JSON.parse(
      (await size("train", "--model", "deepseek-v3", "--accelerator", "H800", "--gpus", "2048", "--json")).stdout,
    ) as Completed;
    expect(recipe.globalBatch.usual).toBe(15_360);
  });

  it.each([
    [["--tokens", "15T"], "--tokens needs --accelerator"],
    [["--price", "2.5"], "--price needs --accelerator"],
    [["--tokens", "15T", "--price", "2.5"], "--tokens and --price need --accelerator"],
  ])("refuses options that a comparison of all types would ignore: %j", async (given, message) => {
    const { code, stderr } = await size("train", "--model", "llama-3-8b", ...given);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it("marks types whose figures no document states", async () => {
    const { stdout } = await size("catalogue");
    expect(stdout).toMatch(/^H20-SXM \* /m);
    expect(stdout).toMatch(/^H100-SXM-80GB {2}/m);
    expect(stdout).toContain("* no document cited:");
    const { accelerators } = JSON.parse((await size("catalogue", "--json")).stdout) as {
      accelerators: { name: string; sources: Record<string, string> }[];
    };
    const withoutDocument = accelerators.filter(({ sources: { matrix = "", memory = "" } }) =>
      [matrix, memory].every((each) => each.startsWith("general")),
    );
    const page = readFileSync(
      path.resolve(import.meta.dirname, "../../../../docs/reference/accelerator-types.md"),
      "utf8",
    );
    expect(page).toContain(
      `\n${withoutDocument
        .map(({ name }) => name)
        .toSorted()
        .join(", ")}\n`,
    );
  });

  it("prints the command that starts the plan", async () => {
    const job = ["train", "--model", "llama-3-8b", "--accelerator", "H100", "--gpus", "8"];
    expect((await size(...job, "--plan", "tp=2,mb=2")).stdout).toMatch(
      /torchrun .*pretrain_gpt\.py --tensor-model-parallel-size 2 .*--micro-batch-size 2 /,
    );
    const experts = ["train", "--model", "deepseek-v3", "--accelerator", "B200", "--gpus", "256", "--batch", "4096"];
    const command = (await size(...experts, "--plan", "pp=16,ep=8,mb=1,vpp=1")).stdout;
    for (const part of [
      "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128",
      "--moe-shared-expert-intermediate-size 2048 --moe-layer-freq '([0]*3+[1]*58)'",
      "--pipeline-model-parallel-size 16 --decoder-last-pipeline-num-layers 1 ",
    ])
      expect(command).toContain(part);
    expect((await size(...job, "--stack", "eager")).stdout).toMatch(
      /torchrun .*torchtitan\.train .*--parallelism\.data_parallel_shard_degree \d/,
    );
  });

  it.each([
    [["V100"], "--fp16", "warning: V100-SXM2-32GB has no bf16 units: fp16 is chosen"],
    [["T4"], "--fp16", "warning: T4 has no bf16 units: fp16 is chosen"],
    [["V100", "--precision", "fp16"], "--fp16", ""],
    [
      ["V100", "--precision", "bf16"],
      "--bf16",
      "warning: V100-SXM2-32GB has no bf16 units: bf16 is counted at its fp16",
    ],
    [["V100", "--precision", "fp8"], "--fp16", "warning: V100-SXM2-32GB has no fp8 units: fp8 is counted at its fp16"],
    [["H100"], "--bf16", ""],
    [["H100", "--precision", "fp16"], "--fp16", ""],
  ])("takes the 16-bit format that %j has", async ([accelerator = "", ...stated], flag, warning) => {
    const job = ["--model", "llama-3-8b", "--gpus", "64", "--batch", "64", "--sequence", "2048"];
    const { stdout } = await size("train", "--accelerator", accelerator, ...job, ...stated);
    const [command = ""] = stdout.split("\n").filter((line) => line.includes("torchrun"));
    expect(command.match(/--(?:bf|fp)16/g)).toEqual([flag]);
    expect(stdout).toContain(warning);
    expect(stdout.includes("units:")).toBe(warning !== "");
  });

  it.each([
    [
      ["H100"],
      "--fp8-format",
      "defaults chosen .*fp8, in which the model was trained \\(DeepSeek-V3, arXiv 2412.19437",
    ],
    [["H100", "--precision", "bf16"], "--bf16", ""],
    [["A100"], "--bf16", "warning: A100-SXM-80GB has no fp8 units: bf16 is chosen instead of fp8, in which the model"],
    [["H100", "--stack", "eager"], "torchtitan", "warning: the eager stack trains in 16 bits: bf16 is chosen instead"],
  ])(
    "trains DeepSeek-V3 on %j in its own format where that is possible",
    async ([type = "", ...stated], flag, text) => {
      const job = ["--model", "deepseek-v3", "--gpus", "1024", "--batch", "4096", "--sequence", "4096"];
      const { stdout } = await size("train", "--accelerator", type, ...job, ...stated);
      const [command = ""] = stdout.split("\n").filter((line) => line.includes("torchrun"));
      expect(command).toContain(flag);
      expect(command.includes("fp8")).toBe(flag.includes("fp8"));
      expect(stdout).toMatch(new RegExp(text));
      expect(stdout.includes("in which the model was trained")).toBe(text !== "");
    },
  );

  it("trains a config.json in FP8 only if its architecture was trained so, and adapters in 16 bits", async () => {
    const config = {
      model_type: "deepseek_v3",
      num_hidden_layers: 61,
      hidden_size: 7168,
      num_attention_heads: 128,
      num_key_value_heads: 128,
      intermediate_size: 18_432,
      vocab_size: 129_280,
      q_lora_rank: 1536,
      kv_lora_rank: 512,
      qk_nope_head_dim: 128,
      qk_rope_head_dim: 64,
      v_head_dim: 128,
      n_routed_experts: 256,
      num_experts_per_tok: 8,
      moe_intermediate_size: 2048,
      n_shared_experts: 1,
      first_k_dense_replace: 3,
    };
    const narrow = { ...config, quantization_config: { quant_method: "fp8" } };
    writeFileSync(path.join(folder, "wide.json"), JSON.stringify(config));
    writeFileSync(path.join(folder, "narrow.json"), JSON.stringify(narrow));
    const job = ["--accelerator", "H100", "--gpus", "1024", "--batch", "4096", "--sequence", "4096", "--json"];
    const formatOf = async (command: string, model: string): Promise<string> =>
      (JSON.parse((await size(command, "--model", model, ...job)).stdout) as TrainingReport).format.linear;
    expect(await formatOf("train", "narrow.json")).toBe("fp8");
    expect(await formatOf("train", "wide.json")).toBe("bf16");
    expect(await formatOf("train", "kimi-k2")).toBe("bf16");
    expect(await formatOf("finetune", "deepseek-v3")).toBe("bf16");
  });

  it("takes the 16-bit format that an accelerator of the catalogue file has", async () => {
    const entry = `accelerators:
  - name: V1
    vendor: NVIDIA
    year: 2026
    architecture: Volta
    denseTflops: { bf16: 120 }
    halfFormat: fp16
    memoryGib: 64
    memoryGbPerS: 900
    scaleUp: { kind: switched, name: XLink, gbPerS: 150, domainCount: 8 }
    scaleOutGbPerS: 12
    source: data sheet of 2026
`;
    writeFileSync(path.join(folder, "half.yaml"), entry);
    const own = ["--model", "llama-3-8b", "--accelerator", "V1", "--catalogue", "half.yaml"];
    const trained = await size("train", ...own, "--gpus", "64", "--batch", "64", "--sequence", "2048");
    expect(trained.stdout).toMatch(/torchrun .* --fp16 /);
    expect(trained.stdout).toContain("warning: V1 has no bf16 units: fp16 is chosen");
    expect((await size("serve", ...own, "--requests", "1", "--ttft", "9s", "--tpot", "1s")).stdout).toContain(
      "fp16 instead of bf16, for which V1 has no units",
    );
  });

  it("prints no command where its program has no fp16", async () => {
    const job = ["--model", "llama-3-8b", "--gpus", "64", "--batch", "64", "--sequence", "2048", "--stack", "eager"];
    expect((await size("train", "--accelerator", "H100", ...job)).stdout).toContain("torchtitan.train");
    expect((await size("train", "--accelerator", "V100", ...job)).stdout).not.toContain("torchrun");
  });

  it("compares all accelerators where none is named", async () => {
    const { items } = JSON.parse((await size("train", "--model", "llama-3-8b", "--gpus", "64", "--json")).stdout) as {
      items: { accelerator: string; answer: { kind: string; tokensPerSPerAccelerator: number } }[];
    };
    const rates = items.flatMap(({ answer }) => (answer.kind === "training" ? [answer.tokensPerSPerAccelerator] : []));
    expect(rates.length).toBeGreaterThan(30);
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    expect((await size("train", "--model", "llama-3-8b")).stdout).toContain("H100-SXM-80GB");
  });

  it("says for each type why no plan fits on it, and what would fit", async () => {
    const asked = ["train", "--model", "llama-3-8b", "--batch", "64", "--sequence", "4096"];
    const { code, stdout } = await size(...asked, "--gpus", "1");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^B200-SXM /m);
    const reasons = stdout.split("\n").filter((line) => line.startsWith("Not on "));
    const on = (type: string): string => reasons.find((line) => line.includes(` ${type}`)) ?? "";
    expect(on("T4")).toMatch(
      /even with full recomputation and 8 bytes of optimizer per parameter, llama-3-8b needs at least \d+\.\d GiB on one accelerator, which has 16 GiB\. Nearest: \d+ accelerators\.$/,
    );
    expect(on("H100-SXM-80GB")).toMatch(
      /Nearest: \d+ accelerators, or the optimizer's \d+\.\d GiB per accelerator on the host, in a time that is not predicted, or adapters instead of every parameter/,
    );
    for (const type of ["T4", "H100-SXM-80GB"]) {
      const [, count = ""] = /Nearest: (\d+) accelerators/.exec(on(type)) ?? [];
      expect((await size(...asked, "--gpus", count, "--accelerator", type)).code).toBe(0);
    }
    const adapters = ["--model", "llama-3-8b", "--batch", "64", "--sequence", "4096", "--gpus", "1"];
    expect((await size("finetune", ...adapters, "--accelerator", "H100")).code).toBe(0);
  });

  it("names the narrower format where it makes a run fit", async () => {
    const asked = ["train", "--model", "mixtral-8x7b", "--accelerator", "L4", "--batch", "64", "--sequence", "81920"];
    const refused = await size(...asked, "--gpus", "32");
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("or fp8 instead of bf16")]);
    expect((await size(...asked, "--gpus", "32", "--precision", "fp8")).code).toBe(0);
  });

  it("says once why no type trains a model", async () => {
    const { code, stdout, stderr } = await size("train", "--model", "foo-bar");
    expect([code, stdout, stderr]).toEqual([
      3,
      "",
      expect.stringMatching(/^there is no model preset foo-bar\. Nearest/),
    ]);
    const none = await size("train", "--model", "deepseek-v3", "--gpus", "1");
    expect(none.code).toBe(3);
    expect(none.stdout.split("\n").filter((line) => line !== "" && !line.startsWith("Not on "))).toEqual([
      expect.stringMatching(/^Batch: /),
    ]);
  });

  it("serves a checkpoint in the format in which it is published", async () => {
    const serve = ["serve", "--model", "deepseek-v3", "--accelerator", "H200", "--requests", "5"];
    const [usual, fp8, bf16] = await Promise.all([
      size(...serve, "--price", "3", "--json"),
      size(...serve, "--price", "3", "--json", "--weights", "fp8"),
      size(...serve, "--price", "3", "--json", "--weights", "bf16"),
    ]);
    expect(usual.stdout).toBe(fp8.stdout);
    expect(usual.stdout).not.toBe(bf16.stdout);
    expect((await size(...serve)).stdout).toContain("fp8 weights, as in the published checkpoint");
  });

  it.each([
    [["V100"], true],
    [["V100", "--weights", "bf16"], true],
    [["T4"], true],
    [["V100", "--weights", "fp16", "--kv", "fp16"], false],
    [["A100"], false],
  ])("serves in the 16-bit format that %j has", async ([accelerator = "", ...stated], isReplaced) => {
    const slow = ["--requests", "1", "--ttft", "20s", "--tpot", "2s"];
    const serve = ["serve", "--model", "llama-3-8b", "--accelerator", accelerator, ...stated, ...slow];
    const { code, stdout } = await size(...serve);
    expect(code).toBe(0);
    expect(stdout.includes("fp16 instead of bf16, for which")).toBe(isReplaced);
    const { chosen } = JSON.parse((await size(...serve, "--json")).stdout) as ServingReport;
    const cache = stated.includes("--kv") ? "" : isReplaced ? "fp16 cache" : "bf16 cache";
    expect(chosen.join("; ")).toContain(cache);
  });

  it("serves on all accelerators where none is named, the fewest first", async () => {
    const serve = ["serve", "--model", "llama-3-70b", "--requests", "20"];
    const { items } = JSON.parse((await size(...serve, "--json")).stdout) as {
      items: { accelerator: string; answer: { kind: string; plans?: { acceleratorCount: number }[] } }[];
    };
    const counts = items.flatMap(({ answer }) => answer.plans?.[0]?.acceleratorCount ?? []);
    expect(counts.length).toBeGreaterThan(10);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    const { code, stdout } = await size(...serve);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ACCELERATOR +REPLICAS +GPUS/);
    expect(stdout).toMatch(/^H100-SXM-80GB /m);
    expect(stdout).toMatch(/^Not on (\S+, )*T4(, \S+)*: no layout meets the latency targets\.$/m);
    expect(stdout).toMatch(/^Not on TPU-v3, TPU-v4, .*: no serving run of this type or an accelerator like it was/m);
  });

  it.each([
    ["flux.1-dev", /^flux\.1-dev is a diffusion model: [^\n]*\. Nearest: a causal language model[^\n]*\n$/],
    ["foo-bar", /^there is no model preset foo-bar\. Nearest: [^\n]*\n$/],
  ])("says once why no type serves %s", async (model, reason) => {
    const { code, stdout, stderr } = await size("serve", "--model", model, "--requests", "5");
    expect([code, stdout, stderr]).toEqual([3, "", expect.stringMatching(reason)]);
  });

  it("gives each reason with its types where no type meets the objective", async () => {
    const slow = ["--model", "llama-3-70b", "--requests", "5", "--ttft", "2ms"];
    const { code, stdout } = await size("serve", ...slow);
    const reasons = stdout.split("\n").filter((line) => line.startsWith("Not on "));
    expect([code, reasons.length]).toEqual([3, 2]);
    expect(reasons[0]).toMatch(/H100-SXM-80GB, .*: no layout meets the latency targets\.$/);
  });
});
