/** The nodes of a cluster as an inventory: partitions as pools, switches as levels of the fabric. */
import { nodeId, poolName, siteName, withdrawnDetail } from "@headroom/model";
import type { ExecutorId, NodeId, NodeSpec, Pool, Site } from "@headroom/model";
import { catalogueName, deviceLabel, familyNamed, familyOfType } from "@headroom/perf/accelerator-types";
import { OperationalError } from "@headroom/platform";
import type { Inventory } from "../../executor.ts";
import type { NodeSignal } from "../../node-signals.ts";
import type { HeldAmounts } from "../../job-protocol/attempt-records.ts";
import type { SwitchTree } from "../fleet/topology.ts";
import { switchTree } from "../fleet/topology.ts";
import { hostNames } from "../reading/host-list.ts";
import type { NodeRow } from "../reading/rows.ts";
import { SlurmReader } from "../reading/slurm-reader.ts";
import { utc } from "../reading/times.ts";
import { DRAIN_CODE, slurmSignals } from "./node-signals.ts";
import { usedAmounts } from "./foreign-use.ts";

/** A node at Slurm, as a submission needs it. */
export interface ClusterNode {
  readonly id: NodeId;
  readonly name: string;
  readonly partition: string;
  /** Address at which the other nodes reach it. */
  readonly address: string;
  /** Type in `--gres=gpu:TYPE:n`; `null`: the cluster names none. */
  readonly gresType: string | null;
  /** Time limit in minutes of jobs of the partition that request none. `null`: there is none. */
  readonly limitMinutes: number | null;
  readonly spec: NodeSpec;
}

export interface Cluster {
  /** Nodes that take work. */
  readonly inventory: Inventory;
  /** All nodes, because a gang may have been placed on one that has just left. */
  readonly nodes: ReadonlyMap<NodeId, ClusterNode>;
  /** Nodes that take no work, by their name at Slurm, with state and reason. */
  readonly outOfService: ReadonlyMap<string, string>;
  /** Amounts that new work cannot have, by the node's name at Slurm: those that jobs hold, and all of a node that drains. */
  readonly used: ReadonlyMap<string, HeldAmounts>;
  /** Amounts of the nodes that do not respond, by their name at Slurm. */
  readonly silent: ReadonlyMap<string, HeldAmounts>;
  /** Nodes that this executor has drained in Slurm, by name there: they stay in the fleet, where they are drained too. */
  readonly ownDrains: ReadonlySet<string>;
  /** Nodes that others have drained, or that are down. */
  readonly closed: ReadonlySet<string>;
  readonly unreadCount: number;
  readonly signals: readonly NodeSignal[];
}

/** Answers of `scontrol show`. */
export interface ClusterAnswers {
  readonly nodes: string;
  readonly partitions: string;
  readonly topology: string;
}

/** Words of a node's state in which it runs no work. An idle node that drains is drained; one with work goes on with it, so it stays in the fleet. */
const outOfService =
  /\b(?:down|drained|idle\+(?:\w+\+)*drain|fail|future|powered_down|powering_down|powering_up|power_down|invalid_reg|error|inval|unknown)\b/;

/** A node with work that takes no further work (`drng` of sinfo). */
const isDraining = /\b(?:drain|draining)\b/;

