/**
 * `npm run bench:large-kubernetes`: a control plane follows a real API server (1.20) with thousands of nodes and pods of others, then
 * binds the pods of one large gang. Measured: the time until all nodes are in, the processor time of the control plane while nothing
 * changes, and the rate of its bindings beside that of eight connections of a client that does nothing else, on the same server.
 * Options: `--nodes N` (5,000), `--pods N` (20,000), `--bound N` (1,000), `--idle SECONDS` (30), `--port N`, `--json`.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ControlPlaneProcess } from "../../packages/executors/src/conformance/control-plane-process.ts";
import { Connection } from "../../packages/executors/src/kubernetes/api/connection.ts";
import type { KubernetesPod } from "../../packages/executors/src/kubernetes/api/objects.ts";
import { KubeCluster, whyNoKubernetes } from "../../packages/executors/src/kubernetes/testing/kube-cluster.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "5000" },
    pods: { type: "string", default: "20000" },
    bound: { type: "string", default: "1000" },
    idle: { type: "string", default: "30" },
    port: { type: "string", default: "25920" },
    json: { type: "boolean", default: false },
  },
});

/** Longest time in s until the cluster is taken in, and least part of the server's own rate. */
const TAKEN_IN_MAX_S = 15;
const RATE_MIN = 0.8;
const CONNECTIONS = 8;
const PODS_PATH = "/api/v1/namespaces/default/pods";
const TICKS_PER_S = 100;
const [nodeCount, podCount, boundCount] = [Number(values.nodes), Number(values.pods), Number(values.bound)];
const idleMs = Number(values.idle) * 1_000;

const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** Processor time of a process, without its children (proc(5)). */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_S;
}

async function inParallel(count: number, connections: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await act(index);
  };
  await Promise.all(Array.from({ length: connections }, one));
}

const nodeObject = (index: number): object => {
  const capacity = { cpu: "96", memory: "1000Gi", pods: "250", "nvidia.com/gpu": "8" };
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "stands for a kubelet" }];
  const labels = { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: `n${index}`, labels: { "kubernetes.io/hostname": `n${index}`, ...labels } },
    status: { capacity, allocatable: capacity, conditions },
  };
};

const podObject = (name: string, nodeName?: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", labels: { app: "others" } },
  spec: {
    ...(nodeName === undefined ? { schedulerName: "another" } : { nodeName }),
    containers: [{ name: "main", image: "others", resources: { limits: { cpu: "1", "nvidia.com/gpu": "1" } } }],
  },
});

/** Bindings in a second of a client that does nothing else. */
async function ownRate(cluster: KubeCluster): Promise<number> {
  await inParallel(boundCount, 16, (index) => cluster.create(podObject(`raw-${index}`)));
  const beganMs = performance.now();
  await inParallel(boundCount, CONNECTIONS, (index) =>
    cluster.call({
      method: "POST",
      path: `${PODS_PATH}/raw-${index}/binding`,
      body: {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: `raw-${index}` },
        target: { apiVersion: "v1", kind: "Node", name: `n${index % nodeCount}` },
      },
    }),
  );
  return boundCount / ((performance.now() - beganMs) / 1_000);
}

/** Bindings in a second of the control plane, from the first to the last, as a watch of the pods shows them. */
async function planeRate(plane: ControlPlaneProcess, connection: Connection): Promise<number> {
  const closing = new AbortController();
  const query = { watch: true, labelSelector: "headroom.dev/attempt", timeoutSeconds: 600 };
  const stream = await connection.stream({ method: "GET", path: PODS_PATH, query }, closing.signal);
  const gang = { workers: boundCount, accelerators: 1, coresMilli: 1_000, memoryMib: 1_024 };
  await plane.submit({ kind: "train", name: "large", run: "sleep 600", gang });
  const bound = new Set<string>();
  let firstMs = 0;
  let rest = "";
  for await (const piece of stream as AsyncIterable<Buffer>) {
    rest += piece.toString("utf8");
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { object } = JSON.parse(line) as { readonly object: KubernetesPod };
      if (object.spec?.nodeName !== undefined) bound.add(object.metadata.name);
      if (bound.size > 0) firstMs ||= performance.now();
    }
    if (bound.size >= boundCount) break;
  }
  closing.abort();
  return bound.size / ((performance.now() - firstMs) / 1_000);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const beganMs = performance.now();
  while (!(await isSo().catch(() => false))) {
    if (performance.now() - beganMs > 300_000) throw new Error("not within five minutes");
    await delay(100);
  }
}

async function measured(cluster: KubeCluster, plane: ControlPlaneProcess): Promise<object> {
  // Without kubelets, the controllers would take all nodes for lost.
  await cluster.kill("kube-controller-manager");
  await inParallel(nodeCount, 16, (index) => cluster.create(nodeObject(index)));
  note(`${nodeCount} nodes are created`);
  await inParallel(podCount, 16, (index) => cluster.create(podObject(`other-${index}`, `n${index % nodeCount}`)));
  note(`${podCount} pods are created`);
  const serverRate = await ownRate(cluster);
  await plane.start();
  const load = loadavg()[0] ?? 0;
  const settings = {
    kubeconfig: cluster.kubeconfigFor(cluster.server, "kubeconfig-account"),
    namespace: "default",
    defaultImage: "test",
  };
  const cpuBeforeMs = cpuMsOf(plane.pid);
  const beganMs = performance.now();
  await plane.put("/v1/executors/lab", { type: "kubernetes", mode: "run", settings });
  await until(async () => {
    const { items } = JSON.parse(await plane.text("/v1/executors")) as { items: { name: string; nodes: number }[] };
    return (items.find(({ name }) => name === "lab")?.nodes ?? 0) >= nodeCount;
  });
  const takenInMs = performance.now() - beganMs;
  const takenInCpuMs = cpuMsOf(plane.pid) - cpuBeforeMs;
  await delay(5_000);
  const idleBeforeMs = cpuMsOf(plane.pid);
  await delay(idleMs);
  const idleShare = (cpuMsOf(plane.pid) - idleBeforeMs) / idleMs;
  const connection = new Connection({ kubeconfig: cluster.kubeconfig, requestTimeoutMs: 60_000 });
  const rate = await planeRate(plane, connection).finally(() => connection.close());
  const ratio = rate / serverRate;
  const isKept = takenInMs <= 1_000 * TAKEN_IN_MAX_S && ratio >= RATE_MIN;
  return { nodeCount, podCount, takenInMs, takenInCpuMs, idleShare, boundCount, rate, serverRate, ratio, isKept, load };
}

const missing = whyNoKubernetes();
if (missing !== null) {
  note(`nothing was measured: ${missing}`);
  process.exit(1);
}
const root = mkdtempSync(path.join(tmpdir(), "headroom-large-kubernetes-"));
const cluster = await KubeCluster.start();
const plane = new ControlPlaneProcess(root, Number(values.port), []);
try {
  const figures = await measured(cluster, plane);
  if (values.json) console.log(JSON.stringify(figures));
  else
    console.log(
      Object.entries(figures)
        .map(([name, value]) => `${name} ${typeof value === "number" ? Number(value.toFixed(3)) : String(value)}`)
        .join("\n"),
    );
} finally {
  await plane.kill();
  await cluster.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
