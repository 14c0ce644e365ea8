/** The programs of the built-in suite, as processes and against a planted file system. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { layoutFacts, linksOf } from "./node-layout.ts";
import { measurePair, servePair, type PairAddress } from "./network-pair.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function fileSystem(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(path.join(tmpdir(), "layout-"));
  folders.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.join(root, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}

/** Output of driver 550 for two of eight H100 with a ConnectX-7 each. */
const TOPOLOGY = `	\u001B[4mGPU0	GPU1	NIC0	NIC1	CPU Affinity	NUMA Affinity	GPU NUMA ID\u001B[0m
GPU0	 X 	NV18	PIX	SYS	0-55,112-167	0		N/A
GPU1	NV18	 X 	SYS	PIX	0-55,112-167	0		N/A
NIC0	PIX	SYS	 X 	SYS				
NIC1	SYS	PIX	SYS	 X 				

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
`;

describe("the layout of a node", () => {
  it("counts links of accelerators and adapters by kind", () => {
    expect(linksOf(TOPOLOGY)).toBe("2 accelerators: 1 x NV18; adapters: 2 x PIX, 2 x SYS");
    // A link that fell back to PCIe.
    expect(linksOf(TOPOLOGY.replaceAll("NV18", "NODE"))).toBe("2 accelerators: 1 x NODE; adapters: 2 x PIX, 2 x SYS");
    const [header = "", first = ""] = TOPOLOGY.replaceAll("\tGPU1", "").replaceAll("\tNV18", "").split("\n");
    expect(linksOf([header, first].join("\n"))).toBe("1 accelerators; adapters: 1 x PIX, 1 x SYS");
    for (const text of ["", "No devices were found", "\tGPU0\nGPU0"]) expect(() => linksOf(text)).not.toThrow();
    expect(linksOf("No devices were found")).toBeNull();
  });

  it("counts adapters and versions whatever their names, and leaves virtual interfaces out", () => {
    const net = (name: string, driver: string, speed: string): Record<string, string> => ({
      [`sys/class/net/${name}/device/uevent`]: `DRIVER=${driver}\n`,
      [`sys/class/net/${name}/speed`]: `${speed}\n`,
      [`sys/class/net/${name}/operstate`]: "up\n",
    });
    const root = fileSystem({
      ...net("ens1np0", "mlx5_core", "400000"),
      ...net("ens2np0", "mlx5_core", "400000"),
      ...net("eno1", "igb", "1000"),
      "sys/class/net/docker0/operstate": "down",
      "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
      "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
      "sys/class/infiniband/mlx5_0/fw_ver": "28.39.1002\n",
      "sys/module/mlx5_core/version": "24.01\n",
      "etc/os-release": 'PRETTY_NAME="Ubuntu 22.04.4 LTS"\n',
      "proc/sys/kernel/osrelease": "5.15.0\n",
    });
    // The second port of an adapter is a virtual function that a pod may get.
    symlinkSync("/", path.join(root, "sys/class/net/ens2np0/device/physfn"));
    const csv = "NVIDIA H100 80GB HBM3, 550.54.15, 96.00.89.00.01\n".repeat(8);
    const facts = layoutFacts(root, (words) => (words.includes("topo") ? TOPOLOGY : csv));
    expect(facts.map(({ test, text, differs }) => `${test} ${differs}: ${text}`)).toEqual([
      "layout/accelerators fail: 8 x NVIDIA H100 80GB HBM3",
      "layout/accelerator-links fail: 2 accelerators: 1 x NV18; adapters: 2 x PIX, 2 x SYS",
      "layout/network fail: 1 x igb 1000 Mb/s, 1 x mlx5_core 400000 Mb/s",
      "layout/infiniband fail: 1 x 400 Gb/sec (4X NDR) ACTIVE",
      "software/kernel warn: 5.15.0",
      "software/system warn: Ubuntu 22.04.4 LTS",
      "software/driver warn: 8 x 550.54.15",
      "software/vbios warn: 8 x 96.00.89.00.01",
      "software/module-mlx5_core warn: 24.01",
      "software/adapter-firmware warn: 1 x 28.39.1002",
    ]);
    expect(layoutFacts(fileSystem({}), () => null)).toEqual([]);
  });
});

describe("the network between two nodes", () => {
  const serving = async (): Promise<{ readonly at: PairAddress; readonly over: Promise<void> }> => {
    const { promise, resolve } = Promise.withResolvers<Omit<PairAddress, "host">>();
    const over = servePair("127.0.0.1", resolve);
    return { at: { host: "127.0.0.1", ...(await promise) }, over };
  };

  it("is measured, and the peer serves no one without the token and nothing afterwards", async () => {
    const { at, over } = await serving();
    await expect(measurePair({ ...at, token: "0".repeat(32) })).rejects.toThrow(/closed|reset|EPIPE/i);
    const { gigabytesPerSecond, roundTripUs } = await measurePair(at);
    expect(gigabytesPerSecond).toBeGreaterThan(0);
    expect(roundTripUs).toBeGreaterThan(0);
    await over;
    const [error] = (await once(connect({ host: at.host, port: at.port }), "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("ECONNREFUSED");
  });
});

it("the suite states the network to each peer, and says why it was not measured without one", () => {
  const program = path.join(import.meta.dirname, "small-suite.ts");
  const resultsOf = (...words: readonly string[]) =>
    (
      JSON.parse(execFileSync(process.execPath, [program, "n1", ...words], { encoding: "utf8" })) as {
        readonly results: readonly { readonly test: string; readonly verdict?: string; readonly detail?: string }[];
      }
    ).results.filter(({ test }) => test.startsWith("network"));
  expect(resultsOf("")).toMatchObject([
    { test: "network-throughput", verdict: "skip", detail: "not measured: no proven node is idle" },
    { test: "network-latency", verdict: "skip" },
  ]);
  expect(resultsOf("n2").map(({ test, verdict }) => `${test} ${verdict}`)).toEqual([
    "network-throughput pass",
    "network-latency pass",
    "network-throughput/n2 pass",
  ]);
  // A peer on another machine is reached by a command; one that fails is named.
  const without = resultsOf("n2", "false");
  expect(without[0]?.detail).toBe("not measured: n2: the program on n2 ended with 1");
  expect(without[2]).toMatchObject({ test: "network-throughput/n2", verdict: "skip", detail: without[0]?.detail });
  const words = ["sh", "-c", `[ "$0" = localhost ] && shift && exec '${process.execPath}' "$@"; exit 7`];
  expect(resultsOf("n2,localhost", ...words).map(({ test, verdict }) => `${test} ${verdict ?? ""}`)).toEqual([
    "network-throughput ",
    "network-latency ",
    "network-throughput/n2 skip",
    "network-throughput/localhost pass",
  ]);
});
