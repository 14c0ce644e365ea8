import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ServingReport, TrainingReport } from "@headroom/perf";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-size-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const size = (...args: string[]): Promise<Said> => headroom(["size", ...args], { workingDirectory: folder });
const example = path.resolve(import.meta.dirname, "../../../../examples/calibration/h200.json");

describe("size network", () => {
  it("counts switches and cables", async () => {
    const { code, stdout } = await size("network", "--nodes", "512");
    expect(code).toBe(0);
    expect(stdout).toMatch(/leaf +128 +4096 +32 +1:1\nspine +128 +4096 +128 +1:1\ncore +64 +4096 +512\n/);
  });

  it("answers for programs, at any size, radix and oversubscription", async () => {
    const args = ["--nodes", "300", "--switch-ports", "144", "--oversubscription", "3", "--json"];
    const answer = JSON.parse((await size("network", ...args)).stdout) as { levels: { switchCount: number }[] };
    expect(answer.levels.map(({ switchCount }) => switchCount)).toEqual([24, 6]);
  });

  it("finds the size at which the fabric becomes the wall for a mix of jobs", async () => {
    const mix = ["--accelerator", "H100", "--job", "model=llama-3-8b,gpus=64,batch=64,stack=eager"];
    const wide = await size("network", "--nodes", "512", ...mix);
    expect(wide.stdout).toContain("No size up to this one loses a larger share.");
    const narrow = await size("network", "--nodes", "512", "--port-gbps", "25", ...mix);
    expect(narrow.stdout).toMatch(/The scaling limit is \d+ nodes: the ports\./);
    const refused = await size("network", "--nodes", "512", "--job", "model=llama-3-8b,gpus=64,batch=64");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--accelerator is needed")]);
  });

  it("says what is the nearest that works", async () => {
    const { code, stderr } = await size("network", "--nodes", "100000");
    expect([code, stderr]).toEqual([
      3,
      "100000 nodes of 8 ports are more than three tiers of 64-port switches join. " +
        "Nearest possible request: 8192 nodes, or switches of more ports, or more planes.\n",
    ]);
  });

  it.each([
    [["network"], "--nodes says how many nodes to join"],
    [["network", "--nodes", "0"], "--nodes: expected a whole number from 1"],
    [["network", "--nodes", "9", "--kind", "ring"], "--kind: expected fat-tree, rail-optimised, dragonfly"],
    [["failures", "--nodes", "9", "--record", "x"], "--record: expected llama3-h100, rsc1-a100, rsc2-a100"],
    [["failures", "--nodes", "9", "--domain", "rack"], "--domain: expected a whole number"],
    [["storage"], "nothing to store"],
    [["storage", "--sample", "1GB"], "--sample needs --compute"],
    [["storage", "--checkpoint", "1XB"], '--checkpoint: expected bytes such as 105GiB or 20GB, got "1XB"'],
    [["storage", "--checkpoint", "1GB", "--tier", "x"], "--tier: expected tectonic-llama3, jean-zay-gpfs"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await size(...args);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });
});

const small = ["--model", "llama-3-8b", "--accelerator", "H100"];

describe("size train and finetune", () => {
  const llama = ["--model", "llama-3-70b", "--accelerator", "H100", "--gpus", "512", "--batch", "1024"];

  it("tells plan, time, memory, scaling and what the run costs", async () => {
    const { code, stdout } = await size("train", ...llama, "--sequence", "8192", "--tokens", "15T", "--price", "2.5");
    expect(code).toBe(0);
    for (const part of ["defaults chosen", "matrix products", "activations", "ACCELERATORS", "undisturbed", "$"]) {
      expect(stdout).toContain(part);
    }
  });

  it("answers with parts that add up", async () => {
    const answer = JSON.parse((await size("train", ...llama, "--json")).stdout) as TrainingReport;
    const sum = (parts: object): number => Object.values(parts).reduce((total, part) => total + Number(part), 0);
    expect(sum(answer.step.breakdown)).toBeCloseTo(answer.step.seconds, 9);
    expect(sum(answer.memory.breakdown) / answer.memory.peakBytes).toBeCloseTo(1, 9);
    expect(answer.memory.verdict).toBe("fits");
    const { tensor, pipeline, context, data } = answer.plan;
    expect(tensor * pipeline * context * data).toBe(512);
  });

  it("takes a config.json, a plan and a profile", async () => {
    const config = {
      model_type: "llama",
      num_hidden_layers: 32,
      hidden_size: 4096,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      intermediate_size: 14_336,
      vocab_size: 128_256,
    };
    writeFileSync(path.join(folder, "config.json"), JSON.stringify(config));
    const given = ["--model", "config.json", "--gpus", "8", "--batch", "64", "--plan", "tp=2,mb=1,recompute=full"];
    const plain = await size("train", ...given, "--accelerator", "H200", "--json");
    const calibrated = await size("train", ...given, "--profile", example, "--json");
    const [before, after] = [plain, calibrated].map(({ stdout }) => JSON.parse(stdout) as TrainingReport);
    expect(before).toMatchObject({ isPlanGiven: true, isCalibrated: false, plan: { tensor: 2, data: 4 } });
    expect(after).toMatchObject({ isCalibrated: true, accelerator: "H200-SXM" });
    expect(after?.step.seconds).not.toBe(before?.step.seconds);
  });

  it("adapters need less than everything", async () => {
    const small = [
      "--model",
      "llama-3-8b",
      "--accelerator",
      "H100",
      "--gpus",
      "1",
      "--batch",
      "16",
      "--stack",
      "eager",
    ];
    const lora = await size("finetune", ...small);
    expect([lora.code, lora.stdout]).toEqual([0, expect.stringContaining("one accelerator")]);
    const full = await size("finetune", ...small, "--full");
    expect([full.code, full.stderr]).toEqual([
      3,
      expect.stringMatching(/needs at least .* GiB.*Nearest possible request: \d+/),
    ]);
  });

  it.each([
    [
      ["--model", "llama-3-8g", "--accelerator", "H100"],
      "there is no model preset llama-3-8g. Nearest possible request: llama-3-8b",
    ],
    [["--model", "llama-3-8b", "--accelerator", "H10"], "the catalogue has no accelerator H10"],
    [
      ["--model", "deepseek-v3", "--accelerator", "A100-40GB"],
      "GiB on each of 64 A100-SXM-40GB, which have 40 GiB. Nearest possible request: 240 accelerators",
    ],
    [["--model", "llama-3-8b", "--accelerator", "H100", "--plan", "tp=3"], "do not divide 64 accelerators"],
    [
      ["--model", "llama-3-8b", "--accelerator", "H100", "--plan", "tp=64,mb=1"],
      "does not divide the 32 attention heads",
    ],
  ])("what cannot be gets a reason and what could: %j", async (args, message) => {
    const { code, stderr } = await size("train", ...args, "--gpus", "64", "--batch", "64");
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([3, message]);
  });

  it("runs on a fabric and a server's network that are known by name", async () => {
    const fabric = `fabrics:
  - name: ours
    kind: fat-tree
    source: cabling plan
    tiers: [{ name: leaf, nodeCount: 2, oversubscription: 15 }]
`;
    writeFileSync(path.join(folder, "fabrics.yaml"), fabric);
    const job = [...small, "--gpus", "64", "--batch", "64", "--plan", "mb=1,zero=3", "--json"];
    const seconds = async (...network: string[]): Promise<number> =>
      (JSON.parse((await size("train", ...job, ...network)).stdout) as TrainingReport).step.seconds;
    const ours = ["--catalogue", "fabrics.yaml", "--fabric", "ours"];
    expect(await seconds(...ours)).toBeGreaterThan(await seconds());
    expect(await seconds("--node-network", "GCP A3 High TCPX")).toBe(await seconds("--node-network", "100"));
    const unknown = await size("train", ...job, "--catalogue", "fabrics.yaml", "--fabric", "theirs");
    expect(JSON.parse(unknown.stdout)).toMatchObject({ kind: "impossible", nearest: "ours" });
    expect((await size("train", ...job, "--node-network", "fast")).stderr).toContain("expected GB/s or one of DGX");
  });

  it("lists what is known by name, with sources", async () => {
    const { code, stdout } = await size("catalogue");
    expect(code).toBe(0);
    for (const name of ["H100-SXM-80GB", "MI300X", "AWS EFA v2 P5", "llama-3-70b"]) expect(stdout).toContain(name);
  });

  it("refuses a profile of another accelerator", async () => {
    const other = ["--model", "llama-3-8b", "--gpus", "8", "--batch", "64", "--profile", example];
    const { code, stderr } = await size("train", ...other, "--accelerator", "B200");
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining("was measured on NVIDIA H200 and says nothing of B200"),
    ]);
  });

  it("warns where an accelerator has no units for a format", async () => {
    const { stdout } = await size("train", ...small, "--gpus", "8", "--batch", "64", "--precision", "nvfp4");
    expect(stdout).toContain("warning: H100-SXM-80GB has no fp4 units: nvfp4 is counted at its fp8 rate");
  });

  it("shows every plan that no other beats in time, memory and cost", async () => {
    const constraint = [...small, "--gpus", "16", "--batch", "64", "--price", "2", "--alternatives", "--json"];
    const { alternatives, step } = JSON.parse((await size("train", ...constraint)).stdout) as TrainingReport;
    expect(alternatives.length).toBeGreaterThan(5);
    expect(alternatives[0]?.stepSeconds ?? 0).toBeLessThanOrEqual(step.seconds * (1 + 1e-9));
    for (const one of alternatives) {
      const better = alternatives.filter(
        (other) =>
          other !== one &&
          other.stepSeconds <= one.stepSeconds &&
          other.peakBytes <= one.peakBytes &&
          other.cost <= one.cost,
      );
      expect(better).toEqual([]);
    }
  });

  it.each([
    [["train"], "--model is needed"],
    [["--export", "correction.json"], "--export needs --fleet"],
    [["train", "--model", "llama-3-8b", "--accelerator", "H100", "--gpus", "0"], "--gpus: expected a whole number"],
    [["train", "--model", "none.json", "--accelerator", "H100"], "none.json cannot be read"],
    [["serve", "--model", "llama-3-8b", "--accelerator", "H100"], "--requests is needed"],
    [["serve", "--model", "llama-3-8b", "--accelerator", "H100", "--weights", "int3"], "--weights: expected one of"],
    [["serve", ...small, "--requests", "1e12"], "--requests: at most 10000000 requests a second"],
    [["serve", ...small, "--requests", "1", "--share", "100%"], "--share: expected 50% to 99.99%"],
    [["serve", ...small, "--requests", "1", "--ttft", "0s"], "--ttft: expected a duration above 0"],
    [["storage", "--parameters", "70B", "--stall", "0s"], "--stall: expected a duration above 0"],
    [["failures", "--nodes", "8", "--fleet", "4"], "--fleet: the job has 8 nodes, a fleet of 4 does not hold it"],
  ])("refuses %j", async (args, message) => {
    const { stderr } = await size(...args);
    expect(stderr.includes(message) ? message : stderr).toBe(message);
  });
});

