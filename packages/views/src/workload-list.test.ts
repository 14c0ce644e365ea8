import { ENDED_WORKLOADS_KEPT } from "@headroom/engine";
import type { Page, WorkloadQuery, WorkloadSummary } from "@headroom/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SmallFleet } from "./testing/small-fleet.ts";
import { workloadList } from "./workload-list.ts";

function allPages(fleet: SmallFleet, query: WorkloadQuery, between: () => void = () => undefined): string[] {
  const names: string[] = [];
  let page: Page<WorkloadSummary> | null = null;
  do {
    page = workloadList(fleet.engine, { ...query, cursor: page?.nextCursor });
    names.push(...page.items.map(({ name }) => name));
    between();
  } while (page.nextCursor !== null);
  return names;
}

describe("the list of workloads", () => {
  it("filters by phase, kind, name, text, and team with all below it", () => {
    const fleet = SmallFleet.withNodes(1, 2);
    fleet.team("research", null);
    fleet.team("research/nlp", "research");
    fleet.submit("tokenize", { team: "research/nlp", taskCount: 3 });
    fleet.submit("llama-ft", { team: "research" });
    fleet.submit("Llama-eval");
    const names = (query: WorkloadQuery): string[] => workloadList(fleet.engine, query).items.map(({ name }) => name);
    expect(names({})).toEqual(["Llama-eval", "llama-ft", "tokenize"]);
    expect(names({ order: "oldest" })).toEqual(["tokenize", "llama-ft", "Llama-eval"]);
    expect(names({ phase: "running" })).toEqual(["tokenize"]);
    expect(names({ phase: ["running", "pending"] })).toEqual(["Llama-eval", "llama-ft", "tokenize"]);
    expect(names({ phase: ["failed", "cancelled"] })).toEqual([]);
    expect(names({ endedFromMs: 0 })).toEqual([]);
    const [running] = workloadList(fleet.engine, { phase: "running" }).items;
    expect(names({ node: running?.nodes[0] })).toEqual(["tokenize"]);
    expect(names({ node: "elsewhere" })).toEqual([]);
    expect(names({ actor: running?.actor })).toEqual(["Llama-eval", "llama-ft", "tokenize"]);
    expect(names({ actor: "somebody-else" })).toEqual([]);
    expect(names({ submittedFromMs: (running?.submittedAtMs ?? 0) + 1_000_000_000 })).toEqual([]);
    expect(names({ kind: "batch" })).toEqual(["tokenize"]);
    expect(names({ name: "llama-ft" })).toEqual(["llama-ft"]);
    expect(names({ search: "LLAMA" })).toEqual(["Llama-eval", "llama-ft"]);
    expect(names({ search: "w1" })).toEqual(["tokenize"]);
    expect(names({ team: "research" })).toEqual(["llama-ft", "tokenize"]);
    expect(names({ team: "nobody" })).toEqual([]);
  });

  it("shows each workload once, whatever comes and goes between the pages", () => {
    const step = fc.record({ submits: fc.nat(5), stops: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom("newest", "oldest"),
        fc.array(step),
        (limit, order, steps) => {
          const fleet = SmallFleet.withNodes(1, 1);
          const ids = Array.from({ length: 12 }, (_, index) => fleet.submit(`before-${index}`));
          const left = [...steps];
          const seen = allPages(fleet, { limit, order }, () => {
            const { submits = 0, stops = 0 } = left.shift() ?? {};
            for (let count = 0; count < stops; count++) {
              const id = ids.pop();
              if (id !== undefined) fleet.stop(id);
            }
            for (let count = 0; count < submits; count++) fleet.submit(`later-${fleet.engine.state.submittedCount}`);
          });
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.filter((name) => name.startsWith("before-"))).toHaveLength(12);
        },
      ),
    );
  });

  it("goes on behind workloads that were dropped meanwhile, the newest among them", () => {
    const fleet = new SmallFleet();
    const submitAndStop = (count: number): void => {
      for (let index = 0; index < count; index++) fleet.stop(fleet.submit("brief"));
    };
    const survivor = fleet.submit("survivor");
    submitAndStop(ENDED_WORKLOADS_KEPT + 5_000);
    expect(workloadList(fleet.engine, { limit: 1 }).items[0]?.id).toBe(`w${ENDED_WORKLOADS_KEPT + 5_001}`);
    expect(workloadList(fleet.engine, { order: "oldest", limit: 1 }).items[0]?.id).toBe(survivor);
    // Submits twice the number of workloads again, so that the index is rebuilt.
    const kept = Array.from({ length: ENDED_WORKLOADS_KEPT }, () => fleet.submit("patient"));
    const newest = fleet.submit("newest");
    fleet.stop(newest);
    for (const id of kept) fleet.stop(id);
    expect(fleet.engine.state.workloads.has(newest)).toBe(false);
    const page = workloadList(fleet.engine, { limit: 1 });
    expect(page.items[0]?.id).toBe(kept.at(-1));
    fleet.submit("last");
    expect(workloadList(fleet.engine, { limit: 2 }).items.map(({ name }) => name)).toEqual(["last", "patient"]);
    const rare = allPages(fleet, { name: "survivor", limit: 1 });
    expect(rare).toEqual(["survivor"]);
  });
});
