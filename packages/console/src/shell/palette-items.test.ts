import type { Node, WorkloadSummary } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { foundItems, matchesWords, paletteQuery, type AskedCommand } from "./palette-items.ts";

const tasks = { total: 1, waiting: 0, active: 1, succeeded: 0, failed: 0 };
const workload = (fields: Partial<WorkloadSummary>): WorkloadSummary =>
  ({
    id: "w1",
    name: "llama",
    team: "vision",
    phase: "running",
    endedAtMs: null,
    stopRequested: false,
    rerunnable: false,
    tasks,
    ...fields,
  }) as WorkloadSummary;
const node = (fields: Partial<Node>): Node =>
  ({ id: "h100-01", site: "fra", fabric: ["leaf-1"], draining: false, ...fields }) as Node;

/** The labels under which a text finds commands and things, and the command that the chosen one asks about. */
function found(text: string, workloads: readonly WorkloadSummary[], nodes: readonly Node[] = []) {
  const asked: AskedCommand[] = [];
  const items = foundItems(text, {
    workloads,
    nodes,
    openWorkload: () => undefined,
    openNode: () => undefined,
    ask: (command) => asked.push(command),
  });
  return { items, asked, labels: items.map(({ label }) => label) };
}

describe("the palette", () => {
  it("finds an entry by any of its words in any order", () => {
    const entry = { label: "Submit a workload", detail: "train" };
    expect(["", "work sub", "TRAIN", "submit a"].map((query) => matchesWords(query, entry))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(matchesWords("submit node", entry)).toBe(false);
  });

  it("splits a verb from the name after it", () => {
    expect(paletteQuery(" Stop  my run ")).toEqual({ verb: "stop", name: "my run" });
    expect(paletteQuery("drain")).toEqual({ verb: "drain", name: "" });
    expect(paletteQuery("stopwatch")).toEqual({ verb: null, name: "stopwatch" });
    expect(paletteQuery("constructor x")).toEqual({ verb: null, name: "constructor x" });
  });

  it("offers the commands that apply to the best match, below the matches", () => {
    const second = workload({ id: "w2", name: "llama-2", held: true });
    expect(found("llama", [workload({}), second]).labels).toEqual(["llama", "llama-2", "Stop llama", "Hold llama"]);
    expect(found("llama", [second]).labels).toEqual(["llama-2", "Stop llama-2", "Release llama-2"]);
    const ended = workload({ phase: "failed", endedAtMs: 1, stopRequested: true, rerunnable: true });
    expect(found("llama", [ended]).labels).toEqual(["llama", "Rerun llama"]);
    expect(found("llama", [workload({ stopRequested: true })]).labels).toEqual(["llama"]);
    expect(found("H100", [], [node({})]).labels).toEqual(["h100-01", "Drain h100-01"]);
  });

  it("offers only what a verb applies to", () => {
    const workloads = [workload({}), workload({ id: "w2", name: "llama-2", held: true })];
    expect(found("hold llama", workloads).labels).toEqual(["Hold llama"]);
    expect(found("release", workloads).labels).toEqual(["Release llama-2"]);
    const nodes = [node({}), node({ id: "h100-02", draining: true }), node({ id: "b200-01" })];
    expect(found("drain h100", workloads, nodes).labels).toEqual(["Drain h100-01"]);
    expect(found("resume", workloads, nodes).labels).toEqual(["Resume h100-02"]);
  });

  it("asks before it sends a command", () => {
    const { items, asked } = found("stop llama", [workload({})]);
    items[0]?.run();
    expect(asked).toMatchObject([{ of: "workload", verb: "stop", workload: { id: "w1" } }]);
  });
});
