import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-executor-fleet-"));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
const run = (...args: readonly string[]): Promise<Said> => headroom(args, { workingDirectory: folder });

interface NodeFields {
  readonly gres: string;
  readonly partitions: string;
  readonly state?: string;
  readonly features?: string;
}

/** A record as `scontrol show node` prints it, with the fields that matter and some others. */
const node = (name: string, { gres, partitions, state = "IDLE", features = "(null)" }: NodeFields): string =>
  `NodeName=${name} Arch=x86_64 CoresPerSocket=56\n` +
  `   CPUAlloc=4 CPUEfctv=112 CPUTot=112 CPULoad=3.50\n   AvailableFeatures=${features}\n   ActiveFeatures=${features}\n` +
  `   Gres=${gres}\n   RealMemory=1031000 AllocMem=4096 FreeMem=900000 Sockets=2 Boards=1\n` +
  `   State=${state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n   Partitions=${partitions} \n` +
  `   CfgTRES=cpu=112,mem=1031000M,billing=112\n   Comment=CPUTot=3 Partitions=none\n\n`;

const cluster = [
  node("gpu01", { gres: "gpu:h100:8(S:0-1)", partitions: "train" }),
  node("gpu02", { gres: "gpu:h100:8(S:0-1)", partitions: "train" }),
  node("gpu03", { gres: "gpu:h100:8(S:0-1)", partitions: "train", state: "DOWN*" }),
  node("gpu04", { gres: "gpu:h100:8(S:0-1)", partitions: "debug,train" }),
  node("old01", { gres: "gpu:4", partitions: "old", features: "ib,a100" }),
  node("odd01", { gres: "gpu:t4:2,gpu:frobnicator:3", partitions: "old" }),
  node("cpu01", { gres: "(null)", partitions: "cpu" }),
].join("");
const topology =
  "SwitchName=l1 Nodes=gpu[01-02]\nSwitchName=l2 Nodes=gpu[03-04],old01\nSwitchName=top Switches=l[1-2]\n";

