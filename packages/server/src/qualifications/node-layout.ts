/**
 * Facts about the hardware and the software of the machine on which it runs, which nodes of one kind have alike: links of accelerators,
 * network adapters, and versions. Each is a short text, the same for the same layout whatever the names of devices are.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { release } from "node:os";
import path from "node:path";

/** `differs`: the verdict where most peers state another text. Versions change in waves, so they only warn. */
export interface LayoutFact {
  readonly test: string;
  readonly text: string;
  readonly differs: "fail" | "warn";
}

const COMMAND_MS = 20_000;
const PARTS_MAX = 12;
const ENTRIES_MAX = 256;

/** `root`: of the file system; another one in tests. `run`: prints the output of a command; null: it is missing or failed. */
export function layoutFacts(
  root = "/",
  run: (words: readonly string[]) => string | null = outputOf,
): readonly LayoutFact[] {
  const topology = run(["nvidia-smi", "topo", "-m"]);
  const devices = run(["nvidia-smi", "--query-gpu=name,driver_version,vbios_version", "--format=csv,noheader"]);
  const links = topology === null ? null : linksOf(topology);
  return [
    ...fact("layout/accelerators", "fail", devices === null ? null : counted(columnOf(devices, 0))),
    ...fact("layout/accelerator-links", "fail", links),
    ...fact("layout/network", "fail", networkOf(root)),
    ...fact("layout/infiniband", "fail", infinibandOf(root)),
    ...fact("software/kernel", "warn", root === "/" ? release() : textOf(path.join(root, "proc/sys/kernel/osrelease"))),
    ...fact("software/system", "warn", systemOf(root)),
    ...fact("software/bios", "warn", textOf(path.join(root, "sys/class/dmi/id/bios_version"))),
    ...fact("software/driver", "warn", devices === null ? null : counted(columnOf(devices, 1))),
    ...fact("software/vbios", "warn", devices === null ? null : counted(columnOf(devices, 2))),
    ...["nvidia", "amdgpu", "mlx5_core", "efa"].flatMap((module) =>
      fact(`software/module-${module}`, "warn", textOf(path.join(root, "sys/module", module, "version"))),
    ),
    ...fact("software/adapter-firmware", "warn", firmwareOf(root)),
  ];
}

const fact = (test: string, differs: LayoutFact["differs"], text: string | null): readonly LayoutFact[] =>
  text === null || text === "" ? [] : [{ test, text, differs }];

function outputOf([file = "", ...words]: readonly string[]): string | null {
  try {
    return execFileSync(file, words, { encoding: "utf8", timeout: COMMAND_MS, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return null;
  }
}

/**
 * `nvidia-smi topo -m`: a matrix of kinds of links (NV18, PIX, SYS) between accelerators and adapters. The text counts the pairs of each
 * kind: `8 accelerators: NV18 x28; adapters: PIX x8, SYS x56`.
 */
export function linksOf(matrix: string): string | null {
  // oxlint-disable-next-line no-control-regex -- the header is underlined by control sequences.
  const lines = matrix.replaceAll(/\u001B\[[0-9;]*m/g, "").split("\n");
  const columns = (lines.find((line) => /^\s+GPU0\b/.test(line)) ?? "")
    .trim()
    .split(/\t+/)
    .map((name) => name.trim());
  const isDevice = (name: string): boolean => /^(?:GPU|NIC|mlx|ib|roce)\d*/i.test(name) && !name.includes(" ");
  const between: string[] = [];
  const beside: string[] = [];
  let accelerators = 0;
  for (const line of lines) {
    const [name = "", ...cells] = line.split("\t").map((cell) => cell.trim());
    if (!/^GPU\d+$/.test(name)) continue;
    accelerators++;
    for (const [at, kind] of cells.entries()) {
      const other = columns[at] ?? "";
      if (!isDevice(other) || kind === "" || kind === "X") continue;
      const isAccelerator = /^GPU\d+$/.test(other);
      if (!isAccelerator) beside.push(kind);
      else if (Number(other.slice(3)) > Number(name.slice(3))) between.push(kind);
    }
  }
  if (accelerators === 0) return null;
  const own = between.length === 0 ? "" : `: ${counted(between)}`;
  return `${accelerators} accelerators${own}${beside.length === 0 ? "" : `; adapters: ${counted(beside)}`}`;
}

/** Network interfaces with a device: `8 x mlx5_core 400000 Mb/s, 1 x igb down`. */
function networkOf(root: string): string | null {
  const parent = path.join(root, "sys/class/net");
  const kinds = entriesOf(parent).flatMap((name) => {
    const folder = path.join(parent, name);
    // Virtual interfaces come and go with the work of a node. Functions of an adapter that are given to pods do, too.
    if (!existsSync(path.join(folder, "device")) || existsSync(path.join(folder, "device/physfn"))) return [];
    const driver = /^DRIVER=(.*)$/m.exec(textOf(path.join(folder, "device/uevent")) ?? "")?.[1] ?? "unknown driver";
    const isUp = textOf(path.join(folder, "operstate")) !== "down";
    const speed = Number(textOf(path.join(folder, "speed")) ?? Number.NaN);
    return [`${driver} ${isUp ? (speed > 0 ? `${speed} Mb/s` : "up") : "down"}`];
  });
  return kinds.length === 0 ? null : counted(kinds);
}

/** Ports of InfiniBand and RoCE: `8 x 400 Gb/sec (4X NDR) ACTIVE`. */
function infinibandOf(root: string): string | null {
  const parent = path.join(root, "sys/class/infiniband");
  const ports = entriesOf(parent).flatMap((device) => {
    const folder = path.join(parent, device, "ports");
    return entriesOf(folder).map((port) => {
      const state = (textOf(path.join(folder, port, "state")) ?? "").replace(/^\d+: /, "");
      return `${textOf(path.join(folder, port, "rate")) ?? "unknown rate"} ${state}`;
    });
  });
  return ports.length === 0 ? null : counted(ports);
}

function firmwareOf(root: string): string | null {
  const parent = path.join(root, "sys/class/infiniband");
  const versions = entriesOf(parent).flatMap((device) => textOf(path.join(parent, device, "fw_ver")) ?? []);
  return versions.length === 0 ? null : counted(versions);
}

const systemOf = (root: string): string | null =>
  /^PRETTY_NAME="?([^"\n]*)/m.exec(textOf(path.join(root, "etc/os-release")) ?? "")?.[1] ?? null;

const columnOf = (csv: string, at: number): readonly string[] =>
  csv
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => (line.split(",")[at] ?? "").trim());

/** `2 x a, 1 x b`, in the order of the texts. */
function counted(texts: readonly string[]): string {
  const counts = [...Map.groupBy(texts, (text) => text)].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return counts
    .slice(0, PARTS_MAX)
    .map(([text, { length }]) => `${length} x ${text}`)
    .join(", ");
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).toSorted().slice(0, ENTRIES_MAX);
  } catch {
    return [];
  }
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return null;
  }
}
