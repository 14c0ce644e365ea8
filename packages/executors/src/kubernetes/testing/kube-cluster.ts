/**
 * A real API server and controller manager with etcd, in a directory of its own, for tests. There is no kubelet and no scheduler: nodes are
 * objects that the test writes, and `test-kubelet.ts` runs their pods as processes of this machine.
 */
import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir, tmpdir, userInfo } from "node:os";
import path from "node:path";
import { freePortsIn } from "../../conformance/free-ports.ts";
import { Connection } from "../api/connection.ts";
import type { ApiRequest } from "../api/connection.ts";
import { rightsManifest } from "../manifest.ts";

/** Time limit in ms of the hook that starts a cluster, with the build of the server. */
export const CLUSTER_START_MS = 20 * 60_000;
const START_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 100;
const LOG_SHOWN = 1_000;
/** Ports below those that Linux uses for outgoing connections (ip(7)). */
const PORTS = { first: 17_000, size: 90 };

/** Metadata of calls about pods, each with its time in µs (kubernetes.io/docs/tasks/debug/debug-cluster/audit). */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Metadata",
      verbs: ["create", "update", "patch", "delete", "get"],
      resources: [{ group: "", resources: ["pods", "pods/*", "services", "events"] }],
    },
    { level: "None" },
  ],
};

interface KindedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
}

/** The folder into which `tools/kubernetes/build-server` builds. */
const serverDir = (): string =>
  path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "headroom/kubernetes-1.20");
const etcdPath = "/usr/bin/etcd";

/** Why a test of a real API server cannot run here; `null`: it can. */
export function whyNoKubernetes(): string | null {
  if (!existsSync(etcdPath)) return "etcd is not installed; Debian: etcd-server";
  if (existsSync(serverPath()) || canBuild()) return null;
  return `${serverPath()} is not there; tools/kubernetes/build-server builds it`;
}

const serverPath = (): string => path.join(serverDir(), "kube-apiserver");

/** CI builds the server once; it stays outside the clone. */
const canBuild = (): boolean =>
  process.env["CI"] !== undefined && userInfo().uid === 0 && existsSync("/usr/bin/dpkg-source");

