import { readFileSync } from "node:fs";
import path from "node:path";
import { attemptId, workloadId, type Event, type WorkloadSpec } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { checkEvent } from "../events/check-event.ts";
import { facetWarnings } from "../events/known-facets.ts";
import { isUuid } from "../events/formats.ts";
import { addEvent } from "../graph/add-event.ts";
import { LineageGraph } from "../graph/lineage-graph.ts";
import { datasetAt, HistoryExport, runIdOf } from "./history-export.ts";

const options = {
  journal: "chain",
  namespace: "headroom",
  producer: "urn:headroom:0.1.0",
  timeText: (atMs: number) => new Date(atMs).toISOString(),
};
const spec = (name: string, more: Partial<WorkloadSpec>): WorkloadSpec =>
  ({ kind: "train", name, team: "ml", run: `python ${name}.py`, ...more }) as WorkloadSpec;
const [w1, w2] = [workloadId("w1"), workloadId("w2")];

const placed = (workload: typeof w1, number: number): Event =>
  ({
    kind: "gangPlaced",
    version: 1,
    atMs: 2_000,
    attemptId: attemptId(`${workload}.${number}`),
    workloadId: workload,
    task: 0,
    number,
    acceleratorType: "H100",
    workers: [{ node: "n1", accelerators: "0" }],
  }) as unknown as Event;
const fact = (kind: string, more: object): Event => ({ kind, version: 1, atMs: 3_000, ...more }) as unknown as Event;

const history: readonly Event[] = [
  fact("workloadSubmitted", {
    workloadId: w1,
    actor: "ann",
    spec: spec("tokenize", { data: { inputs: ["s3://lake/raw/v6"] } }),
  }),
  fact("workloadSubmitted", {
    workloadId: w2,
    actor: "ann",
    spec: spec("pretrain", {}),
    waitsFor: [{ workloadId: w1, on: "artifact", artifact: "tokens" }],
  }),
  placed(w1, 1),
  fact("attemptStarted", { attemptId: "w1.1" }),
  fact("artifactRecorded", { attemptId: "w1.1", name: "tokens", path: "/data/tokens" }),
  fact("attemptEnded", { attemptId: "w1.1", outcome: "succeeded" }),
  placed(w2, 1),
  fact("attemptStarted", { attemptId: "w2.1" }),
  fact("checkpointRecorded", { attemptId: "w2.1", step: 100, path: "/ckpt/100" }),
  fact("attemptEnded", { attemptId: "w2.1", outcome: "lost" }),
  placed(w2, 2),
  fact("artifactRecorded", { attemptId: "w2.2", name: "model", path: "/models/chat" }),
  fact("attemptEnded", { attemptId: "w2.2", outcome: "stopped" }),
];

describe("HistoryExport", () => {
  const events = [...new HistoryExport(options).fold(history)];

  it("writes events that match the schema, with a start and an end for each run", () => {
    for (const event of events) {
      const verdict = checkEvent(JSON.parse(JSON.stringify(event)));
      expect(verdict).toMatchObject({ verdict: "accepted", kind: "run" });
      expect(verdict.verdict === "accepted" && facetWarnings(verdict)).toEqual([]);
    }
    expect(events.map(({ eventType }) => eventType)).toEqual([
      "START",
      "RUNNING",
      "COMPLETE",
      "START",
      "RUNNING",
      "FAIL",
      "RUNNING",
      "START",
      "ABORT",
    ]);
  });

  it("connects raw data, artifact, checkpoint and model", () => {
    const graph = new LineageGraph();
    for (const event of events) addEvent(graph, { kind: "run", event });
    const { nodes } = graph.walk(graph.find("pretrain/model"), "up", { depthMax: 100, nodesMax: 100 });
    const names = nodes.map(({ node }) => graph.at(node).name);
    expect(names).toEqual(
      expect.arrayContaining(["/ckpt/100", "/data/tokens", "raw/v6", "ml/pretrain", "ml/tokenize"]),
    );
  });

  it("gives an attempt the same run id in every export, and another one in another journal", () => {
    expect(runIdOf("a", "w1.1")).toBe(runIdOf("a", "w1.1"));
    expect(runIdOf("a", "w1.1")).not.toBe(runIdOf("b", "w1.1"));
    expect(runIdOf("a", "w1.1")).toMatch(/^.{14}8.{4}[89ab]/);
    for (let number = 0; number < 100; number += 1) expect(isUuid(runIdOf("a", `w1.${number}`))).toBe(true);
  });

  it.each([
    ["s3://bucket/a/b", { namespace: "s3://bucket", name: "a/b" }],
    ["/data/x", { namespace: "file", name: "/data/x" }],
    ["file:///data/x", { namespace: "file", name: "/data/x" }],
    ["corpus", { namespace: "headroom", name: "corpus" }],
  ])("names the dataset at %s by the conventions of OpenLineage", (place, expected) => {
    expect(datasetAt(place, "headroom")).toEqual(expected);
  });

  it("reads every recorded journal", () => {
    const file = path.resolve(import.meta.dirname, "../../../../test/history/0033-stopped-tasks.journal.jsonl");
    const exporter = new HistoryExport(options);
    const states = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .flatMap((line) => JSON.parse((JSON.parse(line) as { readonly text: string }).text) as readonly Event[])
      .flatMap((event) => [...exporter.fold([event])])
      .map(({ eventType }) => eventType);
    expect(states).toContain("COMPLETE");
  });
});
