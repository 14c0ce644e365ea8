/** One queue over two Slurm clusters and, where it is built, a Kubernetes cluster. All cases: `HEADROOM_SLICE=all`. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../tools/testing/rotating.ts";
import { ControlPlaneProcess } from "./conformance/control-plane-process.ts";
import { KubeCluster, whyNoKubernetes } from "./kubernetes/testing/kube-cluster.ts";
import { TestKubelet } from "./kubernetes/testing/test-kubelet.ts";
import { slurmExecutor } from "./slurm/testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./slurm/testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** Several clusters were not tested: ${missing}\n`);
const hasKubernetes = whyNoKubernetes() === null;

const PORT = 7_400 + (process.pid % 100);
const SHAPE = { nodes: 2, gpusPerNode: 8, cpusPerNode: 64, memoryMib: 500_000 };
const FAILOVER_MS = 30_000;
const JOB_TIMEOUT_MS = 120_000;

describe.skipIf(missing !== null || !isTurnOf("Kubernetes"))("one queue over several clusters", () => {
  let east: SlurmCluster;
  let west: SlurmCluster;
  let kube: KubeCluster | null = null;
  let kubelet: TestKubelet | null = null;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    [east, west] = await Promise.all([SlurmCluster.start(SHAPE), SlurmCluster.start(SHAPE)]);
    root = mkdtempSync(path.join(tmpdir(), "headroom-clusters-"));
    const executors = [
      slurmExecutor("east", path.join(root, "east"), east),
      slurmExecutor("west", path.join(root, "west"), west),
    ];
    if (hasKubernetes) {
      kube = await KubeCluster.start();
      kubelet = await TestKubelet.start(kube, ["k1", "k2"], { gpus: 8, cpus: 64, memory: "500Gi" });
      const kubeconfig = kube.kubeconfigFor(kube.server, "kubeconfig-account");
      const settings = { kubeconfig, namespace: "default", defaultImage: "test", keepPodsMs: 0 };
      executors.push({ name: "kube", type: "kubernetes", settings });
    }
    plane = new ControlPlaneProcess(root, PORT, executors);
    await plane.start();
    await plane.hasNodes(2 * executors.length);
  }, 240_000);

  afterAll(async () => {
    await plane?.kill();
    await kubelet?.stop();
    await kube?.stop();
    await Promise.all([east?.stop(), west?.stop()]);
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const file = (name: string): string => path.join(root, name);
  const marks = (name: string): readonly string[] =>
    existsSync(file(name)) ? readFileSync(file(name), "utf8").split("\n").slice(0, -1) : [];
  /** A gang that fills a cluster until the file `go-NAME` appears. */
  const filling = (name: string, more: object = {}): Promise<string> => {
    const run = `echo $HEADROOM_ATTEMPT_ID $RANK >> ${file(name)}; until [ -e ${file(`go-${name}`)} ]; do sleep 0.1; done`;
    const document = { kind: "train", name, run, gang: { workers: 2, accelerators: 8 }, graceTimeoutMs: 5_000 };
    return plane.submit({ ...document, ...more });
  };
  const finish = async (name: string, id: string): Promise<void> => {
    writeFileSync(file(`go-${name}`), "");
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
  };
  const clusterOf = async (id: string): Promise<string> => {
    const nodes = await plane.nodesOf(id);
    return [...new Set(nodes.map((node) => node.split("-")[0] ?? ""))].join(" and ");
  };

  it(
    "runs each gang within one cluster, and the gang that waits where room comes first",
    { timeout: 180_000 },
    async () => {
      const names = hasKubernetes ? ["one", "two", "three"] : ["one", "two"];
      const ids = await Promise.all(names.map((name) => filling(name)));
      for (const id of ids) await plane.hasPhase(id, "running");
      const clusters = await Promise.all(ids.map(clusterOf));
      expect(clusters.toSorted()).toEqual(hasKubernetes ? ["east", "kube", "west"] : ["east", "west"]);
      const waiting = await filling("next");
      expect(await plane.phaseOf(waiting)).toBe("pending");
      await finish("two", ids[1] ?? "");
      await plane.hasPhase(waiting, "running");
      expect(await clusterOf(waiting)).toBe(clusters[1]);
      await finish("next", waiting);
      for (const [index, name] of names.entries()) if (name !== "two") await finish(name, ids[index] ?? "");
    },
  );

  it("preempts in one cluster for a gang that arrives", { timeout: 180_000 }, async () => {
    const names = hasKubernetes ? ["low-1", "low-2", "low-3"] : ["low-1", "low-2"];
    const ids = await Promise.all(names.map((name) => filling(name, { priority: -100 })));
    for (const id of ids) await plane.hasPhase(id, "running");
    const urgent = await filling("urgent", { priority: 100 });
    await plane.hasPhase(urgent, "running");
    const phases = await Promise.all(ids.map((id) => plane.phaseOf(id)));
    expect(phases.filter((phase) => phase === "running")).toHaveLength(ids.length - 1);
    await finish("urgent", urgent);
    for (const [index, name] of names.entries()) await finish(name, ids[index] ?? "");
  });

  /** Silences the only cluster with room, submits a gang, and makes room in another one. */
  const failsOver = async (name: string, silent: string, silence: () => Promise<void>): Promise<void> => {
    const clusters = hasKubernetes ? ["east", "west", "kube"] : ["east", "west"];
    const busy = new Map<string, readonly [string, string]>();
    for (const index of clusters.keys()) {
      const filler = `${name}-busy-${index}`;
      const id = await filling(filler);
      await plane.hasPhase(id, "running");
      busy.set(await clusterOf(id), [filler, id]);
    }
    await finish(...(busy.get(silent) ?? ["", ""]));
    await silence();
    const startMs = performance.now();
    const moved = await filling(name);
    const other = clusters.find((cluster) => cluster !== silent) ?? "";
    setTimeout(() => writeFileSync(file(`go-${busy.get(other)?.[0]}`), ""), 5_000);
    await expect.poll(() => marks(name).length, { timeout: FAILOVER_MS + 5_000, interval: 200 }).toBe(2);
    process.stdout.write(`${name}: ${Math.round(performance.now() - startMs)} ms\n`);
    expect(await clusterOf(moved)).toBe(other);
    for (const [cluster, each] of busy) if (cluster !== silent) await finish(...each);
    await finish(name, moved);
  };

  it("runs a gang elsewhere, once, when the controller of its cluster is gone", { timeout: 180_000 }, async () => {
    await failsOver("gone", "west", () => west.kill("slurmctld"));
    await west.startController();
    await plane.hasReachable("west");
    expect(marks("gone")).toHaveLength(2);
  });

  it("runs a gang elsewhere, once, when the controller of its cluster hangs", { timeout: 180_000 }, async () => {
    await failsOver("hangs", "west", async () => west.hang("slurmctld", true));
    west.hang("slurmctld", false);
    await plane.hasReachable("west");
    expect(marks("hangs")).toHaveLength(2);
  });

  it.skipIf(!hasKubernetes)(
    "runs a gang elsewhere, once, when the API server is gone",
    { timeout: 180_000 },
    async () => {
      await failsOver("unserved", "kube", async () => kube?.kill("kube-apiserver"));
      await kube?.startServer();
      await plane.hasReachable("kube");
      expect(marks("unserved")).toHaveLength(2);
    },
  );
});
