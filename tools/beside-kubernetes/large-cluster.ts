/**
 * `npm run bench:large-kubernetes`: a control plane follows a real API server (1.20) with thousands of nodes and pods of others, then
 * binds the pods of a large gang, after those of an equal one. Measured: the time until all nodes are in, the processor time of the
 * control plane while nothing changes, and the rate of its bindings beside that of eight connections of a client that does nothing else, on
 * the same server. Times of bindings are those of the server's audit log. The client binds pods like those of the gang, after the control
 * plane has ended. A round is compared with the mean of the client's rates before and after it.
 * Options: `--nodes N` (5,000), `--pods N` (20,000), `--bound N` (1,000), `--rounds N` (3), `--idle SECONDS` (30), `--port N`, `--json`.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ControlPlaneProcess } from "../../packages/executors/src/conformance/control-plane-process.ts";
import type { KubernetesPod } from "../../packages/executors/src/kubernetes/api/objects.ts";
import { KubeCluster, whyNoKubernetes } from "../../packages/executors/src/kubernetes/testing/kube-cluster.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "5000" },
    pods: { type: "string", default: "20000" },
    bound: { type: "string", default: "1000" },
    idle: { type: "string", default: "30" },
    rounds: { type: "string", default: "3" },
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

/** A call about pods in the audit log of the server (audit.k8s.io/v1 Event). */
interface AuditedCall {
  readonly verb: string;
  readonly stageTimestamp: string;
  readonly user: { readonly username: string };
  readonly objectRef: { readonly resource: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number };
}

/** Reads what the server adds to its audit log, and no byte twice: the reader shares the cores with the two that are compared. */
class AuditReader {
  readonly calls: AuditedCall[] = [];
  readonly #path: string;
  #position: number;
  #cut = "";

  constructor({ auditLog }: KubeCluster) {
    this.#path = auditLog;
    this.#position = statSync(auditLog).size;
  }

  /** Takes in the lines that are new. */
  read(): void {
    const length = statSync(this.#path).size - this.#position;
    const added = Buffer.alloc(length);
    const file = openSync(this.#path, "r");
    this.#position += readSync(file, added, 0, length, this.#position);
    closeSync(file);
    const lines = (this.#cut + added.toString("latin1")).split("\n");
    this.#cut = lines.pop() ?? "";
    for (const line of lines) this.calls.push(JSON.parse(line) as AuditedCall);
  }

  async untilBound(count: number): Promise<void> {
    await until(async () => {
      this.read();
      return await Promise.resolve(this.calls.filter(isBinding).length >= count);
    });
  }
}

const isBinding = ({ objectRef, responseStatus }: AuditedCall): boolean =>
  objectRef.subresource === "binding" && responseStatus?.code === 201;

/** Bindings in a second, from the first to the last, by the clock of the server. */
function bindingRate(calls: readonly AuditedCall[]): number {
  const times = calls.filter(isBinding).map(({ stageTimestamp }) => Date.parse(stageTimestamp));
  return (times.length - 1) / ((Math.max(...times) - Math.min(...times)) / 1_000);
}

/** Calls by verb and resource, most frequent first. */
function callCounts(calls: readonly AuditedCall[]): string {
  const counts = new Map<string, number>();
  for (const { verb, objectRef, responseStatus } of calls) {
    const { resource, subresource } = objectRef;
    const call = `${verb} ${[resource, subresource].filter((each) => each !== undefined).join("/")} ${responseStatus?.code}`;
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([call, count]) => `${count} ${call}`).join(", ");
}

interface GangRun {
  readonly rate: number;
  readonly calls: string;
  readonly cpuMs: number;
  /** One of its pods. */
  readonly pod: KubernetesPod;
}

/** The control plane creates and binds the pods of a gang. */
async function gangRun(cluster: KubeCluster, plane: ControlPlaneProcess, name: string): Promise<GangRun> {
  const audit = new AuditReader(cluster);
  const cpuBeforeMs = cpuMsOf(plane.pid);
  const gang = { workers: boundCount, accelerators: 1, coresMilli: 1_000, memoryMib: 1_024 };
  await plane.submit({ kind: "train", name, run: "sleep 600", gang });
  await audit.untilBound(boundCount);
  const cpuMs = cpuMsOf(plane.pid) - cpuBeforeMs;
  const { calls } = audit;
  const bound = calls.find(isBinding)?.objectRef.name ?? "";
  const pod = await cluster.call<KubernetesPod>({ method: "GET", path: `${PODS_PATH}/${bound}` });
  return { rate: bindingRate(calls), calls: callCounts(calls), cpuMs, pod };
}

/** Bindings in a second of a client that does nothing else, with pods like those of the gang and no watch on the server. */
async function ownRate(cluster: KubeCluster, { pod }: GangRun, round: number): Promise<number> {
  const { labels, annotations, finalizers } = pod.metadata as KubernetesPod["metadata"] & { finalizers?: string[] };
  const { nodeName: _node, ...spec } = pod.spec ?? {};
  const nameOf = (index: number): string => `own-${round}-${index}`;
  await inParallel(boundCount, 16, (index) =>
    cluster.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: nameOf(index), namespace: "default", labels, annotations, finalizers },
      spec,
    }),
  );
  const audit = new AuditReader(cluster);
  await inParallel(boundCount, CONNECTIONS, (index) =>
    cluster.call({
      method: "POST",
      path: `${PODS_PATH}/${nameOf(index)}/binding`,
      body: {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: nameOf(index) },
        target: { apiVersion: "v1", kind: "Node", name: `n${index % nodeCount}` },
      },
    }),
  );
  await audit.untilBound(boundCount);
  return bindingRate(audit.calls);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const beganMs = performance.now();
  while (!(await isSo().catch(() => false))) {
    if (performance.now() - beganMs > 300_000) throw new Error("not within five minutes");
    await delay(100);
  }
}

