import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startControlPlane, type RunningControlPlane } from "@headroom/server";
import { headroom as run, type Said } from "../testing/recorded-terminal.ts";
import type { WorkloadSizing } from "./submission-check.ts";

/** A real control plane. The work waits for an accelerator type that this machine does not have. */
let folder = "";
let plane: RunningControlPlane;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-model-"));
  const local = { accelerators: "declared", slotCount: 4, nodeName: "here" } as const;
  plane = await startControlPlane({ home: path.join(folder, "home"), port: 0, local });
});
afterAll(async () => {
  await plane.close();
  rmSync(folder, { recursive: true });
});

const headroom = (...args: readonly string[]): Promise<Said> =>
  run(args, { workingDirectory: folder, env: { HEADROOM_HOME: path.join(folder, "home") } });

const apply = (yaml: string, ...options: readonly string[]): Promise<Said> => {
  writeFileSync(path.join(folder, "work.yaml"), yaml);
  return headroom("apply", "-f", "work.yaml", ...options);
};

const train = (name: string, fields: string): string => `kind: train\nname: ${name}\nrun: "true"\n${fields}\n`;
const big = "gang: { workers: 8, accelerators: 8 }\naccelerator: [H100]\nwaitForType: true\n";

const sizingIn = ({ stdout }: Said): readonly WorkloadSizing[] =>
  (JSON.parse(stdout) as { readonly sizing: readonly WorkloadSizing[] }).sizing;

const namesOfWork = async (): Promise<string> => (await headroom("list", "--json")).stdout;