/** `drainMark`: reasons of drains that this executor has set begin with it; `null`: it sets none. */
export function readCluster(
  answers: ClusterAnswers,
  executor: ExecutorId,
  partitions: readonly string[] | null,
  drainMark: string | null = null,
): Cluster {
  const listed: NodeRow[] = [];
  let unreadCount = 0;
  const reader = new SlurmReader(
    { job: () => {}, step: () => {}, node: (row) => listed.push(row), unread: () => (unreadCount += 1) },
    utc,
  );
  reader.push(Buffer.from(answers.nodes));
  reader.end();
  const ownDrains = new Set(listed.filter((row) => isOwnDrain(row, drainMark)).map(({ name }) => name));
  const rows = listed.map((row) => (ownDrains.has(row.name) ? withoutDrain(row) : row));
  checkAnswers(rows, unreadCount, answers.partitions);
  const tree = readTopology(answers.topology);
  const addresses = addressesIn(answers.nodes);
  const limits = limitsIn(answers.partitions);
  const pools = new Map<string, Pool>();
  const nodes = new Map<NodeId, ClusterNode>();
  const specs: NodeSpec[] = [];
  const out = new Map<string, string>();
  const site: Site = { name: siteName(executor), fabricLevels: tree?.levels ?? [] };
  for (const row of rows) {
    const partition = partitionOf(row, partitions);
    if (partition === null) continue;
    const pool = poolOf({ row, partition, site, executor });
    const spec = specOf(row, pool, executor, tree);
    const [gpu = { type: null }] = row.hardware?.gpuTypes ?? [];
    const address = addresses.get(row.name) ?? row.name;
    const limitMinutes = limits.get(partition) ?? null;
    nodes.set(spec.id, { id: spec.id, name: row.name, partition, address, gresType: gpu.type, limitMinutes, spec });
    if (outOfService.test(row.state ?? "")) out.set(row.name, whyOutOfService(row, spec.id));
    else {
      pools.set(pool.name, pool);
      specs.push(spec);
    }
  }
  const closed = new Set(out.keys());
  const used = new Map(usedAmounts(answers.nodes));
  const silent = new Map<string, HeldAmounts>();
  for (const { name, state, flags = [], gpus, hardware } of rows) {
    const all = { accelerators: gpus ?? 0, cores: hardware?.cpus ?? 0, memoryMib: hardware?.memoryMib ?? 0 };
    // A node that does not respond is no lost node until SlurmdTimeout.
    if (flags.includes("not_responding")) silent.set(name, all);
    if (!isDraining.test(state ?? "")) continue;
    closed.add(name);
    used.set(name, all);
  }
  const inventory = { sites: [site], pools: [...pools.values()], nodes: specs };
  const known = rows.filter(({ name }) => nodes.has(nodeIdOf(executor, name)));
  const signals = slurmSignals(known, (name) => nodeIdOf(executor, name));
  return { inventory, nodes, outOfService: out, used, silent, ownDrains, closed, unreadCount, signals };
}

/** A node whose only signal is its drain was sound when it left. */
function whyOutOfService(row: NodeRow, id: NodeId): string {
  const { state, reason } = row;
  const text = `Slurm: ${state ?? ""}${reason === null ? "" : `, ${reason}`}`;
  return slurmSignals([row], () => id)[0]?.code === DRAIN_CODE ? withdrawnDetail(text) : text;
}

const isOwnDrain = ({ state, reason }: NodeRow, mark: string | null): boolean =>
  mark !== null && isDraining.test(state ?? "") && (reason ?? "").startsWith(mark);

/** The state beside the drain: `idle+drain` is `idle`. */
const withoutDrain = (row: NodeRow): NodeRow => ({
  ...row,
  state: (row.state ?? "").replaceAll(/\+drain(?:ed|ing)?\b/g, ""),
});

/**
 * An answer that is empty or cut off must not remove nodes, so every node of a partition must be in the answer about nodes, and
 * name the partition there. Throws an error if one does not.
 */
function checkAnswers(rows: readonly NodeRow[], unreadCount: number, partitions: string): void {
  const partitionsOf = new Map(rows.map(({ name, hardware }) => [name, hardware?.partitions ?? []]));
  const listed = partitions.split("\n").flatMap((line) => {
    const [, partition = "", names = "(null)"] = /^PartitionName=(\S+).*?\sNodes=(\S+)/.exec(line) ?? [];
    return names === "(null)" || names === "ALL" ? [] : hostNames(names).map((node) => ({ partition, node }));
  });
  const missing = listed.find(({ partition, node }) => partitionsOf.get(node)?.includes(partition) !== true);
  if (rows.length > 0 && listed.length > 0 && missing === undefined) return;
  const what =
    missing === undefined
      ? "Slurm lists no nodes or no partitions"
      : `Slurm lists ${missing.node} in the partition ${missing.partition}, and not among its nodes`;
  const unread = unreadCount > 0 ? `; ${unreadCount} lines could not be read` : "";
  throw new OperationalError("executorUnreachable", `${what}${unread}.`, { retryable: true });
}

