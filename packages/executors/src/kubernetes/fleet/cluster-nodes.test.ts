import { describe, expect, it } from "vitest";
import { isWithdrawnDetail, nodeId } from "@headroom/model";
import type { KubernetesNode, KubernetesPod } from "../api/objects.ts";
import { kubernetesSettings } from "../settings.ts";
import { readCluster } from "./cluster-nodes.ts";

const READY = { type: "Ready", status: "True" };

interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, string>>;
  readonly spec?: NonNullable<KubernetesNode["spec"]>;
  readonly conditions?: NonNullable<KubernetesNode["status"]>["conditions"];
}

const node = (
  name: string,
  { labels = {}, resources = {}, spec = {}, conditions = [READY] }: NodeParts = {},
): KubernetesNode => ({
  metadata: { name, labels },
  spec,
  status: {
    allocatable: { cpu: "63500m", memory: "515899392Ki", pods: "110", ...resources },
    conditions: conditions ?? [],
  },
});

const gpus = { "nvidia.com/gpu": "8" };
const h100 = { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" };

const pod = (
  name: string,
  nodeName: string,
  requests: Record<string, string>,
  phase = "Running",
  isOwn = false,
): KubernetesPod => ({
  metadata: { name, namespace: "x", labels: isOwn ? { own: "yes" } : {} },
  spec: { nodeName, containers: [{ name: "main", resources: { requests } }] },
  status: { phase },
});

const read = (nodes: readonly KubernetesNode[], pods: readonly KubernetesPod[] = [], settings: object = {}) =>
  readCluster(
    { nodes, pods, isOwn: ({ metadata }) => metadata.labels?.["own"] === "yes" },
    "kube",
    kubernetesSettings.parse(settings),
  );

describe("the inventory of a Kubernetes cluster", () => {
  it("reads allocatable amounts, pools by type, and labels as levels of the fabric", () => {
    const labels = { ...h100, "topology.kubernetes.io/zone": "z1", "net.example/leaf": "l7" };
    const fabricLabels = ["topology.kubernetes.io/zone", "net.example/leaf"];
    const { inventory } = read([node("a", { labels, resources: gpus }), node("b")], [], { fabricLabels });
    expect(inventory.sites).toEqual([{ name: "kube", fabricLevels: ["zone", "leaf"] }]);
    expect(inventory.pools).toMatchObject([
      { name: "kube-h100-sxm-80gb", acceleratorType: "H100-SXM-80GB", acceleratorFamily: "H100" },
      { name: "kube-cpu", acceleratorType: "" },
    ]);
    expect(inventory.nodes).toMatchObject([
      {
        id: "kube-a",
        fabric: ["z1", "l7"],
        acceleratorCount: 8,
        coresMilli: 63_500,
        memoryMib: 503_808,
        workersMax: 110,
        labels: { "kubernetes.node": "a", "topology.kubernetes.io/zone": "z1" },
      },
      { id: "kube-b", fabric: [], acceleratorCount: 0 },
    ]);
  });

  it.for([
    [gpus, {}, "nvidia"],
    [gpus, { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-SHARED" }, "A100-SXM-80GB"],
    [gpus, { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" }, "H100-SXM-80GB-MIG-1g.10gb"],
    [{ "nvidia.com/mig-3g.40gb": "2" }, h100, "H100-SXM-80GB-MIG-3g.40gb"],
    [{ "google.com/tpu": "4" }, { "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice" }, "TPU-v5e"],
    [{ "example.com/npu": "4" }, {}, "NPU1"],
  ] as const)("names the accelerators of %j with %j", ([resources, labels, type]) => {
    const settings = { accelerators: { "example.com/npu": "NPU1" } };
    const { inventory } = read([node("a", { resources, labels })], [], settings);
    expect(inventory.pools.map(({ acceleratorType }) => acceleratorType)).toEqual([type]);
  });

  it("uses the most frequent kind of accelerator of a node, and names the others", () => {
    const resources = { "nvidia.com/mig-1g.10gb": "7", "nvidia.com/gpu": "1" };
    const { inventory, notes } = read([node("a", { resources, labels: h100 })]);
    expect(inventory.nodes[0]?.acceleratorCount).toBe(7);
    expect(notes).toEqual(["The node a has further accelerators that are not used: nvidia.com/gpu."]);
  });

  it.for([
    [
      { conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" }] },
      /not ready \(NodeStatusUnknown\)/,
    ],
    [{ conditions: [] }, /not ready/],
    [{ spec: { unschedulable: true } }, /cordoned/, true],
    [{ spec: { taints: [{ key: "team", value: "b", effect: "NoSchedule" }] } }, /the taint team=b:NoSchedule/, true],
    [
      { spec: { taints: [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }] } },
      /the taint node.kubernetes.io.network-unavailable/,
    ],
    [{ conditions: [{ type: "Ready", status: "False" }], spec: { unschedulable: true } }, /not ready/],
  ] as const)("leaves out a node with %j, with the reason", ([parts, reason, isWithdrawn = false]) => {
    const { inventory, nodes } = read([node("a", parts), node("b")]);
    expect(inventory.nodes.map(({ id }) => id)).toEqual(["kube-b"]);
    const why = nodes.get(nodeId("kube-a"))?.outOfService ?? "";
    expect([why, isWithdrawnDetail(why)]).toEqual([expect.stringMatching(reason), isWithdrawn]);
  });

  it("keeps nodes whose taints are tolerated, only preferred, or repeat the condition", () => {
    const taints = [
      { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" },
      { key: "team", value: "a", effect: "NoExecute" },
      { key: "soft", effect: "PreferNoSchedule" },
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ];
    const tolerations = [{ key: "team", operator: "Equal", value: "a" }];
    expect(read([node("a", { spec: { taints } })], [], { tolerations }).inventory.nodes).toHaveLength(1);
  });

  it("keeps a cordoned node with own work for no more than that work", () => {
    const pods = [pod("p", "a", gpus, "Running", true), pod("q", "a", {}, "Succeeded", true)];
    const { inventory } = read([node("a", { spec: { unschedulable: true }, resources: gpus })], pods);
    expect(inventory.nodes).toMatchObject([{ id: "kube-a", workersMax: 1 }]);
  });

  it("counts what pods of others request until they end", () => {
    const pods = [
      pod("p", "a", { "nvidia.com/gpu": "2", cpu: "500m", memory: "1Gi" }),
      pod("ended", "a", gpus, "Failed"),
      pod("own", "a", gpus, "Running", true),
      { ...pod("unbound", "a", gpus), spec: { containers: [] } },
    ];
    const { nodes } = read([node("a", { resources: gpus })], pods);
    expect(nodes.get(nodeId("kube-a"))?.foreign).toEqual({
      accelerators: 2,
      coresMilli: 500,
      memoryMib: 1_024,
      pods: 1,
    });
  });

  it("takes the largest init container and the overhead into account, as kube-scheduler does", () => {
    const foreign: KubernetesPod = {
      metadata: { name: "p", namespace: "x" },
      spec: {
        nodeName: "a",
        containers: [
          { name: "m", resources: { limits: { cpu: "1" } } },
          { name: "n", resources: { requests: { cpu: "1" } } },
        ],
        initContainers: [{ name: "i", resources: { requests: { cpu: "3" } } }],
        overhead: { cpu: "250m" },
      },
      status: { phase: "Pending" },
    };
    expect(read([node("a")], [foreign]).nodes.get(nodeId("kube-a"))?.foreign.coresMilli).toBe(3_250);
  });

  it("uses only the selected nodes", () => {
    const nodes = [node("a", { labels: { pool: "ai" } }), node("b")];
    expect(read(nodes, [], { nodeSelector: { pool: "ai" } }).inventory.nodes.map(({ id }) => id)).toEqual(["kube-a"]);
  });

  it("counts requests of others as the kubelet does: sidecars, whole pods, and sums that are not rounded down", () => {
    const container = (name: string, requests: Record<string, string>, restartPolicy?: string) => ({
      name,
      resources: { requests },
      ...(restartPolicy === undefined ? {} : { restartPolicy }),
    });
    const sidecars: KubernetesPod = {
      metadata: { name: "s", namespace: "x" },
      spec: {
        nodeName: "a",
        initContainers: [container("proxy", { cpu: "500m" }, "Always"), container("setup", { cpu: "700m" })],
        containers: [container("main", { cpu: "1" })],
      },
    };
    const wholePod: KubernetesPod = {
      metadata: { name: "w", namespace: "x" },
      spec: { nodeName: "b", containers: [container("main", {})], resources: { requests: { cpu: "2" } } },
    };
    const small = Array.from({ length: 10 }, (_, at) => pod(`p${at}`, "c", { memory: "70M", cpu: "1m" }));
    const { inventory } = read([node("a"), node("b"), node("c")], [sidecars, wholePod, ...small]);
    expect(inventory.foreignUse).toEqual([
      { nodeId: "kube-a", accelerators: 0, coresMilli: 1_500, memoryMib: 0 },
      { nodeId: "kube-b", accelerators: 0, coresMilli: 2_000, memoryMib: 0 },
      // 700 MB are 667.57 MiB.
      { nodeId: "kube-c", accelerators: 0, coresMilli: 10, memoryMib: 668 },
    ]);
  });

  it("counts the rest of a cordoned node as used while it runs own work, so that none is placed there", () => {
    const cordoned = node("a", { labels: h100, resources: gpus, spec: { unschedulable: true } });
    const own = pod("own", "a", { "nvidia.com/gpu": "2", cpu: "3500m", memory: "1Gi" }, "Running", true);
    const { inventory } = read([cordoned], [own]);
    const rest = { accelerators: 6, coresMilli: 60_000, memoryMib: 502_784 };
    expect(inventory.foreignUse).toEqual([{ nodeId: "kube-a", ...rest }]);
  });
});