describe("a workload file that names its model", () => {
  it("is told memory, plan and speed on each type before anything is submitted", async () => {
    const fields = `gang: { workers: 8, accelerators: 8 }\naccelerator: [H200, H100]\nwaitForType: true\nmodel: { preset: llama-3-8b, sequence: 8192, globalBatch: 512 }`;
    const { code, stdout } = await apply(train("told", fields), "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toMatch(/told on H200: llama-3-8b\n {2}memory +\S+ of 141 GiB: fits\n {2}plan +\S/);
    expect(stdout).toMatch(/told on H100: llama-3-8b\n {2}memory +\S+ of 80 GiB: fits/);
    expect(stdout).toMatch(/storage +reads \S+ GB\/s at a start, writes \S+ GB\/s/);
  });

  it("is refused if it cannot fit, with what would, unless --force is given", async () => {
    const yaml = train(
      "huge",
      "gang: { accelerators: 8 }\naccelerator: [H100]\nwaitForType: true\nmodel: { preset: llama-3-405b, globalBatch: 64 }",
    );
    const refused = await apply(yaml, "--yes");
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/huge on H100: .*GiB.*Nearest possible request: \d+ accelerators/);
    expect(await namesOfWork()).not.toContain("huge");
    const dry = await apply(yaml, "--dry-run", "--json");
    expect(dry.code).toBe(3);
    expect(sizingIn(dry)[0]?.checks[0]?.answer.kind).toBe("impossible");
    expect((await apply(yaml, "--yes", "--force")).code).toBe(0);
    expect(await namesOfWork()).toContain("huge");
  });

  it("says why a plan of its own cannot be, and the nearest that can", async () => {
    const { code, stderr } = await apply(
      train("odd", `${big}model: { preset: llama-3-8b, globalBatch: 512, plan: { tensor: 3 } }`),
    );
    expect(code).toBe(3);
    expect(stderr).toMatch(/tensor 3 .*do not divide.*Nearest possible request: .*data/);
  });

  it("gets the 16-bit format that its type has, and a warning where it states the other one", async () => {
    const on = (precision: string): string =>
      `gang: { workers: 8, accelerators: 8 }\naccelerator: [V100]\nwaitForType: true\nmodel: { preset: llama-3-8b, globalBatch: 512${precision} }`;
    const open = await apply(train("half", on("")), "--dry-run");
    expect(open.stdout).toContain("V100-SXM2-32GB has no bf16 units: fp16 is chosen");
    const stated = await apply(train("half", on(", precision: bf16")), "--dry-run");
    expect(stated.stdout).toContain("V100-SXM2-32GB has no bf16 units: bf16 is counted at its fp16 rate");
  });

  it("shows what an elastic gang gets done at each size", async () => {
    const fields =
      "gang: { accelerators: 8 }\nelastic: { min: 2, max: 8 }\naccelerator: [H100]\nwaitForType: true\nmodel: { preset: llama-3-8b, globalBatch: 512 }";
    const { stdout } = await apply(train("grows", fields), "--dry-run", "--json");
    const answer = sizingIn({ code: 0, stdout, stderr: "" })[0]?.checks[0]?.answer;
    if (answer?.kind !== "training") throw new Error(stdout);
    const counts = [...answer.scaling.points.map((point) => point.acceleratorCount), ...answer.scaling.withoutPlan];
    expect(counts.toSorted((a, b) => a - b)).toEqual([16, 24, 32, 40, 48, 56, 64]);
    const text = await apply(train("grows", fields), "--dry-run");
    expect(text.stdout).toMatch(/WORKERS +STEP +TOKENS\/S +EFFICIENCY\n +2 /);
  });

  it("is submitted with what each of its sizes gets done, and is the same work when it is applied again", async () => {
    const yaml = train(
      "curved",
      "gang: { accelerators: 8 }\nelastic: { min: 2, max: 4 }\naccelerator: [H100]\nwaitForType: true\nmodel: { preset: llama-3-8b, globalBatch: 512 }",
    );
    expect((await apply(yaml, "--yes")).code).toBe(0);
    const { stdout } = await headroom("show", "curved", "--json");
    const { gang } = (
      JSON.parse(stdout) as { readonly spec: { readonly gang: { throughputMilli: readonly number[] } } }
    ).spec;
    expect(gang.throughputMilli.slice(0, 2)).toEqual([1000, 2000]);
    expect(gang.throughputMilli).toHaveLength(4);
    const [, two = 0, three = 0, four = 0] = gang.throughputMilli;
    expect([two < three, three < four, four <= 2 * two]).toEqual([true, true, true]);
    const again = await apply(yaml, "--yes", "--json");
    const { changes } = JSON.parse(again.stdout) as { readonly changes: readonly { readonly action: string }[] };
    expect(changes.map(({ action }) => action)).toEqual(["unchanged"]);
  });

  it("is refused if the smallest size of an elastic gang cannot hold it", async () => {
    const fields =
      "gang: { accelerators: 8 }\nelastic: { min: 1, max: 16 }\naccelerator: [H100]\nwaitForType: true\nmodel: { preset: llama-3-70b, globalBatch: 512 }";
    const { code, stderr } = await apply(train("thin", fields), "--yes");
    expect(code).toBe(3);
    expect(stderr).toMatch(/elastic.min 1, 8 H100.*Nearest possible request: elastic.min [2-9]/);
  });

  it("is warned if storage or the network will starve it", async () => {
    const starved = `plan: { tensor: 8, pipeline: 1 }, oversubscription: 15, nodeNetworkGbPerS: 25, storage: [{ name: scratch, readGbPerS: 1, writeGbPerS: 0.5 }]`;
    const yaml = train("starved", `${big}model: { preset: llama-3-70b, globalBatch: 16, ${starved} }`);
    const { code, stdout } = await apply(yaml, "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toMatch(/warning: scratch starves the job: (?:read|write) breaks first/);
    expect(stdout).toMatch(/warning: the network starves the job: it waits \d+% of the time/);
  });

  it("is not judged on accelerators of which nothing is known", async () => {
    const yaml = train("local", "gang: { accelerators: 1 }\nmodel: { preset: llama-3-8b, globalBatch: 8 }");
    const { code, stdout } = await apply(yaml, "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toMatch(/local on slot: not checked, the catalogue has no accelerator slot/);
  });

  it("may bring a config.json of its own, which lies beside the file", async () => {
    mkdirSync(path.join(folder, "strange"));
    const config = { architectures: ["StrangeModel"], model_type: "strange" };
    writeFileSync(path.join(folder, "strange", "config.json"), JSON.stringify(config));
    const { code, stderr } = await apply(train("own", `${big}model: { config: strange/config.json, globalBatch: 8 }`));
    expect(code).toBe(3);
    expect(stderr).toMatch(/own on H100: strange: .*Nearest possible request: \S/);
  });

  it("must say enough", async () => {
    const said = async (fields: string): Promise<string> => (await apply(train("vague", fields))).stderr;
    expect(await said(`${big}model: { globalBatch: 8 }`)).toContain("model: needs preset or config");
    expect(await said(`${big}model: { preset: x }`)).toContain("model.globalBatch: is required");
    expect(await said("model: { preset: x, globalBatch: 8 }")).toContain("model: needs gang.accelerators");
    expect(await said(`${big}model: { preset: lama-3-8b, globalBatch: 8 }`)).toMatch(
      /no model preset lama-3-8b.*llama-3-8b/,
    );
  });
});

describe("headroom run --model", () => {
  const submit = (...options: readonly string[]): Promise<Said> =>
    headroom("run", "--gpus", "8", "--type", "H100", "--wait-for-type", ...options, "--", "true");

  it("shows the answer and submits", async () => {
    const { code, stderr } = await submit("--model", "llama-3-8b", "--batch", "64", "--name", "fits");
    expect(code).toBe(0);
    expect(stderr).toMatch(/fits on H100: llama-3-8b\n {2}memory [^]*submitted fits/);
  });

  it("refuses what cannot fit, unless --force is given", async () => {
    const options = ["--model", "llama-3-405b", "--batch", "64", "--name", "large"];
    const refused = await submit(...options);
    expect([refused.code, refused.stdout]).toEqual([3, ""]);
    expect(refused.stderr).toContain("large on H100");
    const forced = await submit(...options, "--force", "--json");
    expect(forced.code).toBe(0);
    expect(sizingIn(forced)[0]?.checks[0]?.answer.kind).toBe("impossible");
  });

  it("points to its own options", async () => {
    expect((await submit("--model", "llama-3-8b")).stderr).toContain("--batch: is required");
    expect((await submit("--batch", "8")).stderr).toContain("--model: needs preset or config");
  });
});
