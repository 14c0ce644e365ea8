/** A burst on a real Slurm cluster: its cloud nodes are ordered for a gang, start as `slurmd`s, run the gang, and are powered down. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import type { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { slurmControlPlane } from "./testing/control-plane.ts";
import { answerOrder } from "./provisioner/index.ts";
import { hostNames } from "./reading/host-list.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** Bursts on Slurm were not tested: ${missing}\n`);

const PORT = 7_300 + (process.pid % 100);
const SHAPE = { nodes: 1, gpusPerNode: 8, cpusPerNode: 64, memoryMib: 500_000, cloudNodes: 3 };
const program = path.resolve(import.meta.dirname, "../../../cli/src/main.ts");
const JOB_TIMEOUT_MS = 120_000;

describe.skipIf(missing !== null || !isTurnOf("bursts"))("a burst to cloud nodes of Slurm", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start(SHAPE);
    root = mkdtempSync(path.join(tmpdir(), "headroom-bursts-"));
    plane = slurmControlPlane(root, PORT, cluster);
    writeProvisioner();
    await plane.start();
    await plane.hasNodes(1);
    await plane.apply({ sites: [{ name: "lab", fabricLevels: [] }], pools: [pool] });
  }, 180_000);

  afterAll(async () => {
    await plane?.kill();
    await cluster?.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const pool = {
    name: "lab-cloud-h100",
    site: "lab",
    executor: "lab",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 2_000_000,
    burst: {
      provisioner: "cloud",
      nodesMax: 3,
      acceleratorCount: 8,
      coresMilli: 64_000,
      memoryMib: 500_000,
      leadTimeMs: 5_000,
      leadTimeP95Ms: 20_000,
      orderAfterMs: 1_000,
      releaseAfterMs: 5_000,
    },
  };

  /** The command of the provisioner. The first creation kills the control plane before it gets the answer. */
  const writeProvisioner = (): void => {
    const words = ["--executor", "lab", "--partition", "cloud", "--directory", path.join(root, "orders")];
    const call = [
      process.execPath,
      program,
      "provision",
      "slurm",
      ...words,
      "--configuration",
      cluster.configurationFile,
    ];
    const file = path.join(root, "provision.sh");
    const lines = [
      "#!/bin/sh",
      `answer=$(${call.join(" ")} "$1") || exit 1`,
      `echo "$1 $HEADROOM_ORDER $answer" >> ${root}/calls`,
      `[ "$1" = create ] && [ ! -e ${root}/killed ] && { touch ${root}/killed; kill -9 $PPID; exit 1; }`,
      'echo "$answer"',
    ];
    writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o700 });
    const provisioner = { kind: "provisioner", name: "cloud", command: [file], pollSeconds: 1, timeoutSeconds: 50 };
    writeFileSync(path.join(plane.home, "provisioners.yaml"), JSON.stringify(provisioner), { mode: 0o600 });
  };

  const lines = (name: string): readonly string[] =>
    existsSync(name) ? readFileSync(name, "utf8").trim().split("\n") : [];
  const cloudStates = async (): Promise<readonly string[]> =>
    (await cluster.call("scontrol", "show", "node", "--oneliner", "c[1-3]"))
      .trim()
      .split("\n")
      .map((line) => /State=(\S+)/.exec(line)?.[1] ?? "");

  it(
    "orders the nodes once though the control plane is killed before the answer, runs the gang, and releases them",
    { timeout: 240_000 },
    async () => {
      const gang = { workers: 3, accelerators: 8 };
      const id = await plane.submit({ kind: "train", name: "large", run: "sleep 3", gang, graceTimeoutMs: 2_000 });
      await expect.poll(() => existsSync(path.join(root, "killed")), { timeout: 60_000 }).toBe(true);
      await plane.kill();
      await plane.start();
      expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
      expect((await plane.nodesOf(id)).toSorted()).toEqual(["lab-c1", "lab-c2", "lab-n1"]);
      const isGone = async (): Promise<boolean> => (await plane.orders()).every(({ phase }) => phase === "gone");
      await expect.poll(isGone, { timeout: 60_000, interval: 500 }).toBe(true);

      const off = "IDLE+CLOUD+POWERED_DOWN";
      expect(await cloudStates()).toEqual([off, off, off]);
      // Each node was started once and stopped once, and the third one never.
      const power = lines(path.join(cluster.directory, "power.log"));
      expect(power.filter((line) => line.startsWith("resume"))).toEqual(["resume c[1-2]"]);
      const since = power.slice(power.findIndex((line) => line.startsWith("resume")) + 1);
      expect(since.flatMap((line) => hostNames(line.replace(/^suspend /, ""))).toSorted()).toEqual(["c1", "c2"]);
      const creations = lines(path.join(root, "calls")).filter((line) => line.startsWith("create"));
      expect(creations).toHaveLength(1);
      expect((await plane.nodes()).map(({ pool: of }) => of)).toEqual(["lab-gpu-h100"]);
    },
  );

  it("reports nodes that Slurm cannot start, and stops them", { timeout: 180_000 }, async () => {
    writeFileSync(path.join(cluster.directory, "broken"), "");
    const gang = { workers: 2, accelerators: 8 };
    const id = await plane.submit({ kind: "train", name: "in-vain", run: "true", gang });
    const failed = async (): Promise<boolean> =>
      lines(path.join(root, "calls")).some((line) => line.includes("-2-") && line.includes("Slurm gave up c"));
    await expect.poll(failed, { timeout: 120_000, interval: 500 }).toBe(true);
    const isGone = async (): Promise<boolean> => (await plane.orders()).every(({ phase }) => phase === "gone");
    await expect.poll(isGone, { timeout: 30_000, interval: 500 }).toBe(true);
    expect(await plane.phaseOf(id)).toBe("pending");
    await plane.stop(id);

    // They can be ordered again: Slurm does not keep them down, and starts each of them.
    rmSync(path.join(cluster.directory, "broken"));
    const { configurationFile: configuration } = cluster;
    const settings = { executor: "lab", partition: "cloud", directory: path.join(root, "orders"), configuration };
    const ask = async (verb: "create" | "release"): Promise<string> =>
      (await answerOrder(settings, { verb, order: { id: "again", count: 3, accelerators: 8, release: "all" } })).state;
    expect(await ask("create")).toBe("arriving");
    await expect.poll(cloudStates, { timeout: 60_000, interval: 500 }).toEqual(Array(3).fill("IDLE+CLOUD"));
    await expect.poll(() => ask("release"), { timeout: 60_000, interval: 500 }).toBe("gone");
  });
});
