/**
 * `kind: fleet`: sites and pools, and the nodes of simulated pools. The executors of other pools report their nodes.
 */
import { z } from "zod";
import { burst } from "./burst.ts";
import type { FieldProblem } from "./document-problem.ts";
import { defaulted, listOf, literal, optional, record, required, type WrittenFields } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import { readName } from "./encoding/read-values.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { capProblems, poolPower, powerCap } from "./power.ts";
import { qualification } from "./qualification.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";
import { dataRule, datasets, labels, readLabel } from "./workload/placement.ts";

/** Devices with a known division into MIG slices. */
const migDevice = z.enum(["A100-40GB", "A100-80GB", "H100-80GB", "H100-94GB", "H200-141GB", "B200-180GB"]);

/**
 * Levels of the fabric, the widest first. If the last level is `node`, it is dropped, because every fabric tree ends
 * with nodes.
 */
function readFabric(value: unknown): Reading<string[]> {
  if (!Array.isArray(value)) return refuse(`must be a list of levels, widest first, got ${shown(value)}`);
  const list: readonly unknown[] = value.at(-1) === "node" ? value.slice(0, -1) : value;
  if (list.length > limits.FABRIC_LEVELS_MAX) return refuse(`must have at most ${limits.FABRIC_LEVELS_MAX} levels`);
  const levels: string[] = [];
  for (const each of list) {
    const reading = readName(each, names.fabricName);
    if (!reading.ok) return refuse(`has a level that ${reading.message}`);
    if (reading.value === "node" || levels.includes(reading.value))
      return refuse(`has the level ${reading.value} out of place`);
    levels.push(reading.value);
  }
  return read(levels);
}

const fabricLevels = notation.scalar({
  wire: z.array(names.fabricName).max(limits.FABRIC_LEVELS_MAX),
  kind: "list of levels",
  editor: { type: "array", items: { type: "string" } },
  read: readFabric,
});

/** Labels of one node. The first invalid label is reported with its name. */
function readNodeLabels(node: string, value: unknown): Reading<Record<string, string>> {
  const name = readName(node, names.nodeName);
  if (!name.ok) return name;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse(`must be a mapping like { rack: r1 }, got ${shown(value)}`);
  const found: [string, string][] = [];
  for (const [label, each] of Object.entries(value)) {
    const reading = readLabel(label, each);
    if (!reading.ok) return refuse(`has a label ${label} that ${reading.message}`);
    found.push([label, reading.value]);
  }
  if (found.length > limits.LABELS_MAX) return refuse(`must have at most ${limits.LABELS_MAX} labels`);
  return read(Object.fromEntries(found));
}

const nodeLabels = notation.entriesOf({
  wire: z
    .record(names.nodeName, names.labels)
    .refine((nodes) => Object.keys(nodes).length <= limits.LABELLED_NODES_MAX, {
      message: `must have at most ${limits.LABELLED_NODES_MAX} entries`,
    }),
  kind: "mapping of nodes to labels",
  editor: { additionalProperties: { type: "object", additionalProperties: { type: "string" } } },
  max: limits.LABELLED_NODES_MAX,
  readEntry: readNodeLabels,
});

const placeData = record(
  {
    rules: optional(notation.list(dataRule, { max: limits.DATA_RULES_MAX, noun: "entries", example: "[restricted]" }), {
      description: "Data rules under which work can run here. Those of a pool replace those of its site.",
      otherwise: "work without a rule only",
    }),
    holds: optional(datasets, {
      description: "Data sets that are stored here, each with everything below it.",
      examples: [["s3://corpus"]],
    }),
  },
  {
    meant: { rule: "rules", datasets: "holds", inputs: "holds" },
    wire: (shape) => z.strictObject(shape).meta({ id: "DataPlace" }),
  },
);

const powerCaps = listOf(powerCap, {
  min: 1,
  max: limits.POWER_CAPS_MAX,
  error: (value) => `must be a list of 1 to ${limits.POWER_CAPS_MAX} caps, got ${shown(value)}`,
});

