/**
 * Plays the kubelets of some nodes: runs the pods that are bound to them as processes of this machine, reports their states, and serves
 * their logs. Each container has a PID namespace, so that its first process is process 1 and its end ends all. Logs are kept and given out
 * as by containerd and the kubelet: whole lines, each with a time, standard output and error as one.
 */
import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import type { Server } from "node:https";
import { createServer } from "node:https";
import path from "node:path";
import type { ServerResponse } from "node:http";
import type { KubernetesPod } from "../api/objects.ts";
import { objectKey } from "../api/objects.ts";
import { Reflector } from "../api/reflector.ts";
import { Connection } from "../api/connection.ts";
import { serveExec } from "./exec-server.ts";
import type { KubeCluster } from "./kube-cluster.ts";
import { freePorts } from "./kube-cluster.ts";

interface FullPod extends KubernetesPod {
  readonly spec: NonNullable<KubernetesPod["spec"]> & {
    readonly containers: readonly {
      readonly name: string;
      readonly command: readonly string[];
      readonly args?: readonly string[];
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
    }[];
  };
}

interface Running {
  readonly key: string;
  readonly startedAt: string;
  child: ChildProcess;
  exit: { readonly exitCode: number; readonly finishedAt: string } | null;
  killTimer: NodeJS.Timeout | null;
  killAtMs: number;
  isKilled: boolean;
  readonly logFile: string;
  readonly waiting: Set<() => void>;
}

export interface NodeShape {
  readonly gpus: number;
  readonly cpus: number;
  readonly memory: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The host name of a pod is its own name, as far as a host name may be long. */
const NAMED = 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"';
const HOST_NAME_MAX = 63;
const HEARTBEAT_MS = 2_000;
const NODE_PATH = "/api/v1/nodes";

export class TestKubelet {
  readonly nodes: readonly string[];
  readonly #cluster: KubeCluster;
  readonly #running = new Map<string, Running>();
  readonly #silent = new Set<string>();
  readonly #reflector: Reflector<KubernetesPod>;
  readonly #connection: Connection;
  readonly #pods = new Map<string, FullPod>();
  /** Pods whose status is being written, and whether it must be written once more. */
  readonly #syncing = new Map<string, boolean>();
  #server: Server | null = null;
  #port = 0;
  #timer: NodeJS.Timeout | null = null;

  private constructor(cluster: KubeCluster, nodes: readonly string[]) {
    this.#cluster = cluster;
    this.nodes = nodes;
    this.#connection = new Connection({ kubeconfig: cluster.kubeconfig, requestTimeoutMs: 20_000 });
    this.#reflector = new Reflector<KubernetesPod>({
      connection: this.#connection,
      path: "/api/v1/pods",
      watchMs: 60_000,
      keep: (pod) => pod,
      onChange: (pod) => {
        for (const each of pod === null ? this.#reflector.items.values() : [pod]) this.#note(each as FullPod);
      },
    });
  }

  static async start(cluster: KubeCluster, nodes: readonly string[], shape: NodeShape): Promise<TestKubelet> {
    const kubelet = new TestKubelet(cluster, nodes);
    await kubelet.#serve();
    for (const node of nodes) await kubelet.addNode(node, shape);
    kubelet.#reflector.start();
    kubelet.#timer = setInterval(() => void kubelet.#beat(), HEARTBEAT_MS);
    return kubelet;
  }

