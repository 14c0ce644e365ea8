import { describe, expect, it } from "vitest";
import type { Facets, LineageEvent } from "../events/event.ts";
import { addEvent } from "./add-event.ts";
import { LineageGraph } from "./lineage-graph.ts";

const base = { eventTime: "2026-11-01T12:00:00Z", producer: "urn:p", schemaURL: "urn:s" };
const facet = { _producer: "urn:p", _schemaURL: "urn:f" };
const all = { depthMax: 100, nodesMax: 1_000 };
const uuid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;

interface Data {
  readonly name: string;
  readonly version?: string;
  readonly facets?: Facets;
}
const dataset = ({ name, version, facets = {} }: Data): { namespace: string; name: string; facets: Facets } => ({
  namespace: "s3://lake",
  name,
  facets: { ...facets, ...(version !== undefined && { version: { ...facet, datasetVersion: version } }) },
});
const runEvent = (id: number, job: string, inputs: readonly Data[], outputs: readonly Data[]): LineageEvent => ({
  kind: "run",
  event: {
    ...base,
    eventType: "COMPLETE",
    run: { runId: uuid(id) },
    job: { namespace: "ml", name: job },
    inputs: inputs.map(dataset),
    outputs: outputs.map(dataset),
  },
});
const model: Facets = { datasetType: { ...facet, datasetType: "MODEL" } };

function namesOf(graph: LineageGraph, start: string, direction: "up" | "down", limits = all): readonly string[] {
  return graph.walk(graph.find(start), direction, limits).nodes.map(({ node }) => {
    const { kind, name, version, label } = graph.at(node);
    return `${kind} ${label ?? name}${version === undefined ? "" : `@${version}`}`;
  });
}

describe("LineageGraph", () => {
  const graph = new LineageGraph();
  for (const event of [
    runEvent(1, "clean", [{ name: "raw" }], [{ name: "corpus/v6", version: "6" }]),
    runEvent(2, "clean", [{ name: "raw" }], [{ name: "corpus/v6", version: "7" }]),
    runEvent(3, "train", [{ name: "corpus/v6", version: "6" }], [{ name: "models/chat", facets: model }]),
    runEvent(3, "train", [{ name: "corpus/v6", version: "6" }], [{ name: "models/chat", facets: model }]),
    runEvent(4, "evaluate", [{ name: "models/chat" }], [{ name: "report" }]),
  ])
    addEvent(graph, event);

  it("walks from a version of a dataset to the models that saw it", () => {
    expect(namesOf(graph, "corpus/v6@6", "down")).toEqual([
      "dataset corpus/v6@6",
      "dataset corpus/v6",
      "run train",
      "model models/chat",
      "run evaluate",
      "dataset report",
    ]);
    expect(namesOf(graph, "corpus/v6@7", "down")).toEqual(["dataset corpus/v6@7", "dataset corpus/v6"]);
  });

  it("walks from a report up to the raw data", () => {
    expect(namesOf(graph, "report", "up")).toEqual([
      "dataset report",
      "run evaluate",
      "job evaluate",
      "model models/chat",
      "run train",
      "job train",
      "dataset corpus/v6@6",
      "run clean",
      "job clean",
      "dataset raw",
    ]);
  });

  it("states when a limit cuts the walk", () => {
    const starts = graph.find("report");
    expect(graph.walk(starts, "up", { depthMax: 1, nodesMax: 10 })).toMatchObject({ isCut: true });
    expect(graph.walk(starts, "up", { depthMax: 100, nodesMax: 3 })).toMatchObject({ isCut: true });
    expect(graph.walk(starts, "down", { depthMax: 0, nodesMax: 10 })).toMatchObject({ isCut: false });
  });

  it("finds names by whole name, last part, run id and symlink", () => {
    const symlinks = { ...facet, identifiers: [{ namespace: "hive", name: "db.orders", type: "TABLE" }] };
    addEvent(graph, { kind: "dataset", event: { ...base, dataset: dataset({ name: "o/1", facets: { symlinks } }) } });
    const found = (text: string): readonly string[] => graph.find(text).map((node) => graph.at(node).name);
    expect(found("db.orders")).toEqual(["o/1"]);
    expect(found("hive/db.orders")).toEqual(["o/1"]);
    expect(found("chat")).toEqual(["models/chat"]);
    expect(found("s3://lake/models/chat")).toEqual(["models/chat"]);
    expect(found(uuid(4))).toEqual([uuid(4)]);
    expect(found("nothing")).toEqual([]);
  });

  it("follows parent runs, code and jobs that are declared without a run", () => {
    const other = new LineageGraph();
    const sourceCodeLocation = { ...facet, type: "git", url: "https://git/x", version: "abc" };
    addEvent(other, {
      kind: "job",
      event: {
        ...base,
        job: { namespace: "n", name: "j", facets: { sourceCodeLocation } },
        outputs: [dataset({ name: "d" })],
      },
    });
    addEvent(other, {
      kind: "run",
      event: {
        ...base,
        run: {
          runId: uuid(2),
          facets: { parent: { ...facet, run: { runId: uuid(1) }, job: { namespace: "n", name: "dag" } } },
        },
        job: { namespace: "n", name: "j" },
      },
    });
    expect(namesOf(other, "https://git/x", "down")).toEqual(["code https://git/x@abc", "job j", "dataset d", "run j"]);
    expect(namesOf(other, uuid(1), "down")).toEqual(["run dag", "run j"]);
  });

  it("walks a graph with cycles once", () => {
    const cyclic = new LineageGraph();
    addEvent(cyclic, runEvent(1, "a", [{ name: "x" }], [{ name: "y" }]));
    addEvent(cyclic, runEvent(2, "b", [{ name: "y" }], [{ name: "x" }]));
    expect(namesOf(cyclic, "x", "down")).toHaveLength(4);
  });
});