const siteFields = {
  name: required(notation.name(names.siteName), { description: "The name of the site, unique within the fleet." }),
  fabric: defaulted(fabricLevels, [], {
    wire: "fabricLevels",
    description:
      "Levels of the topology tree, widest first. In the API the last level, `node`, is left out. A label of a node named after a level states its domain there, live and in simulations; it takes precedence over the topology that the executor reports.",
    examples: [["spine", "leaf", "node"]],
    otherwise: "none",
  }),
  data: optional(placeData, { description: "Data rules and data sets that apply to all its pools." }),
  caps: optional(powerCaps, {
    description:
      "Caps on power and cooling. No work is placed where its accelerators would draw more than a domain has left.",
    examples: [[{ of: "power", level: "rack", power: "40kW" }]],
    otherwise: "none",
  }),
};

/** Fields of a pool in both encodings. */
const poolFields = {
  name: required(notation.name(names.poolName), { description: "The name of the pool, unique over all sites." }),
  executor: defaulted(notation.name(names.executorId), "local", {
    description: "The id of the executor that runs the pool's work. With `simulated`, the nodes are declared here.",
  }),
  accelerator: optional(notation.name(names.acceleratorType), {
    wire: "acceleratorType",
    description: "The one accelerator type of the pool.",
    examples: ["H100-SXM"],
    otherwise: "its nodes have no accelerators",
  }),
  mig: optional(
    notation.choice(migDevice.options as unknown as ["A100-40GB", ...(typeof migDevice.options)[number][]]),
    {
      description: "The MIG device type of its accelerators, if they are divided into MIG slices.",
      examples: ["H100-80GB"],
      otherwise: "they are not divided",
    },
  ),
  networkGbps: optional(notation.integer(1, 100_000), {
    description: "Network bandwidth of each node in Gbps, for workers that reserve bandwidth (`gang.networkGbps`).",
    examples: [400],
    otherwise: "no bandwidth can be reserved",
  }),
  acceleratorMemory: optional(notation.memory(limits.MEMORY_MIB_MAX, 1), {
    wire: "acceleratorMemoryMib",
    description: "Memory of each accelerator, for workers that ask for some of it (`gang.acceleratorMemory`).",
    examples: ["80GiB"],
    otherwise: "no worker can request a part of it",
  }),
  price: defaulted(notation.hourPrice, 0, {
    wire: "priceMicroUsdPerHour",
    description: "Price of one accelerator.",
    examples: ["2.10 USD/h"],
  }),
  hotSpares: optional(notation.integer(1, limits.HOT_SPARES_MAX), {
    description:
      "Number of empty nodes that are kept as hot spares for work that loses nodes; no other work is placed on them. If fewer nodes are empty, all empty nodes are kept.",
    otherwise: "none",
  }),
  burst: optional(burst, {
    description: "Rules under which nodes are ordered for work that fits nowhere, and released when they are idle.",
    otherwise: "no nodes are ordered",
  }),
  qualification: optional(qualification, {
    description: "The suite that nodes must pass before they take work.",
    otherwise: "nodes take work unproven",
  }),
  kinds: optional(
    notation.list(notation.choice(["train", "batch", "serve"]), { max: 3, noun: "entries", example: "[batch, train]" }),
    {
      description: "Kinds of workload that its nodes take.",
      examples: [["batch", "train"]],
      otherwise: "all",
    },
  ),
  power: optional(poolPower, {
    description: "Power that its nodes draw, which counts against the caps of the site.",
    examples: [{ accelerator: "700W", node: "1.8kW" }],
    otherwise: "that of the catalogue",
  }),
  labels: optional(labels, {
    description: "Labels of all its nodes, for selectors and spreading.",
    examples: [{ zone: "a" }],
    otherwise: "none",
  }),
  nodeLabels: optional(nodeLabels, {
    description: "Labels of single nodes, by node. They take precedence over labels of the pool.",
    examples: [{ n1: { rack: "r1" } }],
    otherwise: "none",
  }),
  data: optional(placeData, { description: "Data rules and data sets of the pool." }),
};