  async addNode(name: string, shape: NodeShape): Promise<void> {
    const metadata = { name, labels: { "kubernetes.io/hostname": name, ...shape.labels } };
    await this.#cluster.call({ method: "POST", path: NODE_PATH, body: { apiVersion: "v1", kind: "Node", metadata } });
    const capacity = {
      cpu: String(shape.cpus),
      memory: shape.memory,
      pods: "250",
      "nvidia.com/gpu": String(shape.gpus),
    };
    await this.#patchNode(name, {
      capacity,
      allocatable: capacity,
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: this.#port } },
      ...this.#ready(),
    });
  }

  /** The kubelet of the node stops reporting; its containers go on. */
  silence(node: string): void {
    this.#silent.add(node);
  }

  async unsilence(node: string): Promise<void> {
    this.#silent.delete(node);
    await this.#beat();
    for (const pod of this.#pods.values()) this.#note(pod);
  }

  /** Number of containers that run at present. */
  get runningCount(): number {
    return [...this.#running.values()].filter(({ exit }) => exit === null).length;
  }

  /** The node of a container that runs. */
  nodeOfRunning(): string {
    const running = [...this.#running.values()].find(({ exit }) => exit === null);
    return this.#pods.get(running?.key ?? "")?.spec.nodeName ?? "";
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const running of this.#running.values()) if (running.exit === null) running.child.kill("SIGKILL");
    await this.#reflector.close();
    this.#connection.close();
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  #ready(): object {
    const now = new Date().toISOString();
    return {
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "KubeletReady",
          message: "test",
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    };
  }

  async #beat(): Promise<void> {
    for (const node of this.nodes)
      if (!this.#silent.has(node)) await this.#patchNode(node, this.#ready()).catch(() => undefined);
  }

  #patchNode(name: string, status: object): Promise<unknown> {
    const contentType = "application/merge-patch+json";
    return this.#cluster.call({ method: "PATCH", path: `${NODE_PATH}/${name}/status`, body: { status }, contentType });
  }

  #note(pod: FullPod): void {
    const node = pod.spec.nodeName;
    if (node === undefined || !this.nodes.includes(node)) return;
    const key = objectKey(pod.metadata);
    this.#pods.set(key, pod);
    if (this.#silent.has(node)) return;
    if (!this.#running.has(key) && pod.metadata.deletionTimestamp === undefined && pod.status?.phase === "Pending")
      this.#run(key, pod);
    const running = this.#running.get(key);
    if (running !== undefined && pod.metadata.deletionTimestamp !== undefined) this.#end(running, pod);
    this.#sync(key);
  }

  #run(key: string, pod: FullPod): void {
    const [container] = pod.spec.containers;
    if (container === undefined) return;
    const logFile = path.join(this.#cluster.directory, `log-${pod.metadata.uid}`);
    const env = Object.fromEntries((container.env ?? []).map(({ name, value = "" }) => [name, expanded(value)]));
    const child = spawn(
      "unshare",
      [
        "--pid",
        "--fork",
        "--mount",
        "--mount-proc",
        "--uts",
        "--kill-child=KILL",
        "/bin/sh",
        "-c",
        NAMED,
        pod.metadata.name.slice(0, HOST_NAME_MAX),
        ...container.command.map(expanded),
        ...(container.args ?? []).map(expanded),
      ],
      { env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env }, stdio: ["ignore", "pipe", "pipe"], cwd: "/" },
    );
    const running: Running = {
      key,
      startedAt: now(),
      child,
      exit: null,
      killTimer: null,
      killAtMs: Infinity,
      isKilled: false,
      logFile,
      waiting: new Set(),
    };
    this.#running.set(key, running);
    closeSync(openSync(logFile, "a"));
    const written = [child.stdout, child.stderr].map((stream) => this.#copyLog(stream, running));
    child.once("error", () => this.#ended(running, 128));
    child.once("close", (code, signal) => {
      void Promise.all(written).then(() =>
        this.#ended(running, running.isKilled ? 137 : (code ?? (signal === "SIGKILL" ? 137 : 143))),
      );
    });
  }

  /** containerd writes whole lines; what is left at the end has no line end. */
  async #copyLog(stream: NodeJS.ReadableStream | null, { logFile, waiting }: Running): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const piece of (stream ?? []) as AsyncIterable<Buffer>) {
      rest = Buffer.concat([rest, piece]);
      const end = rest.lastIndexOf(10) + 1;
      if (end === 0) continue;
      const time = nanoTime();
      const lines = rest
        .subarray(0, end)
        .toString("latin1")
        .replaceAll(/^(?=.|\n)/gm, `${time} `);
      rest = rest.subarray(end);
      // The last match is the empty text after the last line end.
      await appendFile(
        logFile,
        Buffer.from(lines.endsWith(`${time} `) ? lines.slice(0, -time.length - 1) : lines, "latin1"),
      );
      for (const wake of waiting) wake();
    }
    if (rest.length > 0) await appendFile(logFile, Buffer.concat([Buffer.from(`${nanoTime()} `), rest]));
  }

  /** SIGTERM to the first process, and SIGKILL at the end of the grace period; a later deletion can only shorten it. */
  #end(running: Running, { metadata }: FullPod): void {
    if (running.exit !== null) return;
    const killAtMs = Date.parse(metadata.deletionTimestamp ?? "");
    if (killAtMs >= running.killAtMs) return;
    if (running.killAtMs === Infinity) signalFirst(running.child.pid, "TERM");
    running.killAtMs = killAtMs;
    if (running.killTimer !== null) clearTimeout(running.killTimer);
    const kill = (): void => {
      running.isKilled = true;
      signalFirst(running.child.pid, "KILL");
    };
    running.killTimer = setTimeout(kill, Math.max(0, killAtMs - Date.now()));
  }

  #ended(running: Running, exitCode: number): void {
    if (running.exit !== null) return;
    running.exit = { exitCode, finishedAt: now() };
    if (running.killTimer !== null) clearTimeout(running.killTimer);
    for (const wake of running.waiting) wake();
    this.#sync(running.key);
  }

  #sync(key: string): void {
    if (this.#syncing.has(key)) {
      this.#syncing.set(key, true);
      return;
    }
    this.#syncing.set(key, false);
    void this.#syncOnce(key)
      .catch(async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        this.#syncing.set(key, true);
      })
      .finally(() => {
        const again = this.#syncing.get(key) === true;
        this.#syncing.delete(key);
        if (again && this.#timer !== null && !this.#connectionClosed()) this.#sync(key);
      });
  }

  #connectionClosed(): boolean {
    return this.#server === null || !this.#server.listening;
  }

  async #syncOnce(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    const running = this.#running.get(key);
    if (pod === undefined || this.#silent.has(pod.spec.nodeName ?? "")) return;
    const path = `/api/v1/namespaces/${pod.metadata.namespace ?? ""}/pods/${pod.metadata.name}`;
    if (running !== undefined) {
      const status = statusOf(running, pod);
      if (
        JSON.stringify(pod.status?.containerStatuses?.[0]?.state) !== JSON.stringify(status.containerStatuses[0]?.state)
      )
        await this.#patch(`${path}/status`, { status });
    }
    const isOver = running === undefined ? pod.metadata.deletionTimestamp !== undefined : running.exit !== null;
    // The kubelet confirms the end of a deleted pod by a deletion without grace.
    if (isOver && pod.metadata.deletionTimestamp !== undefined && pod.metadata.deletionGracePeriodSeconds !== 0)
      await this.#connection.call({ method: "DELETE", path, body: { gracePeriodSeconds: 0 } });
  }

  async #patch(path: string, body: object): Promise<void> {
    const { status } = await this.#connection.call({
      method: "PATCH",
      path,
      body,
      contentType: "application/merge-patch+json",
    });
    if (status >= 400 && status !== 404) throw new Error(`status ${status}`);
  }

  /** `GET /containerLogs/NAMESPACE/POD/CONTAINER`, as the API server asks kubelets. */
  async #serve(): Promise<void> {
    const [key, certificate] = [
      path.join(this.#cluster.directory, "kubelet.key"),
      path.join(this.#cluster.directory, "kubelet.crt"),
    ];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        certificate,
        "-subj",
        "/CN=127.0.0.1",
        "-days",
        "2",
      ],
      { stdio: "ignore" },
    );
    const [port = 0] = await freePorts(1);
    this.#port = port;
    this.#server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
      const url = new URL(request.url ?? "/", "https://kubelet");
      const [, what, namespace = "", pod = ""] = url.pathname.split("/");
      const running = this.#running.get(`${namespace}/${pod}`);
      if (what !== "containerLogs" || running === undefined) {
        response.writeHead(404).end();
        return;
      }
      void this.#sendLog(running, url.searchParams, response).catch(() => response.destroy());
    });
    this.#server.on("upgrade", (request, socket) =>
      serveExec(request, socket, (container, command) => this.#exec(container, command)),
    );
    this.#server.listen(port, "127.0.0.1");
    await new Promise((resolve) => this.#server?.once("listening", () => resolve(undefined)));
  }

  /** A command beside the first process of the container, which is the child of `unshare`. */
  #exec(container: string, command: readonly string[]): ChildProcess | null {
    const { child, exit } = this.#running.get(container) ?? {};
    if (child?.pid === undefined || exit !== null) return null;
    const first = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0] ?? "";
    return spawn("nsenter", ["--target", first, "--pid", "--mount", "--uts", ...command], { stdio: "pipe", cwd: "/" });
  }

  async #sendLog(running: Running, query: URLSearchParams, response: ServerResponse): Promise<void> {
    response.writeHead(200, { "content-type": "text/plain" });
    response.flushHeaders();
    const since = query.get("sinceTime");
    const sinceMs = since === null ? -Infinity : Date.parse(since);
    let offset = 0;
    let isAfter = since === null;
    for (;;) {
      const isLast = running.exit !== null || query.get("follow") !== "true";
      const text = (await readFile(running.logFile)).subarray(offset);
      offset += text.length;
      let from = 0;
      while (!isAfter && from < text.length) {
        if (Date.parse(text.toString("latin1", from, text.indexOf(32, from))) >= sinceMs) isAfter = true;
        else from = text.indexOf(10, from) + 1 || text.length;
      }
      if (isAfter && from < text.length && !response.write(text.subarray(from)))
        await new Promise((resolve) => response.once("drain", resolve));
      if (isLast && text.length === 0) break;
      if (isLast || text.length > 0) continue;
      if (response.destroyed) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => wake(), 500);
        const wake = (): void => {
          clearTimeout(timer);
          response.off("close", wake);
          running.waiting.delete(wake);
          resolve();
        };
        running.waiting.add(wake);
        response.once("close", wake);
      });
    }
    response.end();
  }
}

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, "Z");

