/** Describes this machine as a site with its pools and nodes. */
import { availableParallelism, hostname, totalmem } from "node:os";
import { nodeId, poolName, siteName } from "@headroom/model";
import type { NodeId, Pool, PoolName } from "@headroom/model";
import { familyOfType } from "@headroom/perf/accelerator-types";
import type { Inventory } from "../executor.ts";
import type { FoundAccelerator } from "./accelerators.ts";
import { LOCAL_EXECUTOR_ID } from "./local-executor-options.ts";
import type { LocalExecutorOptions } from "./local-executor-options.ts";

/** The vendor's index of each accelerator, listed by the accelerator's index on the node. */
export interface NodeDevices {
  readonly vendor: FoundAccelerator["vendor"];
  readonly deviceIndices: readonly number[];
}

export interface LocalInventory extends Inventory {
  readonly devices: ReadonlyMap<NodeId, NodeDevices>;
}

export interface Machine {
  readonly name: string;
  readonly cores: number;
  readonly memoryMib: number;
}

const MIB = 1024 * 1024;
/** Default for the largest number of declared slots. More slots would only slow down a laptop. */
const SLOT_COUNT_DEFAULT_MAX = 8;
const SLOT_TYPE = "slot";
/** Each worker costs processes, however little it reserves, so their number is bounded even for workers that reserve nothing. */
const WORKERS_MAX_PER_CORE = 16;
const WORKERS_MAX_LEAST = 128;

/** Resources that this process can use. A container or a CPU affinity can limit them to less than the machine has. */
export function readMachine(): Machine {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return { name: hostname(), cores: availableParallelism(), memoryMib: Math.floor(memory / MIB) };
}

/**
 * Divides the machine into nodes. A node has only one accelerator type, and so has a pool. A machine with two types (a
 * workstation with a second card for its display) becomes two nodes, which share its cores and memory in proportion to
 * their accelerators. A machine that is declared as several nodes is divided evenly. Each declared slot has at least
 * one core, the default request of a worker.
 */
export function describeMachine(
  machine: Machine,
  found: readonly FoundAccelerator[],
  options: Omit<LocalExecutorOptions, "homeDir">,
): LocalInventory {
  const site = { name: siteName(options.siteName ?? "local"), fabricLevels: [] };
  const nodeCount = options.nodeCount ?? 1;
  const groups = nodeCount === 1 ? groupByType(found) : [];
  if (groups.length === 0) {
    const count = options.slotCount ?? Math.min(machine.cores, SLOT_COUNT_DEFAULT_MAX);
    const type = options.slotType ?? SLOT_TYPE;
    groups.push({ type, label: type, count, devices: null });
  }
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const suffixes = groups.map(({ label }, position) => (position === 0 ? "" : `-${label}`));
  const name = options.nodeName ?? machine.name;
  const pools = groups.map(({ type, count }, position): Pool => ({
    name: poolOf(options, suffixes[position]),
    site: site.name,
    executor: options.id ?? LOCAL_EXECUTOR_ID,
    acceleratorType: count > 0 ? type : "",
    ...familyOf(count > 0 ? type : ""),
    priceMicroUsdPerHour: 0,
  }));
  const share = (amount: number, count: number): number =>
    Math.floor((groups.length === 1 ? amount : (amount * count) / total) / nodeCount);
  const coresMilliOf = ({ count, devices }: AcceleratorGroup): number =>
    Math.max(share(machine.cores * 1000, count), devices === null ? count * 1000 : 0);
  const nodes = groups.flatMap((group, position) =>
    nodeNames(`${name}${suffixes[position] ?? ""}`, nodeCount).map((id) => ({
      id: nodeId(id),
      pool: poolOf(options, suffixes[position]),
      fabric: [],
      acceleratorCount: group.count,
      coresMilli: coresMilliOf(group),
      memoryMib: share(machine.memoryMib, group.count),
      workersMax: Math.max(WORKERS_MAX_LEAST, Math.ceil((coresMilliOf(group) / 1000) * WORKERS_MAX_PER_CORE)),
    })),
  );
  const devices = new Map<NodeId, NodeDevices>();
  for (const [position, { devices: own }] of groups.entries()) {
    if (own !== null) devices.set(nodeId(`${name}${suffixes[position] ?? ""}`), own);
  }
  const detectedPools = pools.filter((_pool, position) => groups[position]?.devices !== null).map((pool) => pool.name);
  return { sites: [site], pools, nodes, devices, detectedPools };
}

function familyOf(type: string): Pick<Pool, "acceleratorFamily"> {
  const family = familyOfType(type);
  return family === undefined || family === type ? {} : { acceleratorFamily: family };
}

function nodeNames(name: string, nodeCount: number): string[] {
  return nodeCount === 1 ? [name] : Array.from({ length: nodeCount }, (_, index) => `${name}-${index + 1}`);
}

function poolOf(options: Omit<LocalExecutorOptions, "homeDir">, suffix: string | undefined): PoolName {
  return poolName(`${options.poolName ?? "local"}${suffix ?? ""}`);
}

interface AcceleratorGroup {
  readonly type: string;
  readonly label: string;
  readonly count: number;
  readonly devices: NodeDevices | null;
}

/**
 * Types sorted by number of accelerators, the largest first, so that the first node gets the machine's own name. Types
 * with equal numbers are sorted by name.
 */
function groupByType(found: readonly FoundAccelerator[]): AcceleratorGroup[] {
  const byType = Map.groupBy(found, ({ type }) => type);
  const groups = [...byType].map(([type, members]) => ({
    type,
    label: members[0]?.label ?? type,
    count: members.length,
    devices: { vendor: members[0]?.vendor ?? "nvidia", deviceIndices: members.map(({ deviceIndex }) => deviceIndex) },
  }));
  return groups.toSorted((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1));
}
