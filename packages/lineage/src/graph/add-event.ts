/**
 * Adds OpenLineage events to a graph. A run uses its inputs, its job's code and its parent run, and makes its outputs. The metadata of
 * the events of one run is additive. Versions of a dataset are nodes of their own before the node of the dataset: whoever reads the
 * dataset without a version may have read any of them.
 */
import type { Facets, LineageEvent, OpenLineageDataset, OpenLineageJob, RunEvent } from "../events/event.ts";
import type { LineageGraph } from "./lineage-graph.ts";

export function addEvent(graph: LineageGraph, lineage: LineageEvent): void {
  switch (lineage.kind) {
    case "dataset":
      addDataset(graph, lineage.event.dataset);
      return;
    case "job":
      connect(graph, addJob(graph, lineage.event.job), lineage.event);
      return;
    case "run":
      addRun(graph, lineage.event);
  }
}

interface Datasets {
  readonly inputs?: readonly OpenLineageDataset[];
  readonly outputs?: readonly OpenLineageDataset[];
}

function connect(graph: LineageGraph, process: number, { inputs = [], outputs = [] }: Datasets): void {
  for (const input of inputs) graph.edge(addDataset(graph, input), process);
  for (const output of outputs) graph.edge(process, addDataset(graph, output));
}

function addRun(graph: LineageGraph, event: RunEvent): void {
  const { namespace, name } = event.job;
  const run = graph.node({ kind: "run", namespace, name: event.run.runId.toLowerCase(), label: name });
  if (event.eventType !== undefined && event.eventType !== "OTHER") graph.annotate(run, { state: event.eventType });
  graph.edge(addJob(graph, event.job), run);
  const parent = event.run.facets?.["parent"];
  const [parentRun, parentJob] = [fieldsOf(parent?.["run"]), fieldsOf(parent?.["job"])];
  const parentId = parentRun["runId"];
  if (typeof parentId === "string" && typeof parentJob["name"] === "string")
    graph.edge(
      graph.node({
        kind: "run",
        namespace: typeof parentJob["namespace"] === "string" ? parentJob["namespace"] : "",
        name: parentId.toLowerCase(),
        label: parentJob["name"],
      }),
      run,
    );
  connect(graph, run, event);
}

function addJob(graph: LineageGraph, { namespace, name, facets }: OpenLineageJob): number {
  const job = graph.node({ kind: "job", namespace, name });
  const location = facets?.["sourceCodeLocation"];
  const url = location?.["url"];
  if (location === undefined || location["_deleted"] === true || typeof url !== "string") return job;
  const version = location["version"];
  const code = graph.node({ kind: "code", namespace: "", name: url, ...(typeof version === "string" && { version }) });
  graph.edge(code, job);
  return job;
}

/** Returns the node that stands for the dataset in this event: its version, if the event states one. */
function addDataset(graph: LineageGraph, { namespace, name, facets = {} }: OpenLineageDataset): number {
  const kind = facets["datasetType"]?.["datasetType"] === "MODEL" ? "model" : "dataset";
  const dataset = graph.node({ kind, namespace, name });
  addSymlinks(graph, dataset, facets);
  const version = facets["version"]?.["datasetVersion"];
  if (typeof version !== "string" || version === "" || facets["version"]?.["_deleted"] === true) return dataset;
  const versioned = graph.node({ kind, namespace, name, version });
  addSymlinks(graph, versioned, facets);
  graph.edge(versioned, dataset);
  return versioned;
}

function addSymlinks(graph: LineageGraph, dataset: number, facets: Facets): void {
  const identifiers = facets["symlinks"]?.["identifiers"];
  if (!Array.isArray(identifiers)) return;
  for (const identifier of identifiers) {
    const { namespace, name } = fieldsOf(identifier);
    if (typeof name !== "string") continue;
    graph.alias(name, dataset);
    if (typeof namespace === "string") graph.alias(`${namespace}/${name}`, dataset);
  }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