/** A time with nine digits after the second, as containerd writes it. */
const nanoTime = (): string => new Date().toISOString().replace(/Z$/, "000000Z");

/** `$$` stands for `$` (kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables). */
const expanded = (text: string): string => text.replaceAll("$$", () => "$");

interface PodStatus {
  readonly phase: string;
  readonly containerStatuses: readonly { readonly state: object }[];
}

function statusOf({ exit, startedAt }: Running, pod: FullPod): PodStatus {
  const name = pod.spec.containers[0]?.name ?? "worker";
  const shared = { name, image: "test", imageID: "", restartCount: 0 };
  if (exit === null)
    return {
      phase: "Running",
      containerStatuses: [{ ...shared, ready: true, state: { running: { startedAt } } } as never],
    };
  const terminated = {
    exitCode: exit.exitCode,
    reason: exit.exitCode === 0 ? "Completed" : "Error",
    startedAt,
    finishedAt: exit.finishedAt,
  };
  const phase = exit.exitCode === 0 ? "Succeeded" : "Failed";
  return {
    phase,
    containerStatuses: [{ ...shared, ready: false, state: { running: null, waiting: null, terminated } } as never],
  };
}

/** The first process of a container is the child of `unshare`, which this shell becomes. */
function signalFirst(pid: number | undefined, signal: "TERM" | "KILL"): void {
  if (pid === undefined) return;
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    for (const child of children) if (child !== "") process.kill(Number(child), `SIG${signal}`);
  } catch {
    // It has just ended.
  }
}
