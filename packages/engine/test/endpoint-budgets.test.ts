/** Budgets of endpoints over generated days: what the account says, against the cost counted from the journal here. */
import { describe, expect, it } from "vitest";
import type { AttemptId, EndpointBudget, Event, Input } from "@headroom/model";
import { workloadId } from "@headroom/model";
import { createEngine, endpointSpending, replayEngine } from "../src/index.ts";
import type { Ready } from "../src/index.ts";
import { Dice } from "./lab/dice.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const id = workloadId("w1");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Micro-dollars for one accelerator-hour. */
const PRICE = 2_000_000;
const ground = {
  kind: "load",
  cause: "concurrency",
  measuredMilli: 9,
  targetMilli: 4,
  neededMilli: 9,
  aheadMs: 0,
} as const;

/** Keeps the events of all rounds. */
class Recording extends Drive {
  readonly events: Event[] = [];

  override receive(...inputs: readonly Input[]): Ready {
    const ready = super.receive(...inputs);
    this.events.push(...ready.events);
    return ready;
  }
}

function begun(
  budget: EndpointBudget,
  targets: object = { scale: { concurrencyMilli: 4_000, downAfterMs: 60_000 } },
): Recording {
  const drive = new Recording();
  const priced = { ...pool("L4"), priceMicroUsdPerHour: PRICE };
  drive.receive(applied({ sites: [site], pools: [priced] }), { kind: "nodeSeen", node: node("n1", "L4") });
  const chat = spec("chat", { acceleratorTypes: ["L4"], replicas: { min: 1, max: 4 } });
  drive.receive(command({ kind: "submitWorkload", spec: { ...chat, ...targets, budget } as typeof chat }));
  return drive;
}

const endpoint = (drive: Recording) => drive.engine.state.workloads.get(id);
const replicas = (drive: Recording): number => endpoint(drive)?.scale?.replicas ?? -1;
const scaleTo = (drive: Recording, wanted: number) =>
  drive.receive(
    command({ kind: "scaleEndpoint", workloadId: id, from: replicas(drive), replicas: wanted, ground, stopFirst: [] }),
  );
/** Replicas that are being stopped end after a minute. */
function pass(drive: Recording, hours: number): void {
  const untilMs = drive.nowMs + hours * HOUR_MS;
  while (drive.nowMs < untilMs) {
    drive.passTo(Math.min(untilMs, drive.nowMs + 60_000));
    drive.receive({ kind: "tick" });
    for (const attempt of drive.engine.state.attempts.values())
      if (attempt.stop !== null && attempt.stop.atMs < drive.nowMs)
        drive.receive({
          kind: "attemptExited",
          attemptId: attempt.id,
          exits: [{ kind: "exited", worker: 0, code: 0 }],
        });
  }
}

/** Micro-dollars of the day of `nowMs`, by the placements and ends in the journal. */
function counted(drive: Recording): number {
  const dayMs = Math.floor(drive.nowMs / DAY_MS) * DAY_MS;
  const placed = new Map<AttemptId, number>();
  let total = 0;
  const add = (fromMs: number, toMs: number): void => {
    total += (PRICE * Math.max(0, toMs - Math.max(fromMs, dayMs))) / HOUR_MS;
  };
  const counters = new Map<string, number>();
  for (const event of drive.events) {
    if (event.kind === "gangPlaced") placed.set(event.attemptId, event.atMs);
    if (event.kind === "attemptEnded") {
      add(placed.get(event.attemptId) ?? 0, event.atMs);
      placed.delete(event.attemptId);
    }
    if (event.kind === "overflowCharged") {
      if (event.atMs >= dayMs) total += event.microUsd - (counters.get(event.gateway) ?? 0);
      counters.set(event.gateway, event.microUsd);
    }
  }
  for (const fromMs of placed.values()) add(fromMs, drive.nowMs);
  return total;
}

const kindsOf = (drive: Recording): readonly string[] =>
  drive.events.flatMap((event) => {
    if (event.kind === "endpointBudgetRenewed") return ["renewed"];
    return event.kind === "endpointBudgetCrossed" ? [`${event.percent}%`] : [];
  });

