/**
 * The openb traces of Alibaba's GPU clusters (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023): a list of nodes and a
 * list of pods. Times in whole seconds, `gpu_milli` in thousandths of one GPU, `gpu_spec` as `V100M16|V100M32`.
 */
import { nodeId, poolName, type NodeSpec, type Pool } from "@headroom/engine";
import { simulatedSite, type FleetSpec } from "../run/fleet-spec.ts";
import { readTable } from "./delimited.ts";
import { ImportBook, type Row } from "./row.ts";
import { traceBounds, type ImportOptions, type TraceImport, type TraceLines } from "./trace.ts";

const nodeColumns = ["sn", "cpu_milli", "memory_mib", "gpu", "model"];
const podColumns = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time"];

export function importOpenb(
  sources: { readonly nodes: TraceLines; readonly pods: TraceLines },
  options: ImportOptions,
): TraceImport {
  const book = new ImportBook();
  const nodes: NodeSpec[] = [];
  const pools = new Map<string, Pool>();
  const seen = new Set<string>();
  const nodeComplaint = readTable(sources.nodes, csv(nodeColumns), book, (row) => {
    const node = readNode(row);
    if (seen.has(node.id)) row.fail(`sn: ${node.id} is there twice`);
    if (row.problem !== null) return;
    seen.add(node.id);
    nodes.push(node);
    if (!pools.has(node.pool)) pools.set(node.pool, poolOf(node.pool, row.text("model")));
  });
  if (nodeComplaint !== null) return book.refuse(nodeComplaint);
  const podComplaint = readTable(sources.pods, csv([...podColumns, "deletion_time"]), book, (row) =>
    readPod(row, book),
  );
  if (podComplaint !== null) return book.refuse(podComplaint);
  if (nodes.length === 0) return book.refuse(`${sources.nodes.file}: there is no node in it`);
  const fleet: FleetSpec = { sites: [simulatedSite], pools: [...pools.values()], nodes };
  return book.finish(options, fleet);
}

function csv(required: readonly string[]): Parameters<typeof readTable>[1] {
  return { delimiter: ",", required, quotes: "rfc4180" };
}

function readNode(row: Row): NodeSpec {
  const id = row.text("sn");
  if (id === "") row.fail("sn: is empty");
  const model = row.text("model");
  const acceleratorCount = row.integer("gpu", traceBounds.accelerators);
  if (acceleratorCount > 0 && model === "") row.fail("model: a node with GPUs must name theirs");
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

function readPod(row: Row, book: ImportBook): void {
  const accelerators = row.integer("num_gpu", traceBounds.accelerators);
  const acceleratorMilli = row.integer("gpu_milli", 1000);
  const createdAtS = row.integer("creation_time", traceBounds.submittedAtS);
  const coresMilli = row.integer("cpu_milli", traceBounds.coresMilli);
  const memoryMib = row.integer("memory_mib", traceBounds.memoryMib);
  const endsAt = row.text("deletion_time");
  const startsAt = row.text("scheduled_time");
  if (row.problem !== null) return;
  if (accelerators === 1 && acceleratorMilli < 1000) return book.unsupported("fractionsOfAnAccelerator");
  if (startsAt === "") return book.leaveOut("neverStarted");
  if (endsAt === "") return book.leaveOut("stillRunning");
  const startedAtS = row.integerFrom(startsAt, "scheduled_time", traceBounds.submittedAtS);
  const endedAtS = row.integerFrom(endsAt, "deletion_time", traceBounds.submittedAtS);
  if (endedAtS < startedAtS) row.fail(`deletion_time: ${endedAtS} lies before scheduled_time ${startedAtS}`);
  if (startedAtS < createdAtS) row.fail(`scheduled_time: ${startedAtS} lies before creation_time ${createdAtS}`);
  if (row.problem !== null) return;
  const spec = row.text("gpu_spec");
  const job = {
    id: row.text("name"),
    submittedAtMs: createdAtS * 1000,
    durationMs: (endedAtS - startedAtS) * 1000,
    accelerators,
    coresMilli,
    memoryMib,
    acceleratorTypes: spec === "" ? [] : spec.split("|"),
  };
  // Here work without accelerators competes for cores and memory with the rest, so it stays in.
  if (accelerators === 0 && job.durationMs > 0) book.jobs.push(job);
  else book.job(job);
}
