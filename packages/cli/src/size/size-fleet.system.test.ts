import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive({
    local: { accelerators: "declared", slotCount: 2, slotType: "H100", nodeName: "here" },
    measuredRuns: { lookEveryMs: 1_000, windowMinMs: 2_000 },
  });
});
afterAll(() => live.close());

const tune = `kind: train
name: tune
gang: { accelerators: 1, cores: 0 }
accelerator: H100
model: { preset: llama-3-8b, sequence: 512, globalBatch: 1, loraRank: 16 }
run: |
  for step in $(seq 600); do
    echo '{"kind":"progress","step":'$step',"metrics":{"storageSeconds":0.17}}' >> "$HEADROOM_PROGRESS_FILE"
    sleep 0.2
  done
`;

it("measures a workload that names its model, corrects sizings by it, and exports the correction", async () => {
  const { headroom, folder } = live;
  writeFileSync(path.join(folder, "tune.yaml"), tune);
  expect((await headroom(["size", "--fleet"])).stdout).toContain("Nothing has been measured yet");
  const applied = await headroom(["apply", "-f", "tune.yaml", "--yes"]);
  expect([applied.code, applied.stderr]).toEqual([0, ""]);
  await expect
    .poll(async () => (await headroom(["size", "--fleet"])).stdout, { timeout: 60_000, interval: 1_000 })
    .toMatch(/H100-SXM-80GB +adapters +1 +1\.0\d\d .*\n(.*\n)+.*tune: \d+% slower than predicted for its kind/);
  const shown = (await headroom(["show", "tune"])).stdout;
  expect(shown).toMatch(/step {2}predicted .* measured .* slower/);
  expect(shown).toMatch(/slow {2}.*storage causes most of the difference/);

  const exported = await headroom(["size", "--fleet", "--export", "correction.json"]);
  expect(exported.stderr).toContain("wrote correction.json");
  expect(JSON.parse(readFileSync(path.join(folder, "correction.json"), "utf8"))).toMatchObject({
    kind: "fleet-correction",
    types: [{ acceleratorType: "H100-SXM-80GB", families: [{ family: "adapters" }] }],
  });
  const asked = ["size", "finetune", "--model", "llama-3-8b", "--accelerator", "H100", "--gpus", "1", "--batch", "1"];
  const corrected = (await headroom(asked)).stdout;
  expect(corrected).toMatch(/corrected +times 1\.0\d\d, by 1 run of this kind in the fleet; mean error of this kind/);
  const offline = { env: { HEADROOM_HOME: path.join(folder, "elsewhere") } };
  expect((await headroom([...asked, "--correction", "correction.json"], offline)).stdout).toBe(corrected);
  expect((await headroom(asked, offline)).stdout).not.toContain("corrected");
  expect((await headroom([...asked, "--correction", "none"])).stdout).not.toContain("corrected");
  expect((await headroom([...asked, "--correction", "tune.yaml"])).stderr).toContain("tune.yaml is not JSON");
});
