import { nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { readCluster } from "./slurm/executor/cluster-nodes.ts";
import { slurmSignals } from "./slurm/executor/node-signals.ts";
import { pastSlurmSignals } from "./slurm/executor/past-node-signals.ts";
import { kubernetesSignals, pastKubernetesSignals } from "./kubernetes/fleet/node-signals.ts";

const slurm = (state: string, reason: string | null = null) =>
  slurmSignals([{ name: "n1", state, reason }], (name) => nodeId(`hpc-${name}`))[0];
const kube = (conditions: readonly object[], spec: object = {}) =>
  kubernetesSignals([{ metadata: { name: "n1" }, spec, status: { conditions } } as never], [{ key: "own" }], (name) =>
    nodeId(`k8s-${name}`),
  );

describe("signals of Slurm", () => {
  it("names states with their reasons, and none for nodes in service or in power saving", () => {
    expect(slurm("idle")).toBeUndefined();
    expect(slurm("mixed+planned")).toBeUndefined();
    expect(slurm("idle+cloud+powered_down")).toBeUndefined();
    expect(slurm("down", "Not responding [slurm@2026-11-29T10:00:00]")).toMatchObject({
      nodeId: "hpc-n1",
      code: "slurm-down",
      severity: "critical",
      detail: expect.stringContaining("Not responding"),
    });
    expect(slurm("mixed+drain", "gpu 3 fell off the bus")?.code).toBe("slurm-drain");
    expect(slurm("idle+drain+invalid_reg", "gres/gpu count reported lower than configured (7 < 8)")?.code).toBe(
      "slurm-invalid-registration",
    );
    expect(slurm("down+cloud")?.code).toBe("slurm-down");
    expect(slurm("mixed+drain+planned")?.code).toBe("slurm-drain");
    expect(slurm("failing")?.severity).toBe("critical");
  });

  it("shortens reasons, and removes control characters", () => {
    const detail = slurm("drain", `${"x".repeat(50_000)}\u001B[2J\n`)?.detail ?? "";
    expect(detail.length).toBeLessThan(400);
    expect(slurm("drain", "a\u001B[31mb\u202Ec\nd")?.detail).toContain("a [31mb c d");
  });

  it("are part of the reading of a cluster, without drains of this executor", () => {
    const node = (name: string, state: string, reason: string): string =>
      `NodeName=${name} Arch=x86_64 CoresPerSocket=8\n   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=0.00\n   NodeAddr=${name} NodeHostName=${name}\n   RealMemory=1000 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1\n   State=${state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n   Partitions=main\n   Reason=${reason}\n\n`;
    const answers = {
      nodes:
        node("n1", "IDLE+DRAIN", "bad fan [root@2026-11-29T10:00:00]") +
        node("n2", "IDLE+DRAIN", "headroom: drained [root@2026-11-29T10:00:00]"),
      partitions: "PartitionName=main AllowGroups=ALL Nodes=n[1-2] State=UP\n",
      topology: "",
    };
    const { signals } = readCluster(answers, "hpc", null, "headroom");
    expect(signals.map(({ nodeId: id, code }) => `${id} ${code}`)).toEqual(["hpc-n1 slurm-drain"]);
  });
});

describe("signals of Kubernetes", () => {
  it("reads conditions of the kubelet and of the node-problem-detector", () => {
    const ready = { type: "Ready", status: "True" };
    expect(
      kube([ready, { type: "MemoryPressure", status: "False" }, { type: "KernelDeadlock", status: "False" }]),
    ).toEqual([]);
    const bad = kube([
      {
        type: "Ready",
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      },
      { type: "DiskPressure", status: "True", reason: "KubeletHasDiskPressure" },
      { type: "KernelDeadlock", status: "True", reason: "DockerHung" },
      { type: "GpuXid79Seen", status: "True" },
      { type: "FabricHealthy", status: "False" },
      { type: "CustomReady", status: "True" },
    ]);
    expect(bad.map(({ code, severity }) => `${code} ${severity}`)).toEqual([
      "k8s-not-ready critical",
      "k8s-disk-pressure warning",
      "k8s-kernel-deadlock critical",
      "k8s-gpu-xid79-seen warning",
      "k8s-fabric-healthy warning",
    ]);
    expect(kube([ready], { unschedulable: true }).map(({ code }) => code)).toEqual(["k8s-cordoned"]);
    const taints = [
      { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
      { key: "nvidia.com/gpu", effect: "NoSchedule" },
      { key: "own", effect: "NoSchedule" },
      { key: "soft", effect: "PreferNoSchedule" },
      { key: "repair.example/ecc", value: "page\u0000d", effect: "NoExecute" },
      { key: "team", value: "b", effect: "NoSchedule" },
    ];
    expect(kube([ready], { taints }).map(({ code, severity }) => `${code} ${severity}`)).toEqual([
      "k8s-taint-repair-example-ecc warning",
      "k8s-taint-team info",
    ]);
    expect(kube([ready], { taints })[0]?.detail).toMatch(
      /^the node has the taint repair\.example\/ecc=page d:NoExecute; /,
    );
  });

  it("bounds conditions by number and length, and takes any name", () => {
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      type: `C${at}\u0000${"y".repeat(10_000)}`,
      status: "True",
      message: "z".repeat(100_000),
    }));
    const signals = kube(many);
    expect(signals).toHaveLength(16);
    for (const { code, detail } of signals) {
      expect(code).toMatch(/^k8s-[a-z0-9-]{1,80}$/);
      expect(detail.length).toBeLessThan(400);
    }
  });
});

