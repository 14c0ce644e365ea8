import { defaultPolicy } from "@headroom/model";
import type { QueuePage } from "@headroom/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SmallFleet } from "./testing/small-fleet.ts";
import { holdReasonSentence, queueView } from "./verdict-view.ts";

describe("the queue", () => {
  it("is in the order of the policy, with the dominant reason and totals over everything", () => {
    const fleet = SmallFleet.withNodes(1, 2);
    fleet.submit("running", { gang: { accelerators: 2 } });
    fleet.submit("low", { priority: -1 });
    fleet.submit("high", { priority: 5, gang: { accelerators: 2 } });
    fleet.submit("batch", { taskCount: 10 });
    const page = queueView(fleet.engine, { limit: 2 });
    expect(page.items.map(({ position, workload, reason }) => [position, workload.name, reason?.kind])).toEqual([
      [0, "high", "acceleratorShortfall"],
      [1, "batch", "acceleratorShortfall"],
    ]);
    expect(page.waiting).toEqual({ workloads: 3, tasks: 12, accelerators: 13 });
    const rest = queueView(fleet.engine, { limit: 2, cursor: page.nextCursor });
    expect(rest.items.map(({ position, workload }) => [position, workload.name])).toEqual([[2, "low"]]);
    expect(rest.nextCursor).toBeNull();
  });

  it("counts what waits and is not in it, by what keeps it from it, where that is asked for", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: { ...defaultPolicy, retryInPlaceMs: 0 } });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: 8, accelerators: 8 } });
    fleet.define({ name: "guest", parent: null, limit: {} });
    const opportunisticJob = fleet.submit("loan", { team: "guest", gang: { accelerators: 8 }, preemptible: true });
    for (const id of fleet.engine.state.workloads.get(opportunisticJob)?.activeAttempts ?? [])
      fleet.receive({ kind: "attemptRunning", attemptId: id });
    fleet.submit("own", { team: "owner", gang: { accelerators: 8 } });
    fleet.finish(fleet.submit("fails", { gang: { accelerators: 0 } }), 1);
    fleet.submit("held", { hold: true });
    fleet.submit("held-too", { hold: true, notBeforeMs: 99_000_000 });
    fleet.submit("later", { notBeforeMs: 99_000_000 });
    fleet.submit("next", { after: [{ workload: "held", on: "any" }] });
    fleet.submit("waits");
    const page = queueView(fleet.engine, { holdReason: true });
    expect(page.items.map(({ workload }) => workload.name)).toEqual(["waits"]);
    const counts = { held: 2, waitsFor: 1, notBefore: 1, startWindow: 0, backoff: 1, nominated: 1 };
    expect(page.holdReason).toEqual(counts);
    expect(holdReasonSentence(counts)).toBe(
      "Not in the queue: 2 are held, 1 waits for a dependency, 1 waits for its start time, 1 is in back-off, 1 is nominated.",
    );
    expect(queueView(fleet.engine, { holdReason: true, search: "later" }).holdReason).toMatchObject({
      held: 0,
      notBefore: 1,
    });
    expect(queueView(fleet.engine, {}).holdReason).toBeUndefined();
  });

  it("shows those that are asked for, with their places in the whole", () => {
    const fleet = SmallFleet.withNodes(1, 1);
    fleet.define({ name: "research", parent: null, limit: {} });
    fleet.define({ name: "nlp", parent: "research", limit: {} });
    fleet.submit("running", { gang: { accelerators: 1 } });
    for (const [name, team] of [
      ["a", "default"],
      ["b", "nlp"],
      ["c", "default"],
      ["d", "research"],
    ] as const)
      fleet.submit(name, { team, gang: { accelerators: 1 } });
    const placesOf = ({ items }: QueuePage): unknown =>
      items.map(({ position, workload }) => `${position} ${workload.name}`);
    const page = queueView(fleet.engine, { team: "research", limit: 1 });
    expect(placesOf(page)).toEqual(["1 b"]);
    const rest = queueView(fleet.engine, { team: "research", limit: 5, cursor: page.nextCursor });
    expect([placesOf(rest), rest.nextCursor, rest.waiting.workloads]).toEqual([["3 d"], null, 4]);
    expect(placesOf(queueView(fleet.engine, { search: "C" }))).toEqual(["2 c"]);
  });

  it("hides and repeats nothing, whatever starts, stops and comes between two pages", () => {
    const change = fc.record({
      submits: fc.array(fc.integer({ min: -2, max: 2 }), { maxLength: 3 }),
      stops: fc.nat(2),
      frees: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -2, max: 2 }), { maxLength: 30 }),
        fc.array(change),
        fc.integer({ min: 1, max: 5 }),
        (priorities, changes, limit) => {
          const fleet = SmallFleet.withNodes(1, 4);
          const running = fleet.submit("running", { gang: { accelerators: 4 } });
          const gangs = [1, 2, 3, 4].map((accelerators) => ({ accelerators }));
          const ids = priorities.map((priority, index) =>
            fleet.submit(`w-${index}`, { priority, gang: gangs[index % 4] ?? {} }),
          );
          const left = [...changes];
          const seen: string[] = [];
          let cursor: string | null = null;
          do {
            const page = queueView(fleet.engine, { limit, cursor });
            seen.push(...page.items.map(({ workload }) => workload.id));
            cursor = page.nextCursor;
            const { submits = [], stops = 0, frees = false } = left.shift() ?? {};
            for (const priority of submits) fleet.submit("late", { priority });
            for (const id of ids.slice(0, stops))
              if (fleet.engine.state.workloads.get(id)?.phase === "pending") fleet.stop(id);
            if (frees && fleet.engine.state.workloads.get(running)?.phase === "running") fleet.finish(running, 0);
          } while (cursor !== null);
          expect(new Set(seen).size).toBe(seen.length);
          const waiting = ids.filter((id) => fleet.engine.state.workloads.get(id)?.phase === "pending");
          expect(waiting.filter((id) => !seen.includes(id))).toEqual([]);
        },
      ),
    );
  });

  it("counts positions from the head as it is now", () => {
    const fleet = SmallFleet.withNodes(1, 2);
    const running = fleet.submit("running", { gang: { accelerators: 2 } });
    for (let index = 0; index < 9; index++) fleet.submit(`waiting-${index}`);
    const first = queueView(fleet.engine, { limit: 4 });
    expect(first.items.at(-1)?.workload.name).toBe("waiting-3");
    fleet.finish(running, 0);
    const second = queueView(fleet.engine, { limit: 2, cursor: first.nextCursor });
    expect(second.items.map(({ position, workload }) => [position, workload.name])).toEqual([
      [2, "waiting-4"],
      [3, "waiting-5"],
    ]);
  });
});