describe("the budget of an endpoint", () => {
  it("bounds its replicas when it is spent, until the next day", () => {
    const drive = begun({ microUsd: 20 * PRICE, period: "day", over: "minimum" });
    scaleTo(drive, 4);
    pass(drive, 4.5);
    expect([replicas(drive), kindsOf(drive)]).toEqual([4, ["80%"]]);
    pass(drive, 1);
    expect([replicas(drive), kindsOf(drive)]).toEqual([1, ["80%", "100%"]]);
    expect(endpoint(drive)?.scale).toMatchObject({ from: 4, ground: { kind: "budgetSpent" } });
    scaleTo(drive, 4);
    expect(replicas(drive)).toBe(1);
    const byHand = drive.receive(command({ kind: "changeWorkload", workloadId: id, changes: { replicaCount: 3 } }));
    expect(byHand.replies).toMatchObject([{ rejection: { cause: "budgetSpent" } }]);
    drive.restart();
    pass(drive, 20);
    expect(kindsOf(drive)).toEqual(["80%", "100%", "renewed"]);
    scaleTo(drive, 4);
    expect(replicas(drive)).toBe(4);
  });

  it("stops every replica where its owner said so, and starts the number of before on the next day", () => {
    const drive = begun({ microUsd: 2 * PRICE, period: "day", over: "stop" }, {});
    drive.receive(command({ kind: "changeWorkload", workloadId: id, changes: { replicaCount: 2 } }));
    pass(drive, 2);
    expect([replicas(drive), endpoint(drive)?.activeAttempts]).toEqual([0, []]);
    // Other bounds meanwhile do not lose the number.
    for (const range of [
      { min: 0, max: 1 },
      { min: 1, max: 4 },
    ])
      drive.receive(command({ kind: "changeWorkload", workloadId: id, changes: { replicas: range } }));
    pass(drive, 22.5);
    expect(replicas(drive)).toBe(2);
  });

  it("gives back no number later that its bounds refused when it was renewed", () => {
    const drive = begun({ microUsd: PRICE / 10, period: "day", over: "minimum" }, {});
    const change = (changes: object) => drive.receive(command({ kind: "changeWorkload", workloadId: id, changes }));
    change({ replicaCount: 4 });
    pass(drive, 0.25);
    expect(replicas(drive)).toBe(1);
    change({ replicas: { min: 1, max: 1 } });
    change({ budget: { microUsd: 900 * PRICE, period: "day", over: "minimum" } });
    change({ replicas: { min: 1, max: 4 } });
    pass(drive, 0.25);
    drive.receive({ kind: "tick" });
    expect([replicas(drive), endpoint(drive)?.account?.replicasBefore]).toEqual([1, undefined]);
  });

  it("is renewed while nothing runs and nothing else happens", () => {
    const drive = begun({ microUsd: 100, period: "day", over: "stop" });
    const charge = { kind: "chargeOverflow", workloadId: id, gateway: "g1", startedAtMs: 1, microUsd: 200 } as const;
    drive.receive(command(charge));
    pass(drive, 0.1);
    expect([replicas(drive), endpoint(drive)?.activeAttempts]).toEqual([0, []]);
    drive.passTo(3 * DAY_MS);
    expect(kindsOf(drive).slice(0, 2)).toEqual(["100%", "renewed"]);
  });

  it("is free again when it is raised or removed", () => {
    for (const budget of [{ microUsd: 90 * PRICE, period: "day", over: "stop" } as const, null]) {
      const drive = begun({ microUsd: PRICE, period: "day", over: "stop" });
      pass(drive, 2);
      expect(replicas(drive)).toBe(0);
      drive.receive(command({ kind: "changeWorkload", workloadId: id, changes: { budget } }));
      expect(replicas(drive)).toBe(1);
    }
  });

  it("of a day starts at zero after one of a month; one of a month keeps what the day spent", () => {
    const drive = begun({ microUsd: 900 * PRICE, period: "month", over: "stop" });
    const change = (budget: EndpointBudget) =>
      drive.receive(command({ kind: "changeWorkload", workloadId: id, changes: { budget } }));
    const spent = (): number => {
      const workload = endpoint(drive);
      return workload === undefined
        ? -1
        : (endpointSpending(drive.engine.state, workload, drive.nowMs)?.spentMicroUsd ?? -1);
    };
    scaleTo(drive, 4);
    pass(drive, 2);
    change({ microUsd: 6 * PRICE, period: "day", over: "stop" });
    expect([replicas(drive), spent(), kindsOf(drive)]).toEqual([4, 0, []]);
    pass(drive, 0.5);
    change({ microUsd: 900 * PRICE, period: "month", over: "stop" });
    pass(drive, 0.25);
    expect(spent()).toBe(3 * PRICE);
  });

  it("counts requests that left once, whichever report is lost or repeated", () => {
    const drive = begun({ microUsd: 100 * PRICE, period: "day", over: "minimum" });
    const charge = (startedAtMs: number, microUsd: number): void =>
      void drive.receive(command({ kind: "chargeOverflow", workloadId: id, gateway: "g1", startedAtMs, microUsd }));
    pass(drive, 1);
    // The pool of the gateway is made again, and counts from zero.
    for (const microUsd of [5, 9, 9, 7]) charge(1_000, microUsd);
    // A gateway that ran before the budget was declared.
    charge(-1, 1_000);
    charge(-1, 1_004);
    const state = drive.engine.state;
    const workload = endpoint(drive);
    expect(workload === undefined ? null : endpointSpending(state, workload, drive.nowMs)).toMatchObject({
      overflowMicroUsd: 20,
    });
  });

  it.each([1, 2, 3])(
    "equals the cost that the journal states, and never exceeds the budget by more than the stops, seed %d",
    (seed) => {
      const dice = new Dice(seed);
      const microUsd = 12 * PRICE;
      const drive = begun({ microUsd, period: "day", over: "stop" });
      let charged = 0;
      for (let step = 0; step < 40; step++) {
        const move = dice.roll(4);
        if (move === 0) scaleTo(drive, 1 + dice.roll(4));
        else if (move === 1) {
          charged += dice.roll(2 * PRICE);
          const charge = {
            kind: "chargeOverflow",
            workloadId: id,
            gateway: "g1",
            startedAtMs: 1,
            microUsd: charged,
          } as const;
          drive.receive(command(charge));
        } else if (move === 2) drive.restart();
        else pass(drive, 1 + dice.roll(5));
        const workload = endpoint(drive);
        if (workload === undefined) throw new Error("no endpoint");
        const spending = endpointSpending(drive.engine.state, workload, drive.nowMs);
        const { spentMicroUsd: spent, overflowMicroUsd } = spending ?? { spentMicroUsd: -1, overflowMicroUsd: 0 };
        expect(Math.abs(spent - counted(drive))).toBeLessThan(1);
        // Four replicas end within two minutes.
        expect(spent - overflowMicroUsd).toBeLessThanOrEqual(microUsd + (4 * PRICE) / 30);
        const replayed = createEngine();
        replayEngine(replayed, drive.groups);
        expect(replayed.digest()).toBe(drive.engine.digest());
      }
    },
  );
});
