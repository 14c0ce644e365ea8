/** Describes a Slurm cluster as a fleet document with simulated pools, so that its work can be played on a copy of it. */
import { catalogueName, deviceLabel } from "@headroom/perf/accelerator-types";
import type { NodeRow } from "../reading/rows.ts";
import type { SwitchTree } from "./topology.ts";

export interface ClusterOptions {
  readonly site: string;
  /** `null`: the cluster states no topology. */
  readonly topology: SwitchTree | null;
}

export interface PoolDocument {
  readonly name: string;
  readonly executor: "simulated";
  readonly accelerator?: string;
  readonly nodes: number;
  readonly perNode: number;
  readonly cores?: number;
  readonly memory?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly nodeLabels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface ClusterFleet {
  readonly document: {
    readonly kind: "fleet";
    readonly sites: readonly {
      readonly name: string;
      readonly fabric?: readonly string[];
      readonly pools: readonly PoolDocument[];
    }[];
  };
  /** Facts that the document cannot state, each as a sentence. */
  readonly notes: readonly string[];
}

/** The hardware of a node as a pool states it. Nodes with equal shapes are one pool. */
interface Shape {
  readonly type: string | null;
  readonly count: number;
  readonly cores: number | null;
  readonly memoryGib: number | null;
  /** The partitions of the node, sorted. */
  readonly partitions: string;
}

const GIB_MIB = 1024;
/** Words of states in which a node runs no work. */
const outOfService = /\b(?:down|drain|drained|draining|fail|failing|future|power_down|powered_down)\b/;

/** `nodes`: one for each name, with `hardware`. */
export function clusterFleet(nodes: readonly NodeRow[], options: ClusterOptions): ClusterFleet {
  const members = new Map<string, { readonly shape: Shape; readonly nodes: NodeRow[] }>();
  for (const node of nodes) {
    const shape = shapeOf(node);
    const key = JSON.stringify(shape);
    const group = members.get(key) ?? { shape, nodes: [] };
    group.nodes.push(node);
    members.set(key, group);
  }
  const groups = [...members.values()];
  const names = poolNames(groups.map(({ shape }) => shape));
  const pools = groups.map((group, index) => poolOf(names[index] ?? "pool", group, options.topology));
  const levels = options.topology?.levels ?? [];
  const fabric = levels.length === 0 ? {} : { fabric: [...levels, "node"] };
  return {
    document: { kind: "fleet", sites: [{ name: options.site, ...fabric, pools }] },
    notes: notesOn(nodes, options.topology),
  };
}

function shapeOf({ gpus, hardware }: NodeRow): Shape {
  const [first] = [...(hardware?.gpuTypes ?? [])].sort((left, right) => right.count - left.count);
  const count = gpus ?? 0;
  return {
    type: count === 0 ? null : typeOf(first?.type ?? null, hardware?.features ?? []),
    count,
    cores: stated(hardware?.cpus),
    // A node without RealMemory has 1 MiB for Slurm.
    memoryGib: stated(Math.floor((hardware?.memoryMib ?? 0) / GIB_MIB)),
    partitions: [...(hardware?.partitions ?? [])].sort().join("+"),
  };
}

/** `null`: the cluster does not bound the amount. */
const stated = (amount: number | null | undefined): number | null => (amount == null || amount === 0 ? null : amount);

/** A type that the configuration states takes precedence over a feature that names one. */
function typeOf(stated: string | null, features: readonly string[]): string {
  if (stated !== null) return catalogueName(stated) ?? (deviceLabel(stated) || "gpu");
  return features.map(catalogueName).find((name) => name !== undefined) ?? "gpu";
}

/** `h100-8`, or with the partitions if several pools have these accelerators; numbers make the rest unique. */
function poolNames(shapes: readonly Shape[]): readonly string[] {
  const used = new Set<string>();
  const plain = shapes.map(({ type, count }) => (type === null ? "cpu" : `${type}-${count}`));
  return shapes.map(({ partitions }, index) => {
    const name = plain[index] ?? "pool";
    const isShared = plain.filter((each) => each === name).length > 1;
    const wanted = plainName(isShared && partitions !== "" ? `${name}-${partitions}` : name);
    let unique = wanted;
    for (let number = 2; used.has(unique); number++) unique = `${wanted}-${number}`;
    used.add(unique);
    return unique;
  });
}

const plainName = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 50) || "pool";

function poolOf(
  name: string,
  { shape, nodes }: { readonly shape: Shape; readonly nodes: readonly NodeRow[] },
  topology: SwitchTree | null,
): PoolDocument {
  const { type, count, cores, memoryGib, partitions } = shape;
  const labels = partitions === "" || partitions.includes("+") ? {} : { labels: { partition: partitions } };
  return {
    name,
    executor: "simulated",
    ...(type === null ? {} : { accelerator: type }),
    nodes: nodes.length,
    perNode: count,
    ...(cores === null ? {} : { cores }),
    ...(memoryGib === null ? {} : { memory: `${memoryGib}GiB` }),
    ...labels,
    ...nodeLabels(name, nodes, topology),
  };
}

/** Simulated nodes are numbered; the label `host` keeps the node's name in the cluster. */
function nodeLabels(
  pool: string,
  nodes: readonly NodeRow[],
  topology: SwitchTree | null,
): Pick<PoolDocument, "nodeLabels"> {
  if (topology === null || topology.levels.length === 0) return {};
  const labelled = nodes.flatMap((node, index) => {
    const above = topology.above.get(node.name);
    if (above === undefined) return [];
    const switches = topology.levels.map((level, at): [string, string] => [level, above[at] ?? ""]);
    return [[`${pool}-${index + 1}`, { ...Object.fromEntries(switches), host: node.name }] as const];
  });
  return labelled.length === 0 ? {} : { nodeLabels: Object.fromEntries(labelled) };
}

function notesOn(nodes: readonly NodeRow[], topology: SwitchTree | null): readonly string[] {
  const namesOf = (list: readonly NodeRow[]): string =>
    `${list
      .slice(0, 5)
      .map(({ name }) => name)
      .join(", ")}${list.length > 5 ? " and others" : ""}`;
  const said = (list: readonly NodeRow[], text: string): readonly string[] =>
    list.length === 0 ? [] : [`${list.length} of ${nodes.length} nodes ${text}: ${namesOf(list)}.`];
  const isMixed = ({ hardware }: NodeRow): boolean => new Set(hardware?.gpuTypes.map(({ type }) => type)).size > 1;
  return [
    ...said(
      nodes.filter(({ state }) => outOfService.test(state ?? "")),
      "are out of service and count as if they were not",
    ),
    ...said(nodes.filter(isMixed), "have GPUs of several types; the most frequent type stands for all"),
    ...said(
      nodes.filter(({ name }) => topology !== null && !topology.above.has(name)),
      "are not in the topology and count as one domain",
    ),
  ];
}