describe("an option that does not exist", () => {
  it.each([
    [["train", "--on", "x"], "headroom size train --help"],
    [["serve", "--on", "x"], "headroom size serve --help"],
    [["--on", "x"], "headroom size --help"],
  ])("of %j is answered with the help of that command", async (args, help) => {
    const { code, stderr } = await size(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`(${help} shows more)`)]);
    const said = await headroom(help.split(" ").slice(1), { workingDirectory: folder });
    expect([said.code, said.stdout]).toEqual([0, expect.stringContaining("Usage: headroom size")]);
  });
});

describe("size serve", () => {
  const chat = ["--model", "llama-3-70b", "--accelerator", "H100", "--weights", "fp8", "--prompt", "2000"];

  it("compares layouts, the cheapest first", async () => {
    const { code, stdout } = await size("serve", ...chat, "--requests", "20", "--price", "2.5");
    expect(code).toBe(0);
    expect(stdout).toContain("PER M TOKENS");
    expect(stdout).toContain("cold start");
  });

  it("sizes workers for prompts apart from workers for answers, and a start from nothing", async () => {
    const { code, stdout } = await size(
      "serve",
      ...chat,
      "--requests",
      "20",
      "--provisioning",
      "2m",
      "--image",
      "20GB",
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/disaggregated +\d+ for prompts \(.+\) and \d+ for answers \(.+\): \d+ accelerators/);
    expect(stdout).toMatch(
      /cold start +\S+ s \(node 120, image 4, weights \S+, engine 36\); \d+ replicas start at once, and the store keeps up/,
    );
  });

  it("lets all replicas of the plan share the store when they start, or as many as are stated", async () => {
    const started = async (...more: string[]) => {
      const { stdout } = await size("serve", ...chat, "--requests", "200", "--json", ...more);
      const { plans, best } = JSON.parse(stdout);
      return { replicaCount: plans[0].replicaCount, ...best.coldStart };
    };
    const alone = await started("--storage-rate", "2", "--starting", "1");
    const all = await started("--storage-rate", "2");
    expect(all.replicaCount).toBeGreaterThan(2);
    expect(all.startingReplicas).toBe(all.replicaCount);
    expect(alone.startingReplicas).toBe(1);
    expect(all.weightsS).toBeCloseTo(alone.weightsS * all.replicaCount);
    expect(await started()).toMatchObject({ startingReplicas: all.replicaCount, storageGbPerS: null });
  });

  it("takes the fewest accelerators for the cheapest where no price is stated", async () => {
    const { plans } = JSON.parse((await size("serve", ...chat, "--requests", "20", "--json")).stdout) as ServingReport;
    const counts = plans.map((plan) => plan.acceleratorCount);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  });

  it("says what an idle replica reaches when the promise cannot be kept", async () => {
    const { code, stderr } = await size("serve", ...chat, "--requests", "20", "--ttft", "1ms");
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/Nearest: \d+ ms to the first token and \S+ ms for each further token, which tensor \d+/),
    ]);
  });

  it("says what it does not know", async () => {
    const tpu = ["--model", "llama-3-8b", "--accelerator", "TPU v5p", "--requests", "1"];
    const { code, stderr } = await size("serve", ...tpu);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining("Not sized: no serving run of TPU-v5p or an accelerator like it was measured"),
    ]);
  });
});

