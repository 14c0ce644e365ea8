/**
 * `npm run bench:large-kubernetes`: a control plane follows a real API server (1.20) with thousands of nodes and pods of others, then
 * binds the pods of large gangs. Measured: the time until all nodes are in, the processor time of the control plane while nothing changes,
 * and the rate of its bindings beside that of eight connections of a client that does nothing else, on the same server. Both bind in turns,
 * so that other work on the machine slows both: the client (its pods are like those of a gang; the control plane is stopped meanwhile, and
 * its watches stay open), a gang, the client, a gang, and so on. A gang is compared with the mean of the client's rates before and after
 * it. Times of bindings are those of the server's audit log.
 * Options: `--nodes N` (5,000), `--pods N` (20,000), `--bound N` (1,000), `--rounds N` (7), `--idle SECONDS` (30), `--port N`, `--json`.
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
    rounds: { type: "string", default: "7" },
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
const SETTLE_MS = 4_000;
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
    const added = this.#bytesFrom(this.#position);
    this.#position += added.length;
    const lines = (this.#cut + added.toString("latin1")).split("\n");
    this.#cut = lines.pop() ?? "";
    for (const line of lines) this.calls.push(JSON.parse(line) as AuditedCall);
  }

  /** Waits until so many pods are bound. Lines are only counted meanwhile: reading them would take processor time from those measured. */
  async untilBound(count: number): Promise<void> {
    const first = this.#position;
    let [position, bound] = [first, 0];
    await until(async () => {
      const added = this.#bytesFrom(position);
      const end = added.lastIndexOf("\n") + 1;
      position += end;
      for (let at = added.indexOf(BINDING_MARK); at >= 0 && at < end; at = added.indexOf(BINDING_MARK, at + 1))
        bound += 1;
      return await Promise.resolve(bound >= count);
    });
    this.read();
    if (this.calls.filter(isBinding).length < count) await this.untilBound(count - this.calls.filter(isBinding).length);
  }

  #bytesFrom(position: number): Buffer {
    const bytes = Buffer.alloc(statSync(this.#path).size - position);
    const file = openSync(this.#path, "r");
    const length = readSync(file, bytes, 0, bytes.length, position);
    closeSync(file);
    return bytes.subarray(0, length);
  }
}

const BINDING_MARK = '"subresource":"binding"';

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
  // A state directory of its own: pods that another one bound are those of others.
  const plane = new ControlPlaneProcess(mkdtempSync(path.join(root, "plane-")), Number(values.port), []);
  try {
    const intake = await takenIn(cluster, plane);
    await delay(SETTLE_MS);
    const idleBeforeMs = cpuMsOf(plane.pid);
    await delay(idleMs);
    const idleShare = (cpuMsOf(plane.pid) - idleBeforeMs) / idleMs;
    const bindings = await bindInTurns(cluster, plane);
    const isKept = intake.takenInMs <= 1_000 * TAKEN_IN_MAX_S && bindings.ratioOfMedians >= RATE_MIN;
    return { nodeCount, podCount, ...intake, idleShare, boundCount, ...bindings, isKept };
  } finally {
    await plane.kill();
  }
}

interface Round {
  readonly rate: number;
  /** Mean rate of the client, before and after. */
  readonly serverRate: number;
  readonly ratio: number;
  readonly cpuMs: number;
  readonly load: number;
}

interface Bindings {
  readonly rounds: readonly Round[];
  readonly ratioOfMedians: number;
  readonly medianOfRatios: number;
}

async function bindInTurns(cluster: KubeCluster, plane: ControlPlaneProcess): Promise<Bindings> {
  // The code of a new process is not compiled yet, and that of the client has created all nodes and pods.
  const first = await gangRun(cluster, plane, "first");
  const alone = async (round: number): Promise<number> => {
    await delay(SETTLE_MS);
    process.kill(plane.pid, "SIGSTOP");
    try {
      return await ownRate(cluster, first, round);
    } finally {
      process.kill(plane.pid, "SIGCONT");
    }
  };
  const clientRates = [await alone(0)];
  const rounds: Round[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    // The control plane takes in what has changed meanwhile.
    await delay(SETTLE_MS);
    const { rate, calls, cpuMs } = await gangRun(cluster, plane, `gang-${round}`);
    const load = loadavg()[0] ?? 0;
    const after = await alone(round);
    const serverRate = (after + (clientRates.at(-1) ?? after)) / 2;
    clientRates.push(after);
    rounds.push({ rate, serverRate, ratio: rate / serverRate, cpuMs, load });
    note(
      `round ${round}: ${rate.toFixed(0)} bindings/s of ${serverRate.toFixed(0)}; ${cpuMs} ms of processor time; load ${load}`,
    );
    if (round === 1) note(`calls of the control plane: ${calls}`);
  }
  return {
    rounds,
    ratioOfMedians: median(rounds.map(({ rate }) => rate)) / median(clientRates),
    medianOfRatios: median(rounds.map(({ ratio }) => ratio)),
  };
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
