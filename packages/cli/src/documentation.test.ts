import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { change, policy, policyKnobs } from "@headroom/protocol";
import type { CommandDefinition } from "./command.ts";
import { allCommands } from "./commands/index.ts";
import { headroom } from "./testing/recorded-terminal.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const page = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");

describe("docs/reference/workload-files.md", () => {
  it("shows messages as they really are", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-docs-"));
    try {
      const file = "kind: train\nname: a\nrun: x\n\ngang: { workers: -2, gpus: 8 }\nwalltime: 60\nscale: x\n";
      writeFileSync(path.join(folder, "train.yaml"), file);
      const { stderr } = await headroom(["apply", "-f", "train.yaml"], { workingDirectory: folder });
      expect(page("reference/workload-files.md")).toContain(`\`\`\`text\n${stderr}\`\`\``);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/**
 * Every field name in the JSON output of a program, such as `jobs` and `mean_wait_s`, except the reasons of `left_out`.
 */
const namesIn = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap(namesIn)
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, inner]) => [name, ...(name === "left_out" ? [] : namesIn(inner))])
      : [];

describe("docs/reference/cli.md", () => {
  it("names every field of a simulation's results", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-docs-"));
    try {
      const fleet =
        "kind: fleet\nsites: [{ name: dc, pools: [{ name: p, executor: simulated, accelerator: H, nodes: 2, perNode: 4 }] }]\n---\nkind: team\nname: a\n";
      writeFileSync(path.join(folder, "fleet.yaml"), fleet);
      writeFileSync(path.join(folder, "nodes.csv"), "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,16384,2,T4\n");
      const pods =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
      writeFileSync(path.join(folder, "pods.csv"), `${pods}p0,1000,1024,1,1000,,LS,Succeeded,0,10,0\n`);
      const results = [
        ["--fleet", "fleet.yaml", "--trace", "generated:jobs=20,gangs=4*1"],
        ["--trace", "openb:nodes.csv,pods.csv", "--demand", "1"],
      ].map(
        async (args) =>
          JSON.parse((await headroom(["simulate", ...args, "--json"], { workingDirectory: folder })).stdout) as unknown,
      );
      const text = page("reference/cli.md").split("## Results of simulations")[1] ?? "";
      const names = (await Promise.all(results)).map(namesIn);
      expect(names.map((each) => each.length > 5)).toEqual([true, true]);
      expect([...new Set(names.flat())].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("names every kind of change that `why` may state", () => {
    const text = page("reference/cli.md");
    const kinds = change.options.map(({ shape: { kind } }) => kind.value);
    expect(kinds.filter((kind) => !text.includes(`\`${kind}\``))).toEqual([]);
  });
});

describe("docs/reference/policy.md", () => {
  it("has every knob as `headroom policy --knobs` prints it (write the table again with that)", async () => {
    const { stdout } = await headroom(["policy", "--knobs"], { workingDirectory: tmpdir() });
    expect(page("reference/policy.md")).toContain(`\n${stdout}\n`);
  });

  it("says every section of the schema, each of at most 20 knobs with a meaning", () => {
    const knobs = policyKnobs();
    expect(knobs.filter(({ path }) => path !== "name" && path !== "strategy").length).toBeLessThanOrEqual(20);
    expect(new Set(knobs.map(({ path }) => path.split(".")[0]))).toEqual(new Set(Object.keys(policy.shape)));
    expect(
      knobs.filter(({ meaning, values }) => meaning === "" || values === "" || values.includes("undefined")),
    ).toEqual([]);
  });
});

describe("headroom --help", () => {
  it("states the default of every option that takes a value, or that it is required", async () => {
    const silent = (definitions: readonly CommandDefinition[], before: string): readonly string[] =>
      definitions.flatMap(({ name, options, commands: below }) => [
        ...options
          .filter(({ flags, description, hidden }) => hidden !== true && takesValue(flags) && !isStated(description))
          .map(({ flags }) => `${before}${name} ${flags}`),
        ...silent(below, `${before}${name} `),
      ]);
    expect(silent(await allCommands(), "")).toEqual([]);
  });
});

const takesValue = (flags: string): boolean => flags.includes("<");
/** An option that filters has no default: without it nothing is left out. */
const isStated = (description: string): boolean => /default|required|^only /.test(description);