/** Size of a simulated pool. The API has its nodes one by one. */
const sizeFields = {
  nodes: optional(notation.integer(1, 100_000), {
    wire: null,
    description: "Number of nodes; only for simulated pools.",
  }),
  perNode: optional(notation.integer(0, limits.ACCELERATORS_PER_NODE_MAX), {
    wire: null,
    description: "Number of accelerators on each node; only for simulated pools.",
    otherwise: "0",
  }),
  cores: optional(notation.cores(limits.CORES_MILLI_MAX), {
    wire: null,
    description: "Cores of each node; only for simulated pools.",
    otherwise: "not bounded",
  }),
  memory: optional(notation.memory(limits.MEMORY_MIB_MAX), {
    wire: null,
    description: "Memory of each node; only for simulated pools.",
    otherwise: "not bounded",
  }),
};

const siteNotation = record(siteFields, { wire: (shape) => z.strictObject(shape).meta({ id: "Site" }) });
export const site = siteNotation.wire;

const poolNotation = record(
  { ...poolFields, ...sizeFields },
  {
    later: ["leadTime", "source", "provisioningDelay"],
    meant: {
      gpu: "accelerator",
      type: "accelerator",
      accelerators: "perNode",
      gpusPerNode: "perNode",
      count: "nodes",
      cost: "price",
      label: "labels",
      tags: "labels",
    },
    wire: (shape) =>
      z
        .strictObject({
          ...shape,
          site: names.siteName,
          executor: names.executorId,
          acceleratorType: z
            .union([names.acceleratorType, z.literal("")])
            .meta({ description: "The one accelerator type of the pool; empty if its nodes have no accelerators." }),
          acceleratorFamily: names.acceleratorType.optional().meta({
            description:
              "The family of the type in the catalogue, like H100. The control plane sets it; a value in a request is ignored.",
          }),
        })
        .meta({ id: "Pool" }),
    toWire: (wire) => ({ acceleratorType: "", ...wire }),
    toManifest: ({ accelerator, ...written }, { acceleratorType }) =>
      acceleratorType === "" ? written : { ...written, accelerator },
  },
);
export const pool = poolNotation.wire;

export type Site = z.output<typeof site>;
export type Pool = z.output<typeof pool>;

const sites = record({
  ...siteFields,
  pools: required(
    listOf(poolNotation, {
      min: 1,
      max: limits.APPLY_POOLS_MAX,
      error: (value) => `must be a list of 1 to ${limits.APPLY_POOLS_MAX} pools, got ${shown(value)}`,
    }),
    { wire: null, description: "Sets of nodes that are alike." },
  ),
});

export const fleet = record({
  kind: literal("fleet", "Sites and pools of nodes."),
  sites: required(
    listOf(sites, {
      min: 1,
      max: limits.APPLY_SITES_MAX,
      error: (value) => `must be a list of 1 to ${limits.APPLY_SITES_MAX} sites, got ${shown(value)}`,
    }),
    { description: "Places that have a fabric of their own." },
  ),
});