describe("size failures", () => {
  it("tells interval, progress, losses, spares and domains", async () => {
    const given = ["--nodes", "2048", "--stall", "57s", "--every", "20m", "--rate", "3.79", "--domain", "rack=4"];
    const { code, stdout } = await size("failures", ...given);
    expect([code, stdout]).toEqual([
      0,
      `fails every  3h5m (7.76 times a day)
save every   20m (Young 18m46s, Daly 18m8s, availability 19m59s, best 18m8s)
progress     87.8% of the time (linear form: 87.7%)
lost to      checkpoints 4.17%, restarts 2.6%, repeated work 5.45%
goodput      87.8%
spares       15 nodes cover 99.4% of the time (7.76 in repair on average)
DOMAIN  JOBS STOPPED  GPU-HOURS LOST
rack               1  4,096
`,
    ]);
  });
});

describe("size storage", () => {
  it("names the axis that breaks first and fails where a tier starves", async () => {
    const job = ["--gpus", "16384", "--parameters", "405B", "--every", "10m", "--stall", "10s", "--image", "20GB"];
    const { code, stdout } = await size("storage", ...job, "--offer", "read=500,write=300,operations=50k");
    expect(code).toBe(3);
    expect(stdout).toContain("offer: starves; operations is the bottleneck (start), at 0.146 times this demand");
    expect((await size("storage", ...job, "--tier", "tectonic-llama3")).code).toBe(0);
  });

  it("MLPerf's unet3d on an H100 at 90% asks for 2.86 GB/s", async () => {
    const unet = ["--sample", "146600628", "--batch", "7", "--compute", "0.323", "--utilisation", "90%", "--json"];
    const { demand } = JSON.parse((await size("storage", ...unet)).stdout) as { demand: { readGbPerS: number } };
    expect(demand.readGbPerS).toBeCloseTo(2.86, 2);
  });
});

