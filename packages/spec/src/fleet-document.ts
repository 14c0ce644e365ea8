/** `kind: fleet`: sites, pools, and for simulated pools the nodes; live pools find their nodes themselves. */
import { z } from "zod";
import { migDevice, type Pool, type Site } from "./fleet-spec.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";
import { placeDataFields, placeDataOf } from "./data-fields.ts";
import { entries, fields, leaf, optionalLeaf, readChoice, readInteger, readName } from "./field.ts";
import { readLabel } from "./placement-fields.ts";
import * as quantities from "./notation/quantities.ts";
import { read, refuse, shown, type Reading } from "./notation/reading.ts";

/** More nodes than the largest installation has; simulated ones only. */
const nodesRange = { min: 1, max: 100_000 };
const perNodeRange = { min: 0, max: limits.ACCELERATORS_PER_NODE_MAX };
const coresRange = { min: 0, max: limits.CORES_MILLI_MAX };
const memoryRange = { min: 0, max: limits.MEMORY_MIB_MAX };
const priceRange = { min: 0, max: limits.PRICE_MICRO_USD_MAX };

const executors = ["local", "simulated"] as const;

/** Widest level first. A last level `node` is what every tree ends in and is not kept. */
function readFabric(value: unknown): Reading<readonly string[]> {
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

/** One node's labels; the first that is wrong is told with its name. */
function readNodeLabels(node: string, value: unknown): Reading<Record<string, string>> {
  const name = readName(node, names.nodeName);
  if (!name.ok) return name;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(`must be a mapping like { rack: r1 }, got ${shown(value)}`);
  }
  const labels: [string, string][] = [];
  for (const [label, each] of Object.entries(value)) {
    const reading = readLabel(label, each);
    if (!reading.ok) return refuse(`has a label ${label} that ${reading.message}`);
    labels.push([label, reading.value]);
  }
  if (labels.length > limits.LABELS_MAX) return refuse(`must have at most ${limits.LABELS_MAX} labels`);
  return read(Object.fromEntries(labels));
}

const poolSchema = fields(
  {
    name: leaf({ description: "Unique over all sites.", type: "string" }, (value) => readName(value, names.poolName)),
    executor: optionalLeaf(
      { description: "Who runs what is placed here.", enum: [...executors], default: "local" },
      "local" as const,
      (value) => readChoice(value, executors),
    ),
    accelerator: optionalLeaf(
      {
        description: "The one accelerator type of the pool; left out, its nodes have none.",
        type: "string",
        examples: ["H100-SXM"],
      },
      "",
      (value) => readName(value, names.acceleratorType),
    ),
    mig: optionalLeaf(
      {
        description: "As which device its accelerators may be divided by profiles; left out, they are not.",
        type: "string",
        enum: [...migDevice.options],
        examples: ["H100-80GB"],
      },
      null,
      (value): Reading<Pool["mig"] | null> => readChoice(value, migDevice.options),
    ),
    nodes: optionalLeaf(
      {
        description: "How many nodes; only for simulated pools.",
        type: "integer",
        minimum: nodesRange.min,
        maximum: nodesRange.max,
      },
      null,
      (value): Reading<number | null> => readInteger(value, nodesRange),
    ),
    perNode: optionalLeaf(
      {
        description: "Accelerators on each node; only for simulated pools.",
        type: "integer",
        minimum: 0,
        maximum: perNodeRange.max,
      },
      null,
      (value): Reading<number | null> => readInteger(value, perNodeRange),
    ),
    cores: optionalLeaf(
      { description: "Cores of each node; only for simulated pools.", type: ["number", "string"], minimum: 0 },
      null,
      (value): Reading<number | null> => quantities.readCores(value, coresRange),
    ),
    memory: optionalLeaf(
      {
        description: "Memory of each node; only for simulated pools.",
        type: "string",
        pattern: quantities.memoryPattern,
      },
      null,
      (value): Reading<number | null> => quantities.readMemory(value, memoryRange),
    ),
    price: optionalLeaf(
      {
        description: "What one accelerator costs.",
        type: "string",
        pattern: quantities.pricePattern,
        examples: ["2.10 USD/h"],
      },
      0,
      (value) => quantities.readPrice(value, priceRange),
    ),
    hotSpares: optionalLeaf(
      {
        description:
          "So many empty nodes are kept for work that loses some of its own, and nothing else is placed there; of fewer, all that are empty.",
        type: "integer",
        minimum: 1,
        maximum: limits.HOT_SPARES_MAX,
      },
      null,
      (value): Reading<number | null> => readInteger(value, { min: 1, max: limits.HOT_SPARES_MAX }),
    ),
    labels: entries(
      {
        description: "Labels of all of its nodes: what workloads select by and spread over.",
        additionalProperties: { type: "string" },
        examples: [{ zone: "a" }],
      },
      limits.LABELS_MAX,
      readLabel,
    ),
    nodeLabels: entries(
      {
        description: "Labels of single nodes, by node; they win over those of the pool.",
        additionalProperties: { type: "object", additionalProperties: { type: "string" } },
        examples: [{ n1: { rack: "r1" } }],
      },
      limits.LABELLED_NODES_MAX,
      readNodeLabels,
    ),
    data: placeDataFields.optional().meta({ description: "Which data may be worked on here, and which lie here." }),
  },
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
  },
);