async function buildServer(): Promise<void> {
  if (existsSync(serverPath())) return;
  process.stderr.write("kube-apiserver is being built; this takes some eight minutes\n");
  const program = path.resolve(import.meta.dirname, "../../../../../tools/kubernetes/build-server");
  const child = spawn(program, [serverDir()], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with code ${String(code)}`);
}

export class KubeCluster {
  readonly directory = mkdtempSync(path.join(tmpdir(), "headroom-kubernetes-"));
  readonly #adminToken = randomBytes(16).toString("hex");
  readonly #accountToken = randomBytes(16).toString("hex");
  readonly #daemons = new Map<string, ChildProcess>();
  #ports: readonly number[] = [];
  #connection: Connection | null = null;
  readonly #isAudited: boolean;

  private constructor(isAudited: boolean) {
    this.#isAudited = isAudited;
  }

  /** `isAudited`: the server writes calls about pods to `auditLog`. */
  static async start({ isAudited } = { isAudited: false }): Promise<KubeCluster> {
    await buildServer();
    const cluster = new KubeCluster(isAudited);
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get server(): string {
    return `https://127.0.0.1:${this.#ports[2]}`;
  }

  get auditLog(): string {
    return this.#in("audit.jsonl");
  }

  get kubeconfig(): string {
    return this.#in("kubeconfig");
  }

  /** Writes a kubeconfig of the service account for an address of the server, such as that of a proxy. */
  kubeconfigFor(server: string, name: string): string {
    const file = this.#in(name);
    writeFileSync(file, this.#configText(server, this.#accountToken), { mode: 0o600 });
    return file;
  }

  /** Creates the service account of `headroom kubernetes manifest` with its rights, for pods in the namespace `default`. */
  async #grantRights(): Promise<void> {
    const shared = { namespace: "default", podNamespaces: ["default"], image: "", storage: "" };
    const options = { ...shared, isReadOnly: false, allowsExec: true };
    for (const object of rightsManifest(options)) await this.create(object);
  }

  /** Creates an object; `isTrial`: the server checks it and keeps nothing. */
  async create(body: object, isTrial = false): Promise<void> {
    const { apiVersion, kind, metadata } = body as KindedObject;
    const group = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
    const within = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
    const path = `${group}${within}/${kind.toLowerCase()}s`;
    await this.call({ method: "POST", path, query: { dryRun: isTrial ? "All" : undefined }, body });
  }

  /** A call that must succeed. */
  async call<Body = unknown>(request: ApiRequest): Promise<Body> {
    this.#connection ??= new Connection({ kubeconfig: this.kubeconfig, requestTimeoutMs: 20_000 });
    return await this.#connection.answer<Body>(request);
  }

  async startServer(): Promise<void> {
    const [etcd, , port] = this.#ports;
    const policy = this.#in("audit-policy.json");
    if (this.#isAudited) writeFileSync(policy, JSON.stringify(AUDIT_POLICY));
    this.#daemon("kube-apiserver", path.join(serverDir(), "kube-apiserver"), [
      `--etcd-servers=http://127.0.0.1:${etcd}`,
      `--cert-dir=${this.#in("certificates")}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--service-account-key-file=${this.#in("sa.key")}`,
      `--service-account-signing-key-file=${this.#in("sa.key")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--token-auth-file=${this.#in("tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--disable-admission-plugins=ServiceAccount",
      ...(this.#isAudited ? [`--audit-policy-file=${policy}`, `--audit-log-path=${this.auditLog}`] : []),
    ]);
    await this.#until("the API server", async () => (await this.#probe()) === true);
  }

  /** Kills a daemon without notice, as a crash does. */
  async kill(name: "kube-apiserver" | "kube-controller-manager" | "etcd"): Promise<void> {
    const child = this.#daemons.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  startControllers(): void {
    this.#daemon("kube-controller-manager", path.join(serverDir(), "kube-controller-manager"), [
      `--kubeconfig=${this.kubeconfig}`,
      "--controllers=garbagecollector,podgc,nodelifecycle,endpoint,namespace",
      "--leader-elect=false",
      "--port=0",
      "--secure-port=0",
      "--node-monitor-period=1s",
      "--node-monitor-grace-period=8s",
    ]);
  }

  async stop(): Promise<void> {
    this.#connection?.close();
    for (const child of [...this.#daemons.values()].toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), END_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    }
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #start(): Promise<void> {
    this.#ports = await freePorts(3);
    const [etcd, peer] = this.#ports;
    execFileSync("openssl", ["genrsa", "-out", this.#in("sa.key"), "2048"], { stdio: "ignore" });
    const tokens = `${this.#adminToken},admin,admin,system:masters\n${this.#accountToken},system:serviceaccount:default:headroom,h\n`;
    writeFileSync(this.#in("tokens.csv"), tokens, { mode: 0o600 });
    writeFileSync(this.kubeconfig, this.#configText(this.server, this.#adminToken), { mode: 0o600 });
    this.#daemon("etcd", etcdPath, [
      `--data-dir=${this.#in("etcd")}`,
      `--listen-client-urls=http://127.0.0.1:${etcd}`,
      `--advertise-client-urls=http://127.0.0.1:${etcd}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      "--unsafe-no-fsync",
    ]);
    await this.startServer();
    this.startControllers();
    await this.#grantRights();
  }

  async #probe(): Promise<boolean> {
    const connection = new Connection({ kubeconfig: this.kubeconfig, requestTimeoutMs: 2_000 });
    try {
      const { status } = await connection.call({ method: "GET", path: "/api/v1/namespaces/default" });
      return status === 200;
    } catch {
      return false;
    } finally {
      connection.close();
    }
  }

  #configText(server: string, token: string): string {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "test",
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
      users: [{ name: "test", user: { token } }],
    });
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    while (!(await isSo())) {
      for (const [name, child] of this.#daemons)
        if (child.exitCode !== null && name !== "kube-controller-manager")
          throw new Error(`${name} has ended: ${this.#logOf(name)}`);
      if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${START_TIMEOUT_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #daemon(name: string, program: string, args: readonly string[]): void {
    const log = openSync(this.#in(`${name}.log`), "a", 0o600);
    this.#daemons.set(name, spawn(program, args, { stdio: ["ignore", log, log], cwd: this.directory }));
    closeSync(log);
  }

  #logOf(name: string): string {
    return readFileSync(this.#in(`${name}.log`), "utf8").slice(-LOG_SHOWN);
  }

  #in(name: string): string {
    return path.join(this.directory, name);
  }
}

/** Free ports for servers beside the cluster. */
export const freePorts = (count: number): Promise<number[]> => freePortsIn(PORTS, count);
