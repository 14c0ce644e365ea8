import { commandId, presets, teamName } from "@headroom/model";
import type { Command, Input, WorkloadId, WorkloadSpec } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { uniformFleet } from "../run/fleet-spec.ts";
import { RangeCalibration } from "./calibration.ts";
import { estimateStarts, usualEstimateOptions, type StartEstimate } from "./estimate-starts.ts";
import { jobOfFour } from "./testing/job-of-four.ts";
import { specOf, traceStarts } from "./trace-starts.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** An instant eleven days before the end of its month. */
const START_MS = Date.UTC(2026, 10, 20);
const MONTH_END_MS = Date.UTC(2026, 11, 1);

type Apply = Command & { readonly kind: "apply" };
type Changes = Partial<Omit<WorkloadSpec, "gang" | "kind" | "team" | "name">> & {
  readonly team?: string;
  readonly accelerators?: number;
  readonly workers?: number;
  readonly taskCount?: number;
};

/** An engine with two nodes of four accelerators. */
class TwoNodes {
  readonly engine: Engine;
  nowMs = START_MS;
  #count = 0;

  constructor() {
    const fleet = uniformFleet({ nodeCount: 2, acceleratorsPerNode: 4 });
    const submittedAtMs = START_MS;
    const job = { ...jobOfFour, submittedAtMs };
    this.engine = traceStarts({ jobs: [job], fleet, policy: presets.get("default")! }).engine;
  }

  receive(...inputs: readonly Input[]): void {
    for (const { kind, rejection } of this.engine
      .receive(inputs, this.nowMs)
      .replies.map((reply) => ({ rejection: null, ...reply })))
      if (kind !== "accepted") throw new Error(`refused: ${JSON.stringify(rejection)}`);
    this.engine.advance();
    const launched = [...this.engine.state.attempts.values()].filter(({ phase }) => phase === "launching");
    if (launched.length > 0)
      this.receive(...launched.map(({ id }): Input => ({ kind: "attemptRunning", attemptId: id })));
  }