/** The first wanted partition of the node; `null`: it is in none of them. */
function partitionOf({ hardware }: NodeRow, wanted: readonly string[] | null): string | null {
  const own = hardware?.partitions ?? [];
  return (wanted === null ? own[0] : wanted.find((each) => own.includes(each))) ?? null;
}

interface PoolParts {
  readonly row: NodeRow;
  readonly partition: string;
  readonly site: Site;
  readonly executor: ExecutorId;
}

/** A pool has one type of accelerator, so a partition with several types becomes several pools. */
function poolOf({ row, partition, site, executor }: PoolParts): Pool {
  const type = typeOf(row);
  const family = type === "" ? undefined : familyOfType(type);
  return {
    name: poolName(plainName(type === "" ? `${executor}-${partition}` : `${executor}-${partition}-${type}`)),
    site: site.name,
    executor,
    acceleratorType: type,
    ...(family === undefined || family === type ? {} : { acceleratorFamily: family }),
    priceMicroUsdPerHour: 0,
  };
}

function typeOf({ gpus, hardware }: NodeRow): string {
  if ((gpus ?? 0) === 0) return "";
  const [first] = hardware?.gpuTypes ?? [];
  const stated = first?.type ?? null;
  if (stated !== null) return catalogueName(stated) ?? familyNamed(stated) ?? (deviceLabel(stated) || "gpu");
  return (hardware?.features ?? []).map(catalogueName).find((name) => name !== undefined) ?? "gpu";
}

const plainName = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-");

/** Names of nodes are unique in a cluster only, so the id begins with the executor. */
export const nodeIdOf = (executor: ExecutorId, name: string): NodeId => nodeId(`${executor}-${name}`);

function specOf(row: NodeRow, pool: Pool, executor: ExecutorId, tree: SwitchTree | null): NodeSpec {
  return {
    id: nodeIdOf(executor, row.name),
    pool: pool.name,
    fabric: tree?.above.get(row.name) ?? [],
    acceleratorCount: row.gpus ?? 0,
    coresMilli: (row.hardware?.cpus ?? 0) * 1_000,
    memoryMib: row.hardware?.memoryMib ?? 0,
    labels: { "slurm.node": row.name },
  };
}

/** `scontrol show topology` lists all nodes below a switch; `topology.conf`, which the reader knows, only its own. */
function readTopology(text: string): SwitchTree | null {
  if (text !== "" && !text.endsWith("\n"))
    throw new OperationalError("executorUnreachable", "Slurm's list of switches is cut off.", { retryable: true });
  const lines = text
    .split("\n")
    .map((line) => (/\bSwitches=\S/.test(line) ? line.replace(/\bNodes=\S*/, "") : line))
    .filter((line) => line.includes("SwitchName="));
  if (lines.length === 0) return null;
  const tree = switchTree(lines.join("\n"));
  return tree.levels.length === 0 ? null : tree;
}

/** The default time limit of each partition, or its maximum if it has no default (slurm.conf(5)). */
function limitsIn(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const name = /^PartitionName=(\S+)/.exec(line)?.[1];
    const limits = [/\bDefaultTime=(\S+)/, /\bMaxTime=(\S+)/].map((field) => minutesIn(field.exec(line)?.[1] ?? ""));
    const limit = limits.find((each) => each !== null);
    if (name !== undefined && limit !== undefined && limit !== null) found.set(name, limit);
  }
  return found;
}

/** Minutes of `days-hours:minutes:seconds`; `null`: no limit. */
function minutesIn(text: string): number | null {
  const [, days = "0", hours = "0", minutes = "0"] = /^(?:(\d+)-)?(\d+):(\d+):\d+$/.exec(text) ?? [];
  return /\d/.test(text) ? Number(days) * 1_440 + Number(hours) * 60 + Number(minutes) : null;
}

function addressesIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    const name = /^NodeName=(\S+)/.exec(line)?.[1];
    const address = /\bNodeAddr=(\S+)/.exec(line)?.[1];
    if (name !== undefined && address !== undefined) found.set(name, address);
  }
  return found;
}
