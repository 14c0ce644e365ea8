/**
 * Pods of others that name Headroom as their scheduler, on a real API server whose kubelets the test plays, under a control plane of its
 * own with the rights of `headroom kubernetes manifest` alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import type { KubernetesPod } from "./api/objects.ts";
import { CLUSTER_START_MS, KubeCluster, whyNoKubernetes } from "./testing/kube-cluster.ts";
import { TestKubelet } from "./testing/test-kubelet.ts";

const missing = whyNoKubernetes();
if (missing !== null) process.stderr.write(`*** The adoption of pods was not tested: ${missing}\n`);

const PORT = 25_000 + (process.pid % 500);
const PODS = "/api/v1/namespaces/default/pods";
const WAIT_MS = 90_000;

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly phase: string;
  readonly team: string;
}

describe.skipIf(missing !== null || !isTurnOf("adoption"))("pods that name Headroom as their scheduler", () => {
  let cluster: KubeCluster;
  let kubelet: TestKubelet;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    cluster = await KubeCluster.start();
    kubelet = await TestKubelet.start(cluster, ["n1", "n2"], { gpus: 4, cpus: 16, memory: "64Gi" });
  }, CLUSTER_START_MS);

  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), "headroom-adoption-"));
    const kubeconfig = cluster.kubeconfigFor(cluster.server, "kubeconfig-account");
    const settings = { kubeconfig, namespace: "default", adoptPods: true, adoptTeams: { default: "lab" } };
    plane = new ControlPlaneProcess(root, PORT, [
      { name: "kube", type: "kubernetes", settings: { ...settings, defaultImage: "test" } },
    ]);
    await plane.start();
    await plane.hasNodes(2);
    await plane.apply({ teams: [{ name: "lab" }] });
  }, 180_000);

  afterEach(async () => {
    await plane.kill();
    rmSync(root, { recursive: true, force: true });
    for (const { metadata } of await pods()) {
      const at = `${PODS}/${metadata.name}`;
      const contentType = "application/merge-patch+json";
      await cluster
        .call({ method: "PATCH", path: at, body: { metadata: { finalizers: [] } }, contentType })
        .catch(() => 0);
      await cluster.call({ method: "DELETE", path: at, body: { gracePeriodSeconds: 0 } }).catch(() => 0);
    }
    await until("no pods", async () => (await pods()).length === 0);
  }, 120_000);

  afterAll(async () => {
    await kubelet?.stop();
    await cluster?.stop();
  }, 60_000);

  const pods = async (): Promise<readonly KubernetesPod[]> =>
    (await cluster.call<{ items: readonly KubernetesPod[] }>({ method: "GET", path: PODS })).items;

  const podNamed = async (name: string): Promise<KubernetesPod> =>
    await cluster.call<KubernetesPod>({ method: "GET", path: `${PODS}/${name}` });

  const createPod = (name: string, gpus: number, run: string, more: PodParts = {}): Promise<void> =>
    cluster.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels: more.labels, annotations: more.annotations },
      spec: {
        schedulerName: "headroom",
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 2,
        nodeSelector: more.nodeSelector,
        containers: [
          {
            name: "trainer",
            image: "test",
            command: ["/bin/sh", "-c", run],
            resources: { limits: { "nvidia.com/gpu": String(gpus) }, requests: { cpu: "1", memory: "1Gi" } },
          },
        ],
      },
    });

  const group = (name: string, size: number): PodParts => ({
    labels: { "scheduling.x-k8s.io/pod-group": name },
    annotations: { "headroom.dev/pod-group-size": String(size) },
  });

  const eventsOf = async (pod: string): Promise<readonly string[]> => {
    const query = { fieldSelector: `involvedObject.name=${pod}` };
    const { items } = await cluster.call<{ items: readonly { reason: string; message: string }[] }>({
      method: "GET",
      path: "/api/v1/namespaces/default/events",
      query,
    });
    return items.map(({ reason, message }) => `${reason} ${message}`);
  };

  const hasStarted = async (id: string): Promise<boolean> =>
    (JSON.parse(await plane.describe(id)) as { firstStartedAtMs: number | null }).firstStartedAtMs !== null;

  const workloads = async (): Promise<readonly Listed[]> => JSON.parse(await plane.text("/v1/workloads")).items;

  const workloadNamed = async (name: string): Promise<Listed> => {
    let found: Listed | undefined;
    await until(`the workload ${name}`, async () => {
      found = (await workloads()).find((each) => each.name === name);
      return found !== undefined;
    });
    return found as Listed;
  };

  it("binds a gang when all of it fits, and says before why it waits", { timeout: 180_000 }, async () => {
    const gang = { workers: 1, accelerators: 2 };
    const holder = await plane.submit({ kind: "train", name: "holder", team: "lab", run: "sleep 600", gang });
    await plane.hasPhase(holder, "running");
    await createPod("a-0", 4, "sleep 1; echo done", group("a", 2));
    await pause(4_000);
    // One pod of two: neither a workload nor a binding.
    expect((await workloads()).map(({ name }) => name)).toEqual(["holder"]);
    expect((await eventsOf("a-0")).join()).toMatch(/1 of 2 pods of its group exist/);
    await createPod("a-1", 4, "sleep 1; echo done", group("a", 2));
    const { id, team } = await workloadNamed("a");
    expect(team).toBe("lab");
    await until("the reason", async () =>
      /Queued w\d+: .*6 of the 8 there are free.* It starts/.test((await eventsOf("a-1")).join()),
    );
    expect((await podNamed("a-0")).spec?.nodeName).toBeUndefined();
    await plane.stop(holder);
    expect(await plane.ended(id, WAIT_MS)).toBe("succeeded");
    const bound = [await podNamed("a-0"), await podNamed("a-1")].map(({ spec }) => spec?.nodeName);
    expect(new Set(bound)).toEqual(new Set(["n1", "n2"]));
    expect((await eventsOf("a-0")).join()).toMatch(/Scheduled Bound to n[12]/);
    expect(await plane.logs(id)).toContain("done");
    // The owner can delete the pods at once: Headroom keeps no finalizer on them.
    await until("no finalizers", async () =>
      (await pods()).every(({ metadata }) => (metadata.finalizers ?? []).length === 0),
    );
  });

  it("counts its pods as work of the team, not as use of others", { timeout: 120_000 }, async () => {
    await createPod("b", 3, "sleep 600");
    const { id } = await workloadNamed("b");
    await until("the pod runs", async () => (await podNamed("b")).status?.phase === "Running");
    const uses = (await plane.nodes()).map(({ foreignUse }) => foreignUse?.accelerators ?? "0");
    expect(uses).toEqual(["0", "0"]);
    await cluster.call({ method: "DELETE", path: `${PODS}/b` });
    expect(await plane.ended(id, WAIT_MS)).toBe("failed");
    await until("the pod is gone", async () => (await pods()).length === 0);
  });

  it("stops the workload of pods that were deleted while they waited", { timeout: 120_000 }, async () => {
    await createPod("large", 5, "true");
    const { id } = await workloadNamed("large");
    await cluster.call({ method: "DELETE", path: `${PODS}/large` });
    expect(await plane.ended(id, WAIT_MS)).toBe("cancelled");
  });

  it("refuses what it cannot honour, with an event", { timeout: 120_000 }, async () => {
    await createPod("picky", 1, "true", { nodeSelector: { "example.com/disk": "fast" } });
    await until("the event", async () =>
      /FailedScheduling .*example\.com\/disk/.test((await eventsOf("picky")).join()),
    );
    expect(await workloads()).toEqual([]);
  });

  it(
    "goes on after kills of the control plane and of the API server, without doubles",
    { timeout: 240_000 },
    async () => {
      const end = path.join(root, "end");
      const untilTold = `while [ ! -e ${end} ]; do sleep 0.2; done`;
      for (const index of [0, 1, 2, 3]) await createPod(`c-${index}`, 2, untilTold, group("c", 4));
      const running = await workloadNamed("c");
      await plane.hasPhase(running.id, "running");
      for (const index of [0, 1]) await createPod(`d-${index}`, 4, "sleep 1", group("d", 2));
      const waiting = await workloadNamed("d");
      await plane.kill();
      await plane.start();
      await plane.hasPhase(running.id, "running");
      await plane.kill();
      await cluster.kill("kube-apiserver");
      await cluster.startServer();
      await plane.start();
      await plane.hasReachable("kube");
      expect(await plane.phaseOf(waiting.id)).toBe("pending");
      writeFileSync(end, "");
      expect(await plane.ended(running.id, WAIT_MS)).toBe("succeeded");
      expect(await plane.ended(waiting.id, WAIT_MS)).toBe("succeeded");
      expect((await workloads()).map(({ name }) => name).toSorted()).toEqual(["c", "d"]);
      for (const id of [running.id, waiting.id]) expect(JSON.parse(await plane.describe(id)).attempts).toHaveLength(1);
    },
  );

  it("deletes the pods of a preempted workload and ends it", { timeout: 180_000 }, async () => {
    await createPod("e", 4, "sleep 600");
    await createPod("f", 4, "sleep 600");
    const victims = [await workloadNamed("e"), await workloadNamed("f")];
    // The workload counts as running from its placement on. A pod without a node would wait on instead of being deleted.
    for (const name of ["e", "f"])
      await until(`the pod ${name} runs`, async () => (await podNamed(name)).status?.phase === "Running");
    for (const { id } of victims) await until("the start is seen", async () => await hasStarted(id));
    await plane.apply({ teams: [{ name: "lab" }, { name: "prod", guarantee: { nvidia: 4 } }] });
    const gang = { workers: 1, accelerators: 4 };
    const id = await plane.submit({ kind: "train", name: "urgent", team: "prod", run: "sleep 1", gang });
    expect(await plane.ended(id, WAIT_MS)).toBe("succeeded");
    // A preempted workload may be placed once more before the control plane sees that its pods are gone.
    let phases: readonly string[] = [];
    const isEnded = async (): Promise<boolean> => {
      phases = await Promise.all(victims.map((each) => plane.phaseOf(each.id)));
      return phases.includes("cancelled") && phases.includes("running");
    };
    await until("the end of one victim", isEnded).catch(async (error: unknown) => {
      const told = await Promise.all(victims.map((each) => plane.describe(each.id)));
      throw new Error(`${phases.join()}: ${told.join()}`, { cause: error });
    });
    // The pod goes when its kubelet has seen its processes end.
    const left = async (): Promise<number> =>
      (await pods()).filter(({ spec, metadata }) => spec?.schedulerName === "headroom" && /^[ef]$/.test(metadata.name))
        .length;
    await until("the pod of the victim is gone", async () => (await left()) === 1);
  });

  it("waits for as many pods as an object PodGroup states", { timeout: 120_000 }, async () => {
    const names = { plural: "podgroups", singular: "podgroup", kind: "PodGroup" };
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await cluster.create({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: {
        name: "podgroups.scheduling.x-k8s.io",
        annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50" },
      },
      spec: {
        group: "scheduling.x-k8s.io",
        names,
        scope: "Namespaced",
        versions: [{ name: "v1alpha1", served: true, storage: true, schema }],
      },
    });
    const object = {
      apiVersion: "scheduling.x-k8s.io/v1alpha1",
      kind: "PodGroup",
      metadata: { name: "pair", namespace: "default" },
      spec: { minMember: 2 },
    };
    await until("the resource", async () => {
      await cluster.create(object);
      return true;
    });
    const labels = { "scheduling.x-k8s.io/pod-group": "pair" };
    await createPod("pair-0", 4, "sleep 1", { labels });
    await until("the reason", async () => /1 of 2 pods of its group exist/.test((await eventsOf("pair-0")).join()));
    expect(await workloads()).toEqual([]);
    await createPod("pair-1", 4, "sleep 1", { labels });
    const { id } = await workloadNamed("pair");
    expect(await plane.ended(id, WAIT_MS)).toBe("succeeded");
  });

  it("refuses a workload that has the key of pods and requests less", { timeout: 120_000 }, async () => {
    await createPod("large", 5, "true");
    const { id } = await workloadNamed("large");
    const { spec } = JSON.parse(await plane.describe(id));
    const gang = { workers: 1, accelerators: 0 };
    const forged = await plane.submit({ ...spec, name: "forged", gang });
    expect(await plane.ended(forged, WAIT_MS)).toBe("failed");
    expect((await podNamed("large")).spec?.nodeName).toBeUndefined();
  });
});

interface PodParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`not within ${WAIT_MS} ms: ${what}`);
    await pause(200);
  }
}
