/** Inputs in declared stores are brought to the shared directory of a real Slurm cluster before the job is submitted. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { slurmControlPlane } from "./testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const shape = { nodes: 2, gpusPerNode: 4, cpusPerNode: 16, memoryMib: 64_000 };
const missing = whyNoCluster(shape);
if (missing !== null) process.stderr.write(`*** Staging on Slurm was not tested: ${missing}\n`);

const PORT = 24_100 + (process.pid % 100);

describe.skipIf(missing !== null || !isTurnOf("staging on Slurm"))("inputs of jobs on a Slurm cluster", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;
  let lake: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start(shape);
    root = mkdtempSync(path.join(tmpdir(), "headroom-slurm-staging-"));
    lake = path.join(root, "lake");
    mkdirSync(path.join(lake, "corpus", "part"), { recursive: true });
    writeFileSync(path.join(lake, "corpus", "a.txt"), "alpha\n");
    writeFileSync(path.join(lake, "corpus", "part", "b.txt"), "beta\n");
    plane = slurmControlPlane(root, PORT, cluster);
    const store = { kind: "store", name: "lake", type: "shared", path: lake, cached: true, readers: ["*"] };
    writeFileSync(path.join(plane.home, "stores.yaml"), JSON.stringify(store), { mode: 0o600 });
    await plane.start();
    await plane.hasNodes(2);
  }, 180_000);

  afterAll(async () => {
    await plane.kill();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const entries = (): readonly string[] => readdirSync(path.join(root, "shared", "cache", "inputs", "entries"));
  const train = (input: string) => ({
    kind: "train",
    name: "reader",
    run: 'cat "$HEADROOM_INPUT_0/a.txt" "$HEADROOM_INPUT_0/part/b.txt"; echo "at $HEADROOM_INPUT_0"',
    retries: { max: 0 },
    gang: { workers: 2, accelerators: 3 },
    data: { inputs: [`file://${lake}/${input}`] },
  });

  it("are read once for all workers and attempts", { timeout: 120_000 }, async () => {
    for (const _ of ["first", "second"]) {
      const id = await plane.submit(train("corpus"));
      expect(await plane.ended(id, 60_000)).toBe("succeeded");
      const logs = await plane.logs(id);
      expect(logs.match(/alpha/g)?.length).toBe(2);
      expect(logs.match(/beta/g)?.length).toBe(2);
      expect(logs).toContain(`at ${root}/shared/cache/inputs/entries/`);
    }
    expect(entries()).toHaveLength(1);
  });

  it("that do not exist fail the workload before a job exists", { timeout: 60_000 }, async () => {
    const id = await plane.submit(train("nothing"));
    expect(await plane.ended(id, 30_000)).toBe("failed");
    expect(entries()).toHaveLength(1);
  });
});
