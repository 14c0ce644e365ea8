/** "Expected in 5 weeks: then it starts": orders in verdicts, estimates and forecasts. */
import { poolName } from "@headroom/model";
import { canNeverStart, whatIfQuestion } from "@headroom/protocol";
import { whatIf } from "@headroom/sim";
import { describe, expect, it } from "vitest";
import { estimateView, forecastView } from "./forecast-view.ts";
import { ownNames } from "./testing/own-names.ts";
import { SmallFleet, specOf } from "./testing/small-fleet.ts";
import { whatIfChange } from "./tried-change.ts";
import { verdictView } from "./verdict-view.ts";
import { whatIfView } from "./what-if-view.ts";

const WEEK_MS = 7 * 86_400_000;
const big = { gang: { workers: 4, accelerators: 8 } };

function fleetWithOrder(phase: "planned" | "ordered"): SmallFleet {
  const fleet = SmallFleet.withNodes(2, 8);
  const arrival = { kind: "leadTime", p50Ms: 5 * WEEK_MS, p95Ms: 8 * WEEK_MS } as const;
  const order = { name: "rack-7", pool: poolName("H100"), nodeCount: 2, arrival };
  fleet.command({ kind: "createCapacityOrder", order, phase, reason: "" });
  return fleet;
}

describe("work that fits only with ordered nodes", () => {
  it("is told which order, and when it is expected", () => {
    const fleet = fleetWithOrder("ordered");
    const verdict = verdictView(fleet.engine, fleet.submit("big", big));
    if (verdict?.kind !== "blocked") throw new Error("it waits");
    expect(verdict.sentence).toMatch(
      /^Waits for order rack-7 \(ordered, 2 nodes for pool H100 to come\): expected in 5 weeks, 1970-02-05 \(P95 in 8 weeks, 1970-02-26\); then it can start\. Exceeds the fleet/,
    );
    expect(verdict.expectedCapacity).toMatchObject({
      orders: [{ name: "rack-7", phase: "ordered", nodes: 2, lateMs: 0 }],
      p50AtMs: 1_000 + 5 * WEEK_MS,
      p95AtMs: 1_000 + 8 * WEEK_MS,
    });
    expect(verdict.wakeOn).toContain("capacityOrderAdvanced");
    expect([verdict.neverStarts, canNeverStart(verdict)]).toEqual([true, false]);
  });

  it("is told so before it is submitted, and by an estimate", () => {
    const fleet = fleetWithOrder("planned");
    const answer = forecastView(fleet.engine, { spec: specOf("big", big), actor: "ann" }, () => []);
    if (answer.kind !== "forecast" || answer.forecast.kind !== "waits") throw new Error("it would wait");
    expect(answer.forecast.sentence).toMatch(/^It would wait\. Waits for order rack-7 .* if ordered now, expected in/);
    const workloadId = fleet.submit("big", big);
    const because = { endsBefore: 0, startsBefore: 0, startedCount: 0, scenarioCount: 0, arrivalsReplayed: false };
    const none = { atMs: fleet.nowMs, p10AtMs: null, p50AtMs: null, p90AtMs: null, because };
    expect(estimateView(fleet.engine, { workloadId, ...none }).expectedCapacity?.orders[0]?.name).toBe("rack-7");
  });

  it("is told that the order is late, and never that it has capacity", () => {
    const fleet = fleetWithOrder("ordered");
    const id = fleet.submit("big", big);
    fleet.nowMs += 6 * WEEK_MS;
    fleet.receive({ kind: "tick" });
    const verdict = verdictView(fleet.engine, id);
    expect(verdict?.sentence).toContain("late: expected 7 days ago, 1970-02-05 (P95 in 2 weeks, 1970-02-26)");
    expect(fleet.engine.state.workloads.get(id)?.phase).toBe("pending");
    fleet.command({ kind: "cancelCapacityOrder", name: "rack-7", reason: "" });
    expect(verdictView(fleet.engine, id)).not.toHaveProperty("expectedCapacity");
  });

  it("starts in a what-if with the order, and not without it", () => {
    const fleet = fleetWithOrder("ordered");
    fleet.submit("big", big);
    const question = (orders: readonly string[]) =>
      whatIfChange(fleet.engine, whatIfQuestion.parse({ orders }), ownNames);
    expect(question([]).added).toBeUndefined();
    expect(question(["rack-7", "rack-7"]).added?.nodes.map(({ pool }) => pool)).toEqual(["H100", "H100"]);
    expect(() => question(["rack-8"])).toThrow("There is no capacity order rack-8");
    const present = { engine: fleet.engine, sequence: 1, nowMs: fleet.nowMs };
    const asked = { change: question(["rack-7"]), horizonMs: 3_600_000, arrivals: "none" } as const;
    const { moved } = whatIfView(present, asked, whatIf);
    expect(moved).toMatchObject([{ name: "big", presentAtMs: null, changedAtMs: fleet.nowMs }]);
  });

  it("is not told of orders that do not help it", () => {
    const fleet = fleetWithOrder("ordered");
    const ids = [
      fleet.submit("type", { ...big, acceleratorTypes: ["B200"] }),
      fleet.submit("node", { gang: { workers: 1, accelerators: 9 } }),
      fleet.submit("fleet", { gang: { workers: 5, accelerators: 8 } }),
      fleet.submit("held", { ...big, hold: true }),
      fleet.submit("fits", { gang: { workers: 2, accelerators: 8 } }),
    ];
    for (const id of ids) expect(verdictView(fleet.engine, id)).not.toHaveProperty("expectedCapacity");
  });
});
