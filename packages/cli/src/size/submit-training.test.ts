import { completeTraining, type CompletedTraining, type TrainingReport } from "@headroom/perf";
import type { Fleet } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import { trainingWorkload } from "./submit-training.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  const local = { accelerators: "declared", slotType: "H100", slotCount: 8, nodeCount: 2, nodeName: "n" } as const;
  live = await startLive({ local });
});
afterAll(() => live.close());

const asked = ["size", "train", "--model", "llama-3-8b", "--accelerator", "H100", "--gpus", "16", "--batch", "128"];
const submitted = [...asked, "--submit", "--name", "llama", "--tokens", "1B", "--arguments", "--data-path corpus"];

describe("size train --submit", () => {
  it("shows the workload and its forecast in a dry run, and submits nothing", async () => {
    const { code, stdout } = await live.headroom([...submitted, "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Workload:\n {2}kind: train\n {2}name: llama\n {2}run: torchrun .* pretrain_gpt\.py /);
    expect(stdout).toContain("\n  gang:\n    workers: 2\n    accelerators: 8\n  accelerator:\n    - H100\n");
    expect(stdout).toMatch(
      /--save "\$HEADROOM_CHECKPOINT_DIR" .*--save-interval \d+ --train-iters \d+ --data-path corpus/,
    );
    expect(stdout).toMatch(/\n {2}checkpoint:\n {4}every: /);
    expect(stdout).toContain("It would start at once, on");
    expect(JSON.parse((await live.headroom(["list", "--json"])).stdout)).toMatchObject({ items: [] });
  });

  it("submits the gang, and answers with the report, the workload and its id", async () => {
    const { code, stdout } = await live.headroom([...submitted, "--json"]);
    expect(code).toBe(0);
    const answer = JSON.parse(stdout) as TrainingReport & { workloadId: string };
    expect(answer).toMatchObject({ kind: "training", nodeCount: 2, workload: { name: "llama" } });
    const shown = JSON.parse((await live.headroom(["show", "llama", "--json"])).stdout) as object;
    expect(shown).toMatchObject({
      id: answer.workloadId,
      spec: { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["H100"], dir: live.folder },
    });
    await live.headroom(["stop", "llama"]);
  });

  it("waits for an accelerator type that no node has only on request", async () => {
    const absent = asked.map((word) => (word === "H100" ? "B200" : word));
    const refused = await live.headroom([...absent, "--submit", "--name", "later"]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("use --wait-for-type")]);
    const waiting = await live.headroom([...absent, "--submit", "--name", "later", "--wait-for-type", "--json"]);
    expect(waiting.code).toBe(0);
    expect(JSON.parse(waiting.stdout)).toMatchObject({ workload: { waitForType: true } });
    const shown = JSON.parse((await live.headroom(["show", "later", "--json"])).stdout) as object;
    expect(shown).toMatchObject({ phase: "pending", spec: { waitForType: true, acceleratorTypes: ["B200-SXM"] } });
    await live.headroom(["stop", "later"]);
  });

  it.each([
    [[...asked, "--submit"], 2, "--submit needs a name: --name"],
    [[...asked, "--name", "x"], 2, "--name needs --submit"],
    [[...asked, "--wait-for-type"], 2, "--wait-for-type needs --submit"],
    [
      ["size", "train", "--model", "llama-3-8b", "--submit", "--name", "x"],
      2,
      "name it, for example --accelerator H100",
    ],
    [[...asked, "--gpus", "20", "--submit", "--name", "x"], 2, "do not divide over 3 nodes"],
    [[...asked, "--stack", "compiled", "--submit", "--name", "x"], 3, "This plan cannot be written as a command line"],
  ])("refuses %j", async (args, code, message) => {
    const said = await live.headroom(args);
    expect([said.code, said.stderr.includes(message) ? message : said.stderr]).toEqual([code, message]);
  });
});

describe("slices", () => {
  const completedOn = (acceleratorsPerNode: number) =>
    completeTraining({
      model: "llama-3-70b",
      accelerator: "H100",
      acceleratorCount: 32,
      acceleratorsPerNode,
      globalBatch: 128,
      plan: { tensor: 8 },
      format: "bf16",
      method: { kind: "full" },
      pricePerAcceleratorHour: 0,
      restartSeconds: 300,
      scaling: "strong",
      alternatives: false,
      checkpointOverlapped: false,
      checkpointGbPerS: 100,
      tiers: [],
    }) as CompletedTraining & { readonly answer: TrainingReport };
  const counts = { total: 64, held: 0, usable: 64 } as unknown as Fleet["accelerators"];
  const fleetWith = (fabricLevels: string[]): Fleet => ({
    sites: [{ name: "here", fabricLevels }],
    pools: [
      {
        name: "p",
        site: "here",
        executor: "local",
        acceleratorType: "H100",
        priceMicroUsdPerHour: 0,
        nodes: 16,
        accelerators: counts,
      },
    ],
    acceleratorTypes: [{ type: "H100", accelerators: counts }],
    nodes: { total: 16, up: 16, lost: 0, draining: 0, inMaintenance: 0 },
    accelerators: counts,
  });
  const workloadOn = (acceleratorsPerNode: number, levels: string[]) =>
    trainingWorkload({ fleet: () => Promise.resolve(fleetWith(levels)) }, completedOn(acceleratorsPerNode), {
      name: "x",
      directory: "/w",
    });

  it("keep tensor parallelism that spans nodes within the narrowest level of the fabric", async () => {
    const { spec, notes } = await workloadOn(4, ["spine", "leaf"]);
    expect(spec).toMatchObject({
      gang: { workers: 8, accelerators: 4 },
      fabric: { prefer: "leaf", slices: [{ workers: 2, within: "leaf" }] },
    });
    expect(notes).toEqual([]);
  });

  it("are not needed where a node holds the group, and are reported where the fleet has no levels", async () => {
    expect((await workloadOn(8, ["leaf"])).spec.fabric).toEqual({ prefer: "leaf" });
    const { spec, notes } = await workloadOn(4, []);
    expect(spec.fabric).toBeUndefined();
    expect(notes).toEqual([expect.stringContaining("Tensor parallelism spans 2 nodes")]);
  });
});
