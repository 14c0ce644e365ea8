/** A control plane beside users who submit to the same Slurm cluster themselves: it places work on what they leave. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { slurmControlPlane } from "./testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** Foreign jobs on Slurm were not tested: ${missing}\n`);

const PORT = 7_700 + (process.pid % 100);

describe.skipIf(missing !== null || !isTurnOf("foreign jobs"))("a Slurm cluster that others use, too", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start();
    root = mkdtempSync(path.join(tmpdir(), "headroom-foreign-"));
    plane = slurmControlPlane(root, PORT, cluster);
    await plane.start();
    await plane.hasNodes(4);
  }, 180_000);

  afterAll(async () => {
    await plane.kill();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const slurm = (program: string, ...args: readonly string[]): string => {
    const env = { ...process.env, SLURM_CONF: cluster.configurationFile };
    return execFileSync(program, args, { env, encoding: "utf8" });
  };
  /** Submits a job as a user of the cluster. */
  const foreignJob = (node: string, gpus: number): string =>
    slurm(
      "sbatch",
      "--parsable",
      `--nodelist=${node}`,
      `--gres=gpu:${gpus}`,
      "--output=/dev/null",
      "--wrap=sleep 600",
    ).trim();
  const foreignUse = async (): Promise<readonly (string | null)[]> =>
    (await plane.nodes()).map(({ foreignUse: use }) => use?.accelerators ?? null);

  it("starts work on the rest, stops no job of theirs, and goes on when they leave", { timeout: 120_000 }, async () => {
    const jobs = ["n1", "n2", "n3"].map((node) => foreignJob(node, 8));
    jobs.push(foreignJob("n4", 5));
    await expect.poll(foreignUse, { timeout: 30_000 }).toEqual(["0-7", "0-7", "0-7", "3-7"]);

    const small = await plane.submit({ kind: "train", name: "small", run: "sleep 20", gang: { accelerators: 3 } });
    const large = await plane.submit({
      kind: "train",
      name: "large",
      run: "true",
      priority: 100,
      gang: { accelerators: 8 },
    });
    await plane.hasPhase(small, "running");
    // Its own job is no foreign use.
    await expect.poll(foreignUse, { timeout: 20_000 }).toEqual(["0-7", "0-7", "0-7", "3-7"]);
    expect(await plane.why(large)).toContain(
      "Work that Headroom does not run uses 29 of 32 accelerators on 4 nodes that could hold a worker.",
    );
    expect(slurm("squeue", "--noheader", "--states=running", "--format=%i").trim().split("\n")).toEqual(
      expect.arrayContaining(jobs),
    );

    slurm("scancel", jobs[1] ?? "");
    await plane.hasPhase(large, "succeeded");
    expect((await foreignUse()).filter((use) => use === "0-7")).toHaveLength(2);
  });
});