/** Equal nodes of one simulated pool. All of them are in one domain of each fabric level, named after the pool. */
export interface SimulatedNodes {
  readonly pool: string;
  readonly nodeCount: number;
  readonly acceleratorCount: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

export interface FleetFromDocument {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly simulatedNodes: readonly SimulatedNodes[];
}

type WrittenFleet = WrittenFields<typeof fleet.parts>;
type WrittenPool = WrittenFields<typeof poolNotation.parts>;

const isSimulated = ({ executor }: WrittenPool): boolean => executor === "simulated";

export function fleetOf({ sites: written }: WrittenFleet): FleetFromDocument {
  const pools = written.flatMap((each) => each.pools);
  return {
    sites: written.map((each) => siteNotation.toWire(each) as Site),
    pools: written.flatMap((each) =>
      each.pools.map((one) => ({ ...(poolNotation.toWire(one) as Omit<Pool, "site">), site: each.name })),
    ),
    simulatedNodes: pools.flatMap((one) => (isSimulated(one) && one.nodes !== null ? [nodesOf(one, one.nodes)] : [])),
  };
}

export function fleetProblems({ sites: written }: WrittenFleet): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const siteNames = new Set<string>();
  const poolNames = new Set<string>();
  for (const [siteIndex, each] of written.entries()) {
    const at = ["sites", siteIndex];
    if (siteNames.has(each.name))
      problems.push({ path: [...at, "name"], message: `names the site ${each.name} twice` });
    siteNames.add(each.name);
    for (const { path, message } of capProblems(each.caps)) problems.push({ path: [...at, "caps", ...path], message });
    for (const [poolIndex, one] of each.pools.entries()) {
      const path = [...at, "pools", poolIndex];
      if (poolNames.has(one.name))
        problems.push({ path: [...path, "name"], message: `names the pool ${one.name} twice` });
      poolNames.add(one.name);
      problems.push(...sizeProblems(one).map(({ field, message }) => ({ path: [...path, field], message })));
      if (one.mig !== null && one.accelerator === null)
        problems.push({
          path: [...path, "mig"],
          message: "states how accelerators are divided, but the pool has none",
        });
    }
  }
  return problems;
}

/**
 * Fields for sizes are refused for other pools: an executor reports their nodes, so the numbers would have no effect.
 */
function sizeProblems(one: WrittenPool): { readonly field: string; readonly message: string }[] {
  if (isSimulated(one) && one.nodes === null) return [{ field: "nodes", message: "is required for a simulated pool" }];
  if (isSimulated(one)) {
    if (one.hotSpares !== null && one.nodes !== null && one.hotSpares >= one.nodes)
      return [
        {
          field: "hotSpares",
          message: `must be below nodes (${one.nodes}), because otherwise all nodes would be spares`,
        },
      ];
    const hasNone = one.accelerator === null && one.perNode !== null && one.perNode > 0;
    return hasNone ? [{ field: "accelerator", message: "is required if perNode is above 0" }] : [];
  }
  return (Object.keys(sizeFields) as (keyof typeof sizeFields)[])
    .filter((field) => one[field] !== null)
    .map((field) => ({
      field,
      message: `cannot be declared for executor ${one.executor ?? "local"}, which finds the nodes itself`,
    }));
}

const nodesOf = (one: WrittenPool, nodeCount: number): SimulatedNodes => ({
  pool: one.name,
  nodeCount,
  acceleratorCount: one.perNode ?? 0,
  coresMilli: one.cores ?? limits.CORES_MILLI_MAX,
  memoryMib: one.memory ?? limits.MEMORY_MIB_MAX,
});

/** Converts a fleet to the document from which reading gives the same fleet. */
export function fleetDocument(declared: FleetFromDocument): Record<string, unknown> {
  const poolsOf = (siteName: string) => declared.pools.filter((each) => each.site === siteName);
  const written = declared.sites.map((each) => ({
    ...(siteNotation.toManifest(each) as object),
    pools: poolsOf(each.name).map((one) => poolDocument(one, declared.simulatedNodes)),
  }));
  return { kind: "fleet", sites: written };
}

function poolDocument(one: Pool, simulatedNodes: readonly SimulatedNodes[]): Record<string, unknown> {
  const written = poolNotation.toManifest(one) as Record<string, unknown>;
  const found = simulatedNodes.find((each) => each.pool === one.name);
  if (found === undefined) return written;
  const { nodes, perNode, cores, memory } = sizeFields;
  return {
    ...written,
    nodes: nodes.toManifest(found.nodeCount),
    perNode: perNode.toManifest(found.acceleratorCount),
    cores: cores.toManifest(found.coresMilli),
    memory: memory.toManifest(found.memoryMib),
  };
}