const siteSchema = fields({
  name: leaf({ description: "Unique within the fleet.", type: "string" }, (value) => readName(value, names.siteName)),
  fabric: optionalLeaf(
    {
      description: "Levels of the placement tree, widest first.",
      type: "array",
      items: { type: "string" },
      examples: [["spine", "leaf", "node"]],
    },
    [],
    readFabric,
  ),
  data: placeDataFields.optional().meta({ description: "The same, for all of its pools." }),
  pools: z
    .array(poolSchema, {
      error: (issue) => `must be a list of 1 to ${limits.APPLY_POOLS_MAX} pools, got ${shown(issue.input)}`,
    })
    .min(1)
    .max(limits.APPLY_POOLS_MAX)
    .meta({ description: "Sets of like nodes." }),
});

export const fleetSchema = fields({
  kind: z.literal("fleet").meta({ description: "What work can run on." }),
  sites: z
    .array(siteSchema, {
      error: (issue) => `must be a list of 1 to ${limits.APPLY_SITES_MAX} sites, got ${shown(issue.input)}`,
    })
    .min(1)
    .max(limits.APPLY_SITES_MAX)
    .meta({ description: "Places with a fabric of their own." }),
});

/** The like nodes of one simulated pool; all of them lie in one domain of each fabric level, named after the pool. */
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

interface PlacedProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type WrittenFleet = z.output<typeof fleetSchema>;
type WrittenPool = WrittenFleet["sites"][number]["pools"][number];

export function fleetOf(written: WrittenFleet): {
  readonly fleet: FleetFromDocument;
  readonly problems: readonly PlacedProblem[];
} {
  const fleet = { sites: [] as Site[], pools: [] as Pool[], simulatedNodes: [] as SimulatedNodes[] };
  const problems: PlacedProblem[] = [];
  const siteNames = new Set<string>();
  const poolNames = new Set<string>();
  for (const [siteIndex, site] of written.sites.entries()) {
    if (siteNames.has(site.name))
      problems.push({ path: ["sites", siteIndex, "name"], message: `names the site ${site.name} twice` });
    siteNames.add(site.name);
    fleet.sites.push({ name: site.name, fabricLevels: [...site.fabric], ...placeDataOf(site.data) });
    for (const [poolIndex, pool] of site.pools.entries()) {
      const path = ["sites", siteIndex, "pools", poolIndex];
      if (poolNames.has(pool.name))
        problems.push({ path: [...path, "name"], message: `names the pool ${pool.name} twice` });
      poolNames.add(pool.name);
      problems.push(...sizeProblems(pool).map(({ field, message }) => ({ path: [...path, field], message })));
      const { name, executor, accelerator: acceleratorType, price: priceMicroUsdPerHour } = pool;
      const mig = pool.mig === null ? {} : { mig: pool.mig };
      if (pool.mig !== null && acceleratorType === "")
        problems.push({ path: [...path, "mig"], message: "says how accelerators are divided, and the pool has none" });
      const hotSpares = pool.hotSpares === null ? {} : { hotSpares: pool.hotSpares };
      const said = { ...mig, ...labelsOf(pool), ...placeDataOf(pool.data), ...hotSpares };
      fleet.pools.push({ name, site: site.name, executor, acceleratorType, priceMicroUsdPerHour, ...said });
      if (pool.executor === "simulated" && pool.nodes !== null) fleet.simulatedNodes.push(nodesOf(pool, pool.nodes));
    }
  }
  return { fleet, problems };
}