  #asking() {
    return { commandId: commandId(`b${this.#count++}`), actor: "ann", idempotencyKey: null };
  }

  apply(documents: Partial<Pick<Apply, "teams" | "calendar" | "schedules">>): void {
    const nothing = { sites: [], pools: [], teams: [], workloads: [] };
    this.receive({ ...this.#asking(), kind: "apply", ...nothing, ...documents });
  }

  submit(
    name: string,
    { team = "trace", accelerators = 4, workers = 1, taskCount, ...changes }: Changes = {},
  ): WorkloadId {
    const base = { ...specOf(jobOfFour, 0), name, team: teamName(team), walltimeMs: HOUR_MS, ...changes };
    const gang = { ...base.gang, accelerators, workers };
    const spec = taskCount === undefined ? { ...base, gang } : { ...base, gang, kind: "batch" as const, taskCount };
    this.receive({ ...this.#asking(), kind: "submitWorkload", spec });
    return [...this.engine.state.workloads.keys()].at(-1)!;
  }

  stop(workloadId: WorkloadId): void {
    this.receive({ ...this.#asking(), kind: "stopWorkload", workloadId });
  }

  /** A script that records an event every minute, without end. */
  everyMinute(): void {
    const upTo = (first: number, last: number): number[] =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const days = { daysOfMonth: upTo(1, 31), months: upTo(1, 12), daysOfWeek: upTo(0, 6) };
    const times = { minutes: upTo(0, 59), hours: upTo(0, 23), ...days };
    const spec = { ...specOf(jobOfFour, 0), name: "tick", walltimeMs: 1000 };
    this.apply({ schedules: [{ name: "tick", spec, times, concurrency: "forbid" }] });
  }

  estimates(): ReadonlyMap<WorkloadId, StartEstimate> {
    const calibration = new RangeCalibration();
    const found = estimateStarts(this.engine, { ...usualEstimateOptions, nowMs: this.nowMs, calibration });
    return new Map(found.map((each) => [each.workloadId, each]));
  }
}

/** Each engine has first a used-up budget, and then a budget that is not used up. */
function withSpentBudget(period: "total" | "month"): TwoNodes {
  const fleet = new TwoNodes();
  const budget = { gpuHours: 4, period, over: "hold" } as const;
  fleet.apply({ teams: [{ name: teamName("lab"), parent: null, limit: {}, budget }] });
  const first = fleet.submit("first", { team: "lab", walltimeMs: null });
  fleet.nowMs += 2 * HOUR_MS;
  fleet.stop(first);
  const [attemptId] = fleet.engine.state.attempts.keys();
  fleet.receive({ kind: "attemptExited", attemptId: attemptId!, exits: [{ kind: "exited", worker: 0, code: 0 }] });
  return fleet;
}

const never = { p10AtMs: null, p50AtMs: null, p90AtMs: null, because: { startedCount: 0, scenarioCount: 0 } };

describe("an array of which some tasks run", () => {
  it("has an estimate of its next task", () => {
    const fleet = new TwoNodes();
    const array = fleet.submit("array", { taskCount: 5 });
    const next = fleet.submit("next");
    const found = fleet.estimates();
    expect([...found.keys()]).toEqual([array, next]);
    expect(found.get(array)!.p50AtMs!).toBeGreaterThan(START_MS);
    expect(found.get(array)!.p90AtMs!).toBeLessThanOrEqual(found.get(next)!.p90AtMs!);
  });

  it("has none once all of them have a place", () => {
    const fleet = new TwoNodes();
    fleet.submit("array", { taskCount: 2 });
    expect([...fleet.estimates().keys()]).toEqual([]);
  });
});

describe("what does not start as things are", () => {
  it("has no time, and nothing is played for it, whatever happens meanwhile", () => {
    const fleet = new TwoNodes();
    const held = fleet.submit("held", { hold: true });
    const after = fleet.submit("after", { after: [{ workload: "held", on: "ok" }] });
    const large = fleet.submit("large", { accelerators: 5 });
    fleet.everyMinute();
    const found = fleet.estimates();
    for (const id of [held, after, large]) {
      expect(found.get(id)).toMatchObject(never);
      expect(found.get(id)).not.toHaveProperty("playedUntilMs");
    }
  });

  it("is work that asks for more than a limit of its team, or of one user there, allows", () => {
    const fleet = new TwoNodes();
    const teams = [
      { name: teamName("lab"), parent: null, limit: {}, userLimit: { accelerators: 6 } },
      { name: teamName("short"), parent: null, limit: { accelerators: 3 } },
    ];
    fleet.apply({ teams });
    const ids = [fleet.submit("wide", { team: "lab", workers: 2 }), fleet.submit("large", { team: "short" })];
    const found = fleet.estimates();
    for (const id of ids) expect(found.get(id)).toMatchObject(never);
  });

  it("is work of a budget that does not begin anew", () => {
    const fleet = withSpentBudget("total");
    const waiting = fleet.submit("waiting", { team: "lab" });
    fleet.everyMinute();
    expect(fleet.estimates().get(waiting)).toMatchObject(never);
  });
});

describe("no range begins before what is certain", () => {
  it("when a budget begins anew", () => {
    const fleet = withSpentBudget("month");
    const id = fleet.submit("waiting", { team: "lab" });
    const { p10AtMs, p50AtMs } = fleet.estimates().get(id)!;
    expect(p10AtMs!).toBeGreaterThanOrEqual(MONTH_END_MS);
    expect(p50AtMs!).toBeLessThan(MONTH_END_MS + HOUR_MS);
  });

  it("when power becomes cheap, though everything is held then", () => {
    const fleet = new TwoNodes();
    const opensMs = START_MS + 6 * HOUR_MS;
    const when = { kind: "once", startMs: START_MS, endMs: opensMs } as const;
    const night = { kind: "once", startMs: opensMs, endMs: opensMs + 90 * 24 * HOUR_MS } as const;
    fleet.apply({
      calendar: [
        { kind: "tariff", name: "day", when, microUsdPerKwh: 300_000 },
        { kind: "tariff", name: "night", when: night, microUsdPerKwh: 50_000 },
      ],
    });
    const startWindow = { startWindow: { microUsdPerKwhMax: 80_000 } };
    const [idle, busy] = [fleet.submit("idle", startWindow), fleet.submit("busy", startWindow)];
    for (const name of ["a", "b"]) fleet.submit(name, { walltimeMs: 9 * HOUR_MS });
    const found = fleet.estimates();
    for (const id of [idle, busy]) expect(found.get(id)!.p10AtMs!).toBeGreaterThanOrEqual(opensMs);
  });

  it("when maintenance ends that leaves it no room, and not where it is only in the way", () => {
    const fleet = new TwoNodes();
    const endMs = START_MS + 6 * HOUR_MS;
    const window = { kind: "maintenance", startMs: START_MS, endMs } as const;
    const nodes = [...fleet.engine.state.nodes.keys()];
    fleet.apply({ calendar: [{ ...window, name: "one", nodes: nodes.slice(0, 1) }] });
    fleet.submit("holder", { walltimeMs: 2 * HOUR_MS });
    const partly = fleet.submit("partly");
    expect(fleet.estimates().get(partly)!.p10AtMs!).toBeLessThan(START_MS + 3 * HOUR_MS);
    fleet.stop(partly);
    fleet.apply({ calendar: [{ ...window, name: "other", nodes: nodes.slice(1), startMs: START_MS + 2 * HOUR_MS }] });
    const barred = fleet.submit("barred", { walltimeMs: 4 * HOUR_MS });
    const { p10AtMs, p50AtMs } = fleet.estimates().get(barred)!;
    expect(p10AtMs!).toBeGreaterThanOrEqual(endMs);
    expect(p50AtMs!).toBeLessThan(endMs + HOUR_MS);
  });

  it("when the last of the windows ends that leave it no room together", () => {
    const fleet = new TwoNodes();
    const [first, second] = fleet.engine.state.nodes.keys();
    const window = { kind: "maintenance", startMs: START_MS } as const;
    const endMs = START_MS + 30 * MINUTE_MS;
    fleet.apply({
      calendar: [
        { ...window, name: "short", nodes: [first!], endMs: START_MS + MINUTE_MS },
        { ...window, name: "long", nodes: [second!], endMs },
      ],
    });
    const both = fleet.submit("both", { workers: 2 });
    const { p10AtMs, p50AtMs } = fleet.estimates().get(both)!;
    expect(p10AtMs!).toBeGreaterThanOrEqual(endMs);
    expect(p50AtMs!).toBeLessThan(endMs + MINUTE_MS);
  });
});
