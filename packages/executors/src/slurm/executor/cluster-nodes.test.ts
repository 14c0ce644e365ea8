import { isWithdrawnDetail, nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { readCluster, type Cluster } from "./cluster-nodes.ts";
import { SilentNodes } from "./silent-nodes.ts";

const nodeLine = (name: string, more = "State=IDLE", gres = "gpu:h100:8"): string =>
  `NodeName=${name} Arch=x86_64 CPUTot=64 Gres=${gres} NodeAddr=10.0.0.${name.slice(1)} RealMemory=500000 ${more} Partitions=gpu,all \n`;
const partitions = "PartitionName=gpu Default=YES Nodes=n[1-3] State=UP\nPartitionName=all Nodes=n[1-3] State=UP\n";
const three = ["n1", "n2", "n3"].map((name) => nodeLine(name)).join("");

const read = (nodes: string, more: { readonly topology?: string; readonly wanted?: readonly string[] } = {}) =>
  readCluster({ nodes, partitions, topology: more.topology ?? "" }, "lab", more.wanted ?? null);

describe("the inventory of a cluster", () => {
  it("reads nodes, pools by partition and type, and addresses", () => {
    const { inventory, nodes } = read(three);
    expect(inventory.pools).toMatchObject([
      { name: "lab-gpu-h100", site: "lab", executor: "lab", acceleratorType: "H100" },
    ]);
    expect(inventory.nodes[0]).toMatchObject({
      id: "lab-n1",
      acceleratorCount: 8,
      coresMilli: 64_000,
      memoryMib: 500_000,
    });
    expect(nodes.get(nodeId("lab-n2"))).toMatchObject({ name: "n2", address: "10.0.0.2", gresType: "h100" });
  });

  it("throws on a list of switches that is cut off, which would move nodes in the fabric", () => {
    const topology = "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s2 Level=0 LinkSpeed=1 No";
    expect(() => read(three, { topology })).toThrow(/cut off/);
  });

  it("puts a node of several partitions into the first that is wanted", () => {
    expect(read(three, { wanted: ["all"] }).inventory.pools).toMatchObject([{ name: "lab-all-h100" }]);
    expect(read(three, { wanted: ["none"] }).inventory.nodes).toEqual([]);
  });

  it("leaves out nodes that are down or drained, with the reason, and keeps those that drain", () => {
    const { inventory, nodes, outOfService, used } = read(
      nodeLine("n1", "State=DOWN*+DRAIN Reason=bad fan [root@2026-01-31T08:15:00]") +
        nodeLine("n2", "State=MIXED+DRAIN") +
        nodeLine("n3", "State=IDLE+DRAIN Reason=Duplicate jobid [root@2026-01-31T08:15:00]"),
    );
    expect([...outOfService.keys()]).toEqual(["n1", "n3"]);
    expect(outOfService.get("n1")).toMatch(/^Slurm: down.*bad fan/);
    // A node that is down may have failed, whoever drained it; the other one was drained, and that is all.
    expect([...outOfService.values()].map(isWithdrawnDetail)).toEqual([false, true]);
    expect(inventory.nodes.map(({ id }) => id)).toEqual(["lab-n2"]);
    // Slurm starts nothing there, so nothing of it is free.
    expect(used.get("n2")).toEqual({ accelerators: 8, cores: 64, memoryMib: 500_000 });
    // A gang may have been placed on a node that has just left: its job waits in Slurm.
    expect([...nodes.keys()]).toEqual(["lab-n1", "lab-n2", "lab-n3"]);
  });

  it("keeps a node that does not respond, and gives it no new work when it goes on", () => {
    const cluster = read(nodeLine("n1", "State=IDLE*") + nodeLine("n2", "State=MIXED+NOT_RESPONDING") + nodeLine("n3"));
    expect([cluster.inventory.nodes.length, cluster.closed.size]).toEqual([3, 0]);
    const [nothing, all] = [{ accelerators: 0 }, { accelerators: 8, cores: 64, memoryMib: 500_000 }];
    const nodes = new SilentNodes();
    const usedAt = (each: Cluster, nowMs: number) => {
      const used = nodes.usedIn(each, nowMs);
      return ["n1", "n2", "n3"].map((name) => used.get(name));
    };
    // After a restart of slurmctld all nodes are silent for a moment.
    expect(usedAt(cluster, 1_000)).toMatchObject([nothing, nothing, nothing]);
    expect(usedAt(cluster, 15_000)).toMatchObject([nothing, nothing, nothing]);
    expect(usedAt(cluster, 16_000)).toMatchObject([all, all, nothing]);
    const back = read(nodeLine("n1") + nodeLine("n2", "State=MIXED+NOT_RESPONDING") + nodeLine("n3"));
    expect(usedAt(back, 17_000)).toMatchObject([nothing, all, nothing]);
    expect(usedAt(cluster, 18_000)).toMatchObject([nothing, all, nothing]);
  });

  it("reads switches as levels of the fabric, also where upper switches list all nodes", () => {
    const topology =
      "SwitchName=l1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=l2 Level=0 LinkSpeed=1 Nodes=n3\n" +
      "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=l[1-2]\n";
    const { inventory } = read(three, { topology });
    expect(inventory.sites[0]?.fabricLevels).toEqual(["spine", "leaf"]);
    expect(inventory.nodes.map(({ fabric }) => fabric.join("/"))).toEqual(["top/l1", "top/l1", "top/l2"]);
  });

  it.each([
    ["", "lists n1 in the partition gpu"],
    [nodeLine("n1"), "lists n2 in the partition gpu"],
    [three.slice(0, -nodeLine("n3").length + 20), "lists n3"],
    [three.slice(0, -3), "lists n3 in the partition all"],
  ])("says nothing about nodes on an answer that is empty, short or cut off", (nodes, message) => {
    expect(() => read(nodes)).toThrow(message);
  });
});