/** What was left out is left out. */
function labelsOf({ labels, nodeLabels }: WrittenPool): Pick<Pool, "labels" | "nodeLabels"> {
  return {
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(nodeLabels).length === 0 ? {} : { nodeLabels }),
  };
}

/** A live pool's nodes are found, not declared: numbers that nothing would look at are refused. */
function sizeProblems(pool: WrittenPool): { readonly field: string; readonly message: string }[] {
  const isSimulated = pool.executor === "simulated";
  if (isSimulated && pool.nodes === null) return [{ field: "nodes", message: "is required for a simulated pool" }];
  if (isSimulated) {
    if (pool.hotSpares !== null && pool.nodes !== null && pool.hotSpares >= pool.nodes)
      return [{ field: "hotSpares", message: `must be below nodes (${pool.nodes}): all of them would be spares` }];
    const hasNone = pool.accelerator === "" && pool.perNode !== null && pool.perNode > 0;
    return hasNone ? [{ field: "accelerator", message: "is required where perNode is above 0" }] : [];
  }
  return (["nodes", "perNode", "cores", "memory"] as const)
    .filter((field) => pool[field] !== null)
    .map((field) => ({
      field,
      message: `cannot be declared for executor ${pool.executor}: its nodes are found by themselves`,
    }));
}

function nodesOf(pool: WrittenPool, nodeCount: number): SimulatedNodes {
  return {
    pool: pool.name,
    nodeCount,
    acceleratorCount: pool.perNode ?? 0,
    coresMilli: pool.cores ?? coresRange.max,
    memoryMib: pool.memory ?? memoryRange.max,
  };
}

/** The document that reads back as this fleet. */
export function fleetDocument(fleet: FleetFromDocument): Record<string, unknown> {
  const sites = fleet.sites.map((site) => ({
    name: site.name,
    fabric: [...site.fabricLevels],
    ...(site.data === undefined ? {} : { data: { ...site.data } }),
    pools: fleet.pools.filter((pool) => pool.site === site.name).map((pool) => poolText(pool, fleet.simulatedNodes)),
  }));
  return { kind: "fleet", sites };
}

function poolText(pool: Pool, simulatedNodes: readonly SimulatedNodes[]): Record<string, unknown> {
  const text: Record<string, unknown> = { name: pool.name, executor: pool.executor };
  if (pool.acceleratorType !== "") text["accelerator"] = pool.acceleratorType;
  if (pool.mig !== undefined) text["mig"] = pool.mig;
  const nodes = simulatedNodes.find((each) => each.pool === pool.name);
  if (nodes !== undefined) {
    text["nodes"] = nodes.nodeCount;
    text["perNode"] = nodes.acceleratorCount;
    text["cores"] = quantities.writeCores(nodes.coresMilli);
    text["memory"] = quantities.writeMemory(nodes.memoryMib);
  }
  text["price"] = quantities.writePrice(pool.priceMicroUsdPerHour);
  if (pool.labels !== undefined) text["labels"] = { ...pool.labels };
  if (pool.hotSpares !== undefined) text["hotSpares"] = pool.hotSpares;
  if (pool.data !== undefined) text["data"] = { ...pool.data };
  if (pool.nodeLabels !== undefined) text["nodeLabels"] = { ...pool.nodeLabels };
  return text;
}