interface Answer {
  readonly document: {
    readonly sites: readonly {
      readonly name: string;
      readonly fabric?: readonly string[];
      readonly pools: readonly Pool[];
    }[];
  };
  readonly notes: readonly string[];
  readonly unread_count: number;
}
interface Pool {
  readonly name: string;
  readonly nodes: number;
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

describe("headroom executor fleet", () => {
  it("makes a pool of the nodes that are alike, with their switches", async () => {
    write("nodes.txt", cluster);
    write("topology.conf", topology);
    const { code, stdout } = await run("executor", "fleet", "nodes.txt", "--topology", "topology.conf", "--json");
    expect(code).toBe(0);
    const { document, notes, unread_count: unread } = JSON.parse(stdout) as Answer;
    const [site] = document.sites;
    expect([site?.name, site?.fabric, unread]).toEqual(["slurm", ["spine", "leaf", "node"], 0]);
    const shown = site?.pools.map(({ nodeLabels: _labels, ...pool }) => pool);
    const like = { executor: "simulated", cores: 112, memory: "1006GiB" };
    expect(shown).toEqual([
      { ...like, name: "h100-8-train", accelerator: "H100", nodes: 3, perNode: 8, labels: { partition: "train" } },
      { ...like, name: "h100-8-debug-train", accelerator: "H100", nodes: 1, perNode: 8 },
      { ...like, name: "a100-4", accelerator: "A100", nodes: 1, perNode: 4, labels: { partition: "old" } },
      {
        ...like,
        name: "frobnicator-5",
        accelerator: "frobnicator",
        nodes: 1,
        perNode: 5,
        labels: { partition: "old" },
      },
      { ...like, name: "cpu", nodes: 1, perNode: 0, labels: { partition: "cpu" } },
    ]);
    expect(site?.pools[0]?.nodeLabels).toEqual({
      "h100-8-train-1": { spine: "top", leaf: "l1", host: "gpu01" },
      "h100-8-train-2": { spine: "top", leaf: "l1", host: "gpu02" },
      "h100-8-train-3": { spine: "top", leaf: "l2", host: "gpu03" },
    });
    expect(notes).toEqual([
      "1 of 7 nodes are out of service and count as if they were not: gpu03.",
      "1 of 7 nodes have GPUs of several types; the most frequent type stands for all: odd01.",
      "2 of 7 nodes are not in the topology and count as one domain: odd01, cpu01.",
    ]);
  });

  it("writes a file on which the cluster's work is simulated", async () => {
    const said = await run("executor", "fleet", "nodes.txt", "--topology", "topology.conf", "--site", "hall-a");
    expect(said.stdout).toMatch(/^kind: fleet\nsites:\n {2}- name: hall-a\n/);
    write("fleet.yaml", said.stdout);
    write(
      "jobs.txt",
      "JobID|Submit|Start|End|AllocTRES|State\n" +
        "1|2026-10-01T08:00:00|2026-10-01T08:00:00|2026-10-01T12:00:00|cpu=64,gres/gpu=32|COMPLETED\n" +
        "2|2026-10-01T08:30:00|2026-10-01T12:00:00|2026-10-01T13:00:00|cpu=4,gres/gpu=4|COMPLETED\n",
    );
    const played = await run(
      "simulate",
      "--fleet",
      "fleet.yaml",
      "--trace",
      "sacct:jobs.txt",
      "--policy",
      "fifo,default",
      "--json",
    );
    expect([played.code, played.stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.stringify(JSON.parse(played.stdout))).toContain('"jobs":2');
  });

  it("reads the JSON of nodes, in the forms of 22.05 and of 23.02", async () => {
    const old = {
      name: "n1",
      cpus: 64,
      real_memory: 515072,
      gres: "gpu:a100:4",
      state: "idle",
      partitions: ["p"],
      active_features: "ib",
    };
    const memory = { set: true, infinite: false, number: 515072 };
    const recent = { ...old, name: "n2", real_memory: memory, state: ["IDLE"], active_features: ["ib"] };
    write("nodes.json", JSON.stringify({ nodes: [old, recent] }));
    const { document } = JSON.parse((await run("executor", "fleet", "nodes.json", "--json")).stdout) as Answer;
    expect(document.sites[0]?.pools).toEqual([
      {
        name: "a100-4",
        executor: "simulated",
        accelerator: "A100",
        nodes: 2,
        perNode: 4,
        cores: 64,
        memory: "503GiB",
        labels: { partition: "p" },
      },
    ]);
  });

  it("leaves out what the cluster does not bound", async () => {
    write("bare.txt", "NodeName=n1 CPUTot=0 RealMemory=1 Gres=gpu:2 State=IDLE Partitions=p\n");
    const { document } = JSON.parse((await run("executor", "fleet", "bare.txt", "--json")).stdout) as Answer;
    const labels = { partition: "p" };
    expect(document.sites[0]?.pools).toEqual([
      { name: "gpu-2", executor: "simulated", accelerator: "gpu", nodes: 1, perNode: 2, labels },
    ]);
  });

  it.each([
    [
      ["executor", "fleet", "sinfo.txt"],
      "sinfo.txt has no nodes with their hardware; write it with: scontrol show node",
    ],
    [["executor", "fleet", "nodes.txt", "--topology", "bad.conf"], "bad.conf: line 1: expected SwitchName="],
    [["executor", "fleet", "nodes.txt", "--site", "a b"], "--site must be"],
    [["executor", "fleet", "missing.txt"], "missing.txt"],
  ])("refuses %j", async (args, message) => {
    write("sinfo.txt", "NODELIST STATE\ngpu01 idle\n");
    write("bad.conf", "Nodes=n1\n");
    const said = await run(...args);
    expect([said.code, said.stdout]).toEqual([2, ""]);
    expect(said.stderr).toContain(message);
  });
});