describe("calibrate", () => {
  const calibrate = (...args: string[]): Promise<Said> =>
    headroom(["calibrate", ...args], { workingDirectory: folder });

  it("shows what a profile says", async () => {
    const { code, stdout } = await calibrate("--show", example);
    expect(code).toBe(0);
    expect(stdout).toContain("products, 16 bits  72.1% of the datasheet's 989 TFLOP/s at best");
    expect(stdout).toContain("all-reduce         not measured");
  });

  it("warns when the profile cannot be that accelerator's", async () => {
    const { stdout } = await calibrate("--show", example, "--accelerator", "A100");
    expect(stdout).toContain("warning: bf16 products reached 229% of the datasheet of A100-SXM-80GB: left out");
  });

  it("says what is missing", async () => {
    writeFileSync(path.join(folder, "no-torch"), "#!/bin/sh\necho \"No module named 'torch'\" >&2\nexit 1\n");
    chmodSync(path.join(folder, "no-torch"), 0o755);
    const without = await calibrate("--python", path.join(folder, "no-torch"));
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining("has no PyTorch")]);
    expect((await calibrate("--python", "no-such-python")).stderr).toContain("no-such-python cannot be started");
    writeFileSync(path.join(folder, "bad.json"), "{}");
    expect((await calibrate("--show", "bad.json")).stderr).toContain("bad.json: not a calibration profile");
    expect((await calibrate("--show", "none.json")).stderr).toContain("none.json cannot be read");
    expect((await calibrate("--show", example, "--accelerator", "x")).code).toBe(2);
  });
});