interface Intake {
  readonly takenInMs: number;
  readonly takenInCpuMs: number;
}

/** The control plane starts to follow the cluster. */
async function takenIn(cluster: KubeCluster, plane: ControlPlaneProcess): Promise<Intake> {
  await plane.start();
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
  return { takenInMs: performance.now() - beganMs, takenInCpuMs: cpuMsOf(plane.pid) - cpuBeforeMs };
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((one, other) => one - other)[Math.floor(figures.length / 2)] ?? 0;

async function measured(cluster: KubeCluster, root: string): Promise<object> {
  // Without kubelets, the controllers would take all nodes for lost.
  await cluster.kill("kube-controller-manager");
  await inParallel(nodeCount, 16, (index) => cluster.create(nodeObject(index)));
  note(`${nodeCount} nodes are created`);
  await inParallel(podCount, 16, (index) => cluster.create(podObject(`other-${index}`, `n${index % nodeCount}`)));
  note(`${podCount} pods are created`);
  const load = loadavg()[0] ?? 0;
  const intakes: Intake[] = [];
  const rounds: { readonly rate: number; readonly serverRate: number; readonly ratio: number }[] = [];
  let idleShare = 0;
  for (let round = 0; round < Number(values.rounds); round += 1) {
    // Each has a state directory of its own: the pods of the last one are those of others.
    const plane = new ControlPlaneProcess(mkdtempSync(path.join(root, "plane-")), Number(values.port), []);
    try {
      intakes.push(await takenIn(cluster, plane));
      await delay(5_000);
      if (round === 0) {
        const idleBeforeMs = cpuMsOf(plane.pid);
        await delay(idleMs);
        idleShare = (cpuMsOf(plane.pid) - idleBeforeMs) / idleMs;
      }
      // The code of a new process is not compiled yet, and that of the client has created all nodes and pods.
      await gangRun(cluster, plane, "first");
      await delay(5_000);
      const run = await gangRun(cluster, plane, "second");
      await plane.kill();
      const serverRate = await ownRate(cluster, run, round);
      const { rate, calls, cpuMs } = run;
      // Other work on the machine comes and goes: the client's rates before and after count alike.
      const besideRate = (serverRate + (rounds.at(-1)?.serverRate ?? serverRate)) / 2;
      rounds.push({ rate, serverRate, ratio: rate / besideRate });
      note(`round ${round}: ${rate.toFixed(0)} bindings/s of ${besideRate.toFixed(0)}; ${cpuMs} ms of processor time`);
      note(`calls of the control plane: ${calls}`);
    } finally {
      await plane.kill();
    }
  }
  const ratio = median(rounds.map((each) => each.ratio));
  const [{ takenInMs, takenInCpuMs } = { takenInMs: 0, takenInCpuMs: 0 }] = intakes;
  const isKept = takenInMs <= 1_000 * TAKEN_IN_MAX_S && ratio >= RATE_MIN;
  return { nodeCount, podCount, takenInMs, takenInCpuMs, idleShare, boundCount, rounds, ratio, isKept, load };
}

const missing = whyNoKubernetes();
if (missing !== null) {
  note(`nothing was measured: ${missing}`);
  process.exit(1);
}
const root = mkdtempSync(path.join(tmpdir(), "headroom-large-kubernetes-"));
const cluster = await KubeCluster.start({ isAudited: true });
try {
  const figures = await measured(cluster, root);
  if (values.json) console.log(JSON.stringify(figures));
  else
    console.log(
      Object.entries(figures)
        .map(
          ([name, value]) => `${name} ${typeof value === "number" ? Number(value.toFixed(3)) : JSON.stringify(value)}`,
        )
        .join("\n"),
    );
} finally {
  await cluster.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
