/**
 * The tables of the openb traces of Alibaba's GPU clusters (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023): a
 * list of nodes and a list of pods. Times are in whole seconds. `gpu_milli` is in thousandths of one GPU and applies
 * only if `num_gpu` is 1. `gpu_spec` is like `V100M16|V100M32`, empty if any model is accepted; the multi-GPU lists
 * have no such column.
 */
import { nodeId, poolName } from "@headroom/model";
import type { NodeSpec, Pool } from "@headroom/model";
import { simulatedSite, type FleetSpec } from "../run/fleet-spec.ts";
import { readTable } from "./delimited.ts";
import type { ImportLedger, Row } from "./row.ts";
import { traceBounds, type TraceJob, type TraceLines } from "./trace.ts";

export interface OpenbSources {
  readonly nodes: TraceLines;
  readonly pods: TraceLines;
}

/** Resources that a pod requests. */
export type OpenbAsk = Omit<TraceJob, "submittedAtMs" | "durationMs">;

const nodeColumns = ["sn", "cpu_milli", "memory_mib", "gpu", "model"];
const askColumns = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];

/** Returns the nodes as a fleet with one pool for each model, or a problem that concerns the whole file. */
export function readNodes(source: TraceLines, ledger: ImportLedger): FleetSpec | string {
  const nodes: NodeSpec[] = [];
  const pools = new Map<string, Pool>();
  const seen = new Set<string>();
  const complaint = readTable(source, csv(nodeColumns), ledger, (row) => {
    const node = readNode(row);
    if (seen.has(node.id)) row.fail(`sn: node ${node.id} is in the list twice`);
    if (row.problem !== null) return;
    seen.add(node.id);
    nodes.push(node);
    if (!pools.has(node.pool)) pools.set(node.pool, poolOf(node.pool, row.text("model")));
  });
  if (complaint !== null) return complaint;
  if (nodes.length === 0) return `${source.file}: the file has no node`;
  return { sites: [simulatedSite], pools: [...pools.values()], nodes };
}

/** Visits every pod that has a valid request; `columns`: further columns for the visitor. */
export function readPods(
  source: TraceLines,
  columns: readonly string[],
  ledger: ImportLedger,
  visit: (row: Row, ask: OpenbAsk) => void,
): string | null {
  return readTable(source, csv([...askColumns, ...columns]), ledger, (row) => {
    const ask = readAsk(row);
    if (row.problem === null) visit(row, ask);
  });
}

function csv(required: readonly string[]): Parameters<typeof readTable>[1] {
  return { delimiter: ",", required, quotes: "rfc4180" };
}

function readNode(row: Row): NodeSpec {
  const id = row.text("sn");
  if (id === "") row.fail("sn: is empty");
  const model = row.text("model");
  const acceleratorCount = row.integer("gpu", traceBounds.accelerators);
  if (acceleratorCount > 0 && model === "") row.fail("model: a node with GPUs must state the model of its GPUs");
  return {
    id: nodeId(id),
    pool: poolName(model === "" ? "cpu" : model.toLowerCase()),
    fabric: [],
    acceleratorCount,
    coresMilli: row.integer("cpu_milli", traceBounds.coresMilli),
    memoryMib: row.integer("memory_mib", traceBounds.memoryMib),
  };
}

function poolOf(name: Pool["name"], acceleratorType: string): Pool {
  return { name, site: simulatedSite.name, executor: "simulated", acceleratorType, priceMicroUsdPerHour: 0 };
}

function readAsk(row: Row): OpenbAsk {
  const accelerators = row.integer("num_gpu", traceBounds.accelerators);
  const acceleratorMilli = row.integer("gpu_milli", 1000);
  if (accelerators === 1 && acceleratorMilli === 0)
    row.fail("gpu_milli: the pod requests one GPU (num_gpu) but no part of it");
  const spec = row.text("gpu_spec");
  const isShare = accelerators === 1 && acceleratorMilli < 1000;
  return {
    id: row.text("name"),
    accelerators,
    ...(isShare ? { shareMilli: acceleratorMilli } : {}),
    coresMilli: row.integer("cpu_milli", traceBounds.coresMilli),
    memoryMib: row.integer("memory_mib", traceBounds.memoryMib),
    acceleratorTypes: spec === "" ? [] : spec.split("|"),
  };
}
