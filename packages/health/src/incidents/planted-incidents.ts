/** A fleet with switches, racks, feeds and stores, and failures planted in it, as events of the journal. */
import { attemptId, draw, nodeId, poolName, siteName, workloadId } from "@headroom/model";
import type { Event, NodeId, NodeSpec } from "@headroom/model";
import { domainKey, domainOfKey } from "./domains.ts";
import { IncidentFold } from "./incident-fold.ts";

const NODES_OF_LEAF = 16;
const LEAVES_OF_SPINE = 8;
const NODES_OF_RACK = 10;
const NODES_OF_FEED = 120;
const NODES_OF_STORE = 30;
const LEVELS = ["spine", "leaf"];

/** Node `at` of the fleet. Racks, feeds and stores cut across the switches. */
export function plantedNode(at: number): NodeSpec {
  const leaf = Math.floor(at / NODES_OF_LEAF);
  return {
    id: nodeId(`n${at}`),
    pool: poolName("h100"),
    fabric: [`s${Math.floor(leaf / LEAVES_OF_SPINE)}`, `l${leaf}`],
    acceleratorCount: 8,
    coresMilli: 64_000,
    memoryMib: 65_536,
    labels: {
      rack: `r${Math.floor(at / NODES_OF_RACK)}`,
      feed: `f${at % Math.max(2, Math.ceil(1_500 / NODES_OF_FEED))}`,
      store: `h${(at * 7) % Math.ceil(1_500 / NODES_OF_STORE)}`,
    },
  };
}

interface Step {
  readonly atMs: number;
  readonly event: Event;
}

export class PlantedFleet {
  readonly fold: IncidentFold = new IncidentFold();
  readonly nodes: readonly NodeSpec[];
  #sequence = 0;

  constructor(nodeCount: number) {
    this.nodes = Array.from({ length: nodeCount }, (_, at) => plantedNode(at));
    const site = { name: siteName("dc"), fabricLevels: LEVELS };
    this.apply({ kind: "siteDefined", version: 2, atMs: 0, site });
    const pool = { name: poolName("h100"), site: site.name, executor: "hpc", acceleratorType: "H100" };
    this.apply({ kind: "poolDefined", version: 3, atMs: 0, pool: { ...pool, priceMicroUsdPerHour: 0 } });
    for (const node of this.nodes) this.apply({ kind: "nodeJoined", version: 2, atMs: 0, node });
  }

  apply(event: Event): void {
    this.fold.apply(++this.#sequence, event);
  }

  applyInOrder(steps: readonly Step[]): void {
    for (const { event } of steps.toSorted((left, right) => left.atMs - right.atMs)) this.apply(event);
  }

  /** An attempt on two nodes: its loss is a further alert. */
  place(number: number, on: readonly NodeId[]): void {
    this.apply({
      kind: "gangPlaced",
      version: 2,
      atMs: 0,
      attemptId: attemptId(`w${number}.1`),
      workloadId: workloadId(`w${number}`),
      task: 0,
      number: 1,
      acceleratorType: "H100",
      workers: on.map((node) => ({ node, accelerators: "0-7" })),
    } as unknown as Event);
  }

  /** The nodes of a domain, by the level and the name of the planted fleet. */
  nodesOf(level: string, name: string): readonly NodeId[] {
    return this.nodes
      .filter(
        ({ fabric, labels = {} }) => (LEVELS.includes(level) ? fabric[LEVELS.indexOf(level)] : labels[level]) === name,
      )
      .map(({ id }) => id);
  }
}

export const lostAt = (id: NodeId, atMs: number): Step => ({
  atMs,
  event: { kind: "nodeLost", version: 1, atMs, nodeId: id, detail: "no answer" },
});

const reportedAt = (id: NodeId, atMs: number): Step => ({
  atMs,
  event: {
    kind: "faultsReported",
    version: 1,
    atMs,
    nodeId: id,
    faults: [{ code: "link-down", severity: "warning", detail: "port 1" }],
    actor: "collector",
  },
});

export interface PlantedTrial {
  readonly seed: number;
  readonly planted: string;
  readonly alerts: number;
  readonly incidents: number;
  /** Whether exactly one incident has more than a single node, and it names the planted domain. */
  readonly isRight: boolean;
}

/** Plants one lost domain among single failures, with late and missing reports. */
export function plantedTrial(seed: number, nodeCount = 1_500): PlantedTrial {
  let count = 0;
  const below = (limit: number): number => Math.floor((draw(seed, count++, "planted incident") / 2 ** 32) * limit);
  const fleet = new PlantedFleet(nodeCount);
  for (let at = 0; at + 1 < nodeCount; at += 2)
    if (below(2) === 0) fleet.place(at, [nodeId(`n${at}`), nodeId(`n${at + 1}`)]);
  const level = ["leaf", "spine", "rack", "feed", "store"][below(5)] as string;
  const { fabric, labels = {} } = plantedNode(below(nodeCount));
  const name = (LEVELS.includes(level) ? fabric[LEVELS.indexOf(level)] : labels[level]) as string;
  const steps: Step[] = [];
  const beginMs = 1_000 + below(60_000);
  const fail = (id: NodeId): void => {
    const atMs = beginMs + below(120_000);
    steps.push(lostAt(id, atMs));
    if (below(2) === 0) steps.push(reportedAt(id, atMs + below(5_000)));
  };
  // One in twenty nodes of the domain goes on: it has a second link, or its report is lost.
  for (const id of fleet.nodesOf(level, name)) if (below(20) > 0) fail(id);
  const isHit = new Set(fleet.nodesOf(level, name));
  for (let single = below(4); single > 0; single--) {
    const id = nodeId(`n${below(nodeCount)}`);
    if (!isHit.has(id)) fail(id);
  }
  fleet.applyInOrder(steps);
  const incidents = fleet.fold.incidents();
  const wide = incidents.filter(({ failures }) => failures.length > 1);
  const [only] = wide;
  const names = only === undefined ? [] : [only.domain, ...only.sameNodesAs].map(domainOfKey);
  return {
    seed,
    planted: `${level}=${name}`,
    alerts: incidents.flatMap(({ failures }) => failures).reduce((sum, { alerts }) => sum + alerts, 0),
    incidents: incidents.length,
    isRight: wide.length === 1 && names.some((each) => each.level === level && each.path.at(-1) === name),
  };
}

export const keyOfLeaf = (leaf: number): string =>
  domainKey({ level: "leaf", path: ["dc", `s${Math.floor(leaf / LEAVES_OF_SPINE)}`, `l${leaf}`], isFabric: true });
