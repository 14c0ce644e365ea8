/**
 * Gangs on a real API server behind a proxy that answers wrongly in a third of the calls, and a control plane over it, with kills at random
 * points of the control plane or of the API server. CI runs a sample; all of them:
 * `HEADROOM_FAULTY_PODS=1000 HEADROOM_KUBERNETES_KILLS=100 npm run test:system -- packages/executors/src/kubernetes/faulty-answers`.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { drawsOf } from "../conformance/draws.ts";
import { ConformanceWorld } from "../conformance/conformance-world.ts";
import type { KubernetesPod } from "./api/objects.ts";
import { FaultyProxy } from "./testing/faulty-proxy.ts";
import { CLUSTER_START_MS, KubeCluster, whyNoKubernetes } from "./testing/kube-cluster.ts";
import { kubernetesSubject, TEST_NODES } from "./testing/kubernetes-subject.ts";
import { TestKubelet } from "./testing/test-kubelet.ts";

const missing = whyNoKubernetes();
if (missing !== null) process.stderr.write(`*** Faults over Kubernetes were not tested: ${missing}\n`);

const { HEADROOM_FAULTY_PODS, HEADROOM_KUBERNETES_KILLS, HEADROOM_KUBERNETES_SEED } = process.env;
const isRequested = HEADROOM_FAULTY_PODS !== undefined || HEADROOM_KUBERNETES_KILLS !== undefined;
const gangCount = Number(HEADROOM_FAULTY_PODS ?? 10);
const killCount = Number(HEADROOM_KUBERNETES_KILLS ?? 2);
const seed = Number(HEADROOM_KUBERNETES_SEED ?? 1);
const FAULT_SHARE = 1 / 3;
const AT_ONCE = 6;
const PORT = 7_600 + (process.pid % 50);
const JOB_TIMEOUT_MS = 120_000;

const foreignPod = (name: string, nodeName: string, gpus: number): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  spec: {
    nodeName,
    containers: [
      {
        name: "main",
        image: "test",
        command: ["sleep", "600"],
        args: [],
        resources: { limits: { "nvidia.com/gpu": String(gpus) } },
      },
    ],
  },
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(missing !== null || !(isRequested || isTurnOf("Kubernetes")))("Kubernetes with faults", () => {
  let cluster: KubeCluster;
  let kubelet: TestKubelet;
  let root: string;
  let plane: ControlPlaneProcess;

  beforeAll(async () => {
    cluster = await KubeCluster.start();
    kubelet = await TestKubelet.start(cluster, TEST_NODES, { gpus: 8, cpus: 64, memory: "500Gi" });
    root = mkdtempSync(path.join(tmpdir(), "headroom-faulty-"));
    const settings = {
      kubeconfig: cluster.kubeconfigFor(cluster.server, "kubeconfig-account"),
      namespace: "default",
      defaultImage: "test",
      lostAfterMs: 6_000,
      nodeLostAfterMs: 2_000,
      keepPodsMs: 0,
    };
    plane = new ControlPlaneProcess(root, PORT, [{ name: "lab", type: "kubernetes", settings }]);
  }, CLUSTER_START_MS);

  afterAll(async () => {
    await plane?.kill();
    await kubelet?.stop();
    await cluster?.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const podsLeft = async (): Promise<readonly string[]> => {
    const { items } = await cluster.call<{ readonly items: readonly KubernetesPod[] }>({
      method: "GET",
      path: "/api/v1/pods",
    });
    return items.map(({ metadata }) => metadata.name);
  };

  const marks = (name: string): readonly string[] => {
    const file = path.join(root, name);
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  };

  it(
    `runs ${gangCount} gangs once each behind wrong answers, drops no record and leaves no pod`,
    { timeout: 60_000 + gangCount * 10_000 },
    async () => {
      const proxy = await FaultyProxy.start(cluster.server, seed);
      proxy.share = FAULT_SHARE;
      const kubeconfig = cluster.kubeconfigFor(proxy.url, "kubeconfig-faulty");
      const subject = kubernetesSubject(kubeconfig, () => undefined, {
        keepPodsMs: 0,
        requestTimeoutMs: 2_000,
        watchMs: 5_000,
      });
      const world = await ConformanceWorld.create({ ...subject, rootDir: root });
      const { executor, observer } = world.watched();
      const ends = new Map<string, string>();
      const waiting = Array.from({ length: gangCount }, () =>
        world.launch(`echo $HEADROOM_ATTEMPT_ID $RANK >> ${root}/starts-$HEADROOM_ATTEMPT_ID-$RANK; sleep 0.5`, {
          accelerators: ["0", "1"],
        }),
      );
      const work = async (): Promise<void> => {
        for (let launch = waiting.pop(); launch !== undefined; launch = waiting.pop()) {
          executor.perform(launch);
          const end = await observer.end(launch.attemptId);
          ends.set(launch.attemptId, end.kind === "attemptLost" ? end.detail : JSON.stringify(end.exits));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, () => work()));
      expect(await executor.attempts()).toHaveLength(gangCount);
      const exited = [0, 1].map((worker) => `{"kind":"exited","worker":${worker},"code":0}`);
      for (const end of ends.values()) for (const exit of exited) expect(end).toContain(exit);
      const starts = readdirSync(root).filter((name) => name.startsWith("starts-"));
      expect(starts).toHaveLength(2 * gangCount);
      for (const name of starts) expect(marks(name)).toHaveLength(1);
      expect(proxy.counts.size).toBeGreaterThan(4);
      await expect.poll(podsLeft, { timeout: 90_000, interval: 500 }).toEqual([]);
      proxy.share = 0;
      await world.dispose();
      proxy.stop();
    },
  );

  it("runs, shows and stops work, and adopts it after a kill of the control plane", { timeout: 180_000 }, async () => {
    await plane.start();
    await plane.hasNodes(TEST_NODES.length);
    const go = path.join(root, "go");
    const run = `echo started $RANK; echo $HEADROOM_ATTEMPT_ID $RANK >> ${root}/adopted; until [ -e ${go} ]; do sleep 0.1; done`;
    const id = await plane.submit({ kind: "train", name: "adopted", run, gang: { workers: 4, accelerators: 8 } });
    await expect.poll(() => plane.phaseOf(id), { timeout: 60_000 }).toBe("running");
    await plane.kill();
    await plane.start();
    await expect.poll(() => plane.phaseOf(id), { timeout: 60_000 }).toBe("running");
    writeFileSync(go, "");
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
    expect(marks("adopted").toSorted()).toEqual([0, 1, 2, 3].map((rank) => `${id}.1 ${rank}`));
    for (const rank of [0, 1, 2, 3]) expect(await plane.logs(id)).toContain(`started ${rank}`);
    const long = await plane.submit({
      kind: "train",
      name: "long",
      run: "sleep 600",
      gang: { workers: 2, accelerators: 1 },
    });
    await expect.poll(() => plane.phaseOf(long), { timeout: 60_000 }).toBe("running");
    await plane.stop(long);
    expect(await plane.ended(long, JOB_TIMEOUT_MS)).toMatch(/stopped|cancelled/);
    await expect.poll(podsLeft, { timeout: 60_000, interval: 500 }).toEqual([]);
  });

  it("places work on what pods of others leave, and leaves them alone", { timeout: 60_000 }, async () => {
    const uses = async (): Promise<readonly (string | null)[]> =>
      (await plane.nodes()).map(({ foreignUse }) => foreignUse?.accelerators ?? null);
    const names = TEST_NODES.map((node) => `foreign-${node}`);
    for (const node of TEST_NODES) await cluster.create(foreignPod(`foreign-${node}`, node, node === "n4" ? 5 : 8));
    await expect.poll(uses, { timeout: 30_000 }).toEqual(["0-7", "0-7", "0-7", "3-7"]);
    const id = await plane.submit({ kind: "train", name: "small", run: "true", gang: { workers: 1, accelerators: 3 } });
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
    expect((await podsLeft()).filter((name) => name.startsWith("foreign")).toSorted()).toEqual(names);
    for (const name of names)
      await cluster.call({
        method: "DELETE",
        path: `/api/v1/namespaces/default/pods/${name}`,
        body: { gracePeriodSeconds: 1 },
      });
    await expect.poll(uses, { timeout: 30_000 }).toEqual([null, null, null, null]);
  });

  it("runs the work of a lost node elsewhere, and ends what still runs there", { timeout: 120_000 }, async () => {
    const go = path.join(root, "moved-go");
    const run = `echo $HEADROOM_ATTEMPT_ID >> ${root}/moved; until [ -e ${go} ]; do sleep 0.1; done`;
    const id = await plane.submit({ kind: "train", name: "moved", run, gang: { workers: 1, accelerators: 8 } });
    await expect.poll(() => marks("moved"), { timeout: 30_000 }).toEqual([`${id}.1`]);
    const node = kubelet.nodeOfRunning();
    kubelet.silence(node);
    await expect.poll(() => marks("moved"), { timeout: 60_000 }).toEqual([`${id}.1`, `${id}.2`]);
    await kubelet.unsilence(node);
    await expect.poll(() => kubelet.runningCount, { timeout: 60_000 }).toBe(1);
    writeFileSync(go, "");
    expect(await plane.ended(id, JOB_TIMEOUT_MS)).toBe("succeeded");
    await expect.poll(podsLeft, { timeout: 60_000, interval: 500 }).toEqual([]);
  });

  it(
    `finishes every gang with ${killCount} kills of the control plane or the API server, and doubles none`,
    { timeout: 30_000 + killCount * 150_000 },
    async () => {
      const draw = drawsOf(seed);
      for (let kill = 1; kill <= killCount; kill++) {
        const victim = (kill + seed) % 2 === 0 ? "control plane" : "kube-apiserver";
        const [atMs, downMs] = [draw() * 2_000, draw() * 3_000];
        const what = `kill ${kill} of seed ${seed}: ${victim} after ${Math.round(atMs)} ms, down for ${Math.round(downMs)} ms`;
        const file = path.join(root, `kill-${kill}`);
        const run = `echo start $HEADROOM_ATTEMPT_ID $RANK >> ${file}; sleep 1.5; echo end $HEADROOM_ATTEMPT_ID $RANK >> ${file}`;
        const id = await plane.submit({
          kind: "train",
          name: `kill-${kill}`,
          run,
          gang: { workers: 2, accelerators: 8 },
        });
        await pause(atMs);
        if (victim === "kube-apiserver") {
          await cluster.kill("kube-apiserver");
          await pause(downMs);
          await cluster.startServer();
        } else {
          await plane.kill();
          await pause(downMs);
          await plane.start();
        }
        expect(await plane.ended(id, JOB_TIMEOUT_MS), what).toBe("succeeded");
        const lines = marks(`kill-${kill}`);
        expect(new Set(lines).size, `${what}: ${lines.join(", ")}`).toBe(lines.length);
        expect(lines.filter((line) => line.startsWith("end")).length, `${what}: ${lines.join(", ")}`).toBe(2);
      }
      await expect.poll(podsLeft, { timeout: 60_000, interval: 500 }).toEqual([]);
    },
  );
});
