/** Nodes that are drained in Headroom are drained in a real Slurm cluster, and taken back with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeId } from "@headroom/model";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { Executor } from "../executor.ts";
import { createSlurmExecutor } from "./slurm-executor.ts";
import { testSettings } from "./testing/conformance-subject.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const shape = { nodes: 3, gpusPerNode: 2, cpusPerNode: 8, memoryMib: 32_000 };
const missing = whyNoCluster(shape);
if (missing !== null) process.stderr.write(`*** Drains on Slurm were not tested: ${missing}\n`);

describe.skipIf(missing !== null || !isTurnOf("drains"))("drained nodes on a Slurm cluster", () => {
  let cluster: SlurmCluster;
  let executor: Executor;
  let root: string;
  const open = (passDrains: boolean): Executor =>
    createSlurmExecutor({
      id: "slurm",
      settings: testSettings(cluster, path.join(root, "shared"), { passDrains }),
      stateDir: path.join(root, "state"),
    });

  beforeAll(async () => {
    cluster = await SlurmCluster.start(shape);
    root = mkdtempSync(path.join(tmpdir(), "headroom-drains-"));
    executor = open(true);
  }, 120_000);

  afterAll(async () => {
    await executor.close();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  /** State and reason of the nodes, as sinfo shows them. */
  const states = async (): Promise<readonly string[]> =>
    (await cluster.call("sinfo", "--noheader", "--Node", "--format=%N %T %E"))
      .trim()
      // A node that has just been resumed counts as silent until its daemon answers.
      .replaceAll("*", "")
      .split("\n")
      .toSorted();
  const names = async (): Promise<readonly string[]> =>
    (await executor.inventory()).nodes.map(({ id }) => String(id)).toSorted();

  it(
    "drains with a reason, keeps the node in the fleet, and takes back its own drains alone",
    { timeout: 60_000 },
    async () => {
      await cluster.call("scontrol", "update", "nodename=n3", "state=drain", "reason=broken fan");
      await executor.passDrains?.([nodeId("slurm-n1"), nodeId("slurm-n3"), nodeId("slurm-gone")]);
      const [first, second, third] = await states();
      expect(first).toMatch(/^n1 drained headroom-[0-9a-f]{10}: drained in Headroom$/);
      expect([second, third]).toEqual(["n2 idle none", "n3 drained broken fan"]);
      expect(await names()).toEqual(["slurm-n1", "slurm-n2"]);
      // Another executor neither takes the drain for its own nor ends it.
      const other = open(false);
      await other.passDrains?.([]);
      await other.close();
      expect((await states())[0]).toBe(first);

      await executor.passDrains?.([]);
      expect(await states()).toEqual(["n1 idle none", "n2 idle none", "n3 drained broken fan"]);
    },
  );

  it("states drains of others as signals, which end with them", { timeout: 60_000 }, async () => {
    await cluster.call("scontrol", "update", "nodename=n3", "state=drain", "reason=broken fan");
    await executor.passDrains?.([nodeId("slurm-n1")]);
    await executor.inventory();
    // The drain of n1 is one of Headroom.
    expect(executor.nodeSignals?.()?.signals).toEqual([
      {
        nodeId: "slurm-n3",
        code: "slurm-drain",
        severity: "warning",
        detail: expect.stringMatching(/broken fan.*; repair the node/),
      },
    ]);
    await executor.passDrains?.([]);
    await cluster.call("scontrol", "update", "nodename=n3", "state=resume");
    // Slurm waits for the daemon of a node that has just been resumed.
    await expect
      .poll(async () => (await names()).length === 3 && executor.nodeSignals?.()?.signals.length === 0, {
        timeout: 40_000,
      })
      .toBe(true);
  });
});