describe("signals that ended in a period", () => {
  const at = (time: string): string => `2026-11-30T${time}Z`;
  const period = { fromMs: Date.parse(at("10:00:00")), untilMs: Date.parse(at("11:00:00")) };

  const past = (conditions: readonly object[], creationTimestamp = "2026-11-01T00:00:00Z"): readonly string[] =>
    pastKubernetesSignals(
      [{ metadata: { name: "n1", creationTimestamp }, status: { conditions } } as never],
      period,
      (name) => nodeId(`k8s-${name}`),
    ).signals.map(({ nodeId: id, code, severity }) => `${id} ${code} ${severity}`);

  it("are conditions of Kubernetes that became good in it", () => {
    const ended = { type: "KernelDeadlock", status: "False", lastTransitionTime: at("10:20:00") };
    expect(past([ended, { type: "DiskPressure", status: "False", lastTransitionTime: at("09:00:00") }])).toEqual([
      "k8s-n1 k8s-kernel-deadlock critical",
    ]);
    expect(past([{ ...ended, lastTransitionTime: at("11:00:01") }])).toEqual([]);
    // It stands: the next look reports it.
    expect(past([{ ...ended, status: "True" }])).toEqual([]);
    // The first conditions of a node that joined.
    expect(past([ended], at("10:10:00"))).toEqual([]);
    // A kubelet that was silent reports all its conditions again; another one ended long after.
    const pressure = { type: "MemoryPressure", status: "False", lastTransitionTime: at("10:30:02") };
    const ready = { type: "Ready", status: "True", lastTransitionTime: at("10:30:00") };
    expect(past([pressure, ready])).toEqual(["k8s-n1 k8s-not-ready critical"]);
    expect(past([{ ...pressure, lastTransitionTime: at("10:50:00") }, ready])).toEqual([
      "k8s-n1 k8s-memory-pressure warning",
      "k8s-n1 k8s-not-ready critical",
    ]);
  });

  const nodes = { ids: new Map([["n1", nodeId("hpc-n1")]]), drainMark: "headroom-1" };

  it("are events of slurmdbd that ended in it", () => {
    const text = [
      "n1|DOWN*|2026-11-30T10:05:00|2026-11-30T10:20:00|Not responding",
      "n1|DRAIN|2026-11-30T09:05:00|2026-11-30T10:30:00|fan 3|left",
      "n1|DRAIN|2026-11-30T10:31:00|2026-11-30T10:32:00|headroom-1: drained in Headroom",
      "n1|DRAIN|2026-11-30T10:40:00|Unknown|bad fan",
      "n1|DOWN|2026-11-30T08:00:00|2026-11-30T09:59:59|earlier",
      "n9|DOWN|2026-11-30T10:05:00|2026-11-30T10:20:00|of another executor",
      "",
    ].join("\n");
    const { signals } = pastSlurmSignals({ kind: "events", text }, period, nodes);
    expect(signals).toMatchObject([
      { nodeId: "hpc-n1", code: "slurm-down", severity: "critical", endedAtMs: Date.parse(at("10:20:00")) },
      { nodeId: "hpc-n1", code: "slurm-drain", detail: expect.stringContaining("fan 3|left") },
    ]);
  });

  it("are restarts of nodes without slurmdbd, and what is not known is stated", () => {
    const line = (boot: string, start: string): string =>
      `NodeName=n1 Arch=x86_64 State=IDLE BootTime=${boot} SlurmdStartTime=${start} LastBusyTime=None\n`;
    const read = (boot: string, start: string) =>
      pastSlurmSignals({ kind: "nodes", text: line(boot, start), failure: null }, period, nodes);
    expect(read("2026-11-30T10:20:00", "2026-11-30T10:21:00").signals).toMatchObject([
      { code: "slurm-rebooted", endedAtMs: Date.parse(at("10:20:00")) },
    ]);
    expect(read("2026-11-01T10:20:00", "2026-11-30T10:21:00").signals).toMatchObject([{ code: "slurmd-restarted" }]);
    expect(read("None", "Unknown")).toMatchObject({
      signals: [],
      unknown: expect.stringContaining("no accounting"),
      isPartial: false,
    });
    const text = line("2026-11-30T10:20:00", "2026-11-30T10:21:00");
    expect(pastSlurmSignals({ kind: "nodes", text, failure: "Connection refused" }, period, nodes)).toMatchObject({
      signals: [{ code: "slurm-rebooted" }],
      unknown: expect.stringContaining("did not answer (Connection refused), so only restarts"),
      isPartial: true,
    });
  });
});
