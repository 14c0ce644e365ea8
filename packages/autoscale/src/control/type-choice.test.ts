import { describe, expect, it } from "vitest";
import type { Attempt, EndedAttempt, Pool, ScaleTargets, WorkloadSpec } from "@headroom/model";
import type { LoadReport, ReplicaTimes } from "@headroom/protocol";
import { LoadReports } from "./load-reports.ts";
import { ScalingControl, type ScaleCommand, type ScaledEndpoint } from "./scaling-control.ts";
import { TypeChoice, typeOffers, type TypeOffer } from "./type-choice.ts";

const NOW_MS = 1_790_000_000_000;
const load: LoadReport = {
  version: 1,
  gateway: "g",
  startedAtMs: 1,
  requests: 0,
  running: 9,
  held: 0,
  idleMs: 0,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
};
const l4: TypeOffer = { type: "L4", poolTypes: ["L4"], microUsdPerHour: 700_000 };
const a100: TypeOffer = { type: "A100-SXM-80GB", poolTypes: ["A100-SXM-80GB"], microUsdPerHour: 3_670_000 };
const targets: ScaleTargets = { ttft: { p99Ms: 2_000 }, tpot: { p99Ms: 40 }, downAfterMs: 60_000 };
const loose: ScaleTargets = { ...targets, tpot: { p99Ms: 120 } };
/** An A100 is six times as fast as an L4. */
const fast: ReplicaTimes = { tokenMs: 10, promptMs: 50, workMs: 200 };
const slow: ReplicaTimes = { tokenMs: 60, promptMs: 300, workMs: 1_200 };

const served = (...types: readonly (readonly [string, ReplicaTimes | null])[]): TypeChoice => {
  const choice = new TypeChoice();
  choice.learn(types.map(([acceleratorType, times]) => ({ acceleratorType, times })));
  return choice;
};
const order = (
  choice: TypeChoice,
  within: ScaleTargets,
  lack: { replicas: number; added: number },
): readonly string[] => (choice.order([a100, l4], { targets: within, lack, failed: [] }) ?? []).map(({ type }) => type);

const needed = (replicas: number, failed: readonly string[] = []): Parameters<TypeChoice["order"]>[1] => ({
  targets: loose,
  lack: { replicas, added: 1 },
  failed,
});

describe("the choice of accelerator types", () => {
  const both = served([a100.type, fast], [a100.type, fast], [l4.type, slow]);

  it("takes the cheap type for a small rest of the load, and the fast one where a cheap one is too little", () => {
    expect(order(both, loose, { replicas: 0.1, added: 1 })).toEqual(["L4", "A100-SXM-80GB"]);
    expect(order(both, loose, { replicas: 0.9, added: 1 })).toEqual(["A100-SXM-80GB", "L4"]);
  });

  it("takes a type that misses the targets without load only after the others", () => {
    expect(order(both, targets, { replicas: 0.1, added: 1 })).toEqual(["A100-SXM-80GB", "L4"]);
  });

  it("keeps the listed order until a type was measured, and predicts the others from datasheets", () => {
    expect(served([a100.type, null]).order([a100, l4], needed(1))).toBeNull();
    const [first, second] = served([a100.type, fast]).order([a100, l4], needed(0.1)) ?? [];
    expect([first?.type, first?.isPredicted, second?.isPredicted]).toEqual(["L4", true, false]);
    // 2,039 GB/s beside 300 GB/s.
    expect(first?.times?.tokenMs).toBeCloseTo(10 * (2039 / 300), 0);
  });

  it("places a type without a datasheet after those that are enough, and before those that are not", () => {
    const unknown = { type: "X1", poolTypes: ["X1"], microUsdPerHour: 1 };
    const types = both.order([unknown, a100, l4], needed(0.9))?.map(({ type }) => type);
    expect(types).toEqual(["A100-SXM-80GB", "X1", "L4"]);
  });

  it("keeps the listed order within a rank if a type has no price", () => {
    const unpriced = { ...a100, microUsdPerHour: 0 };
    const typesOf = (replicas: number): readonly string[] | undefined =>
      both.order([l4, unpriced], needed(replicas))?.map(({ type }) => type);
    expect(typesOf(0.1)).toEqual(["L4", a100.type]);
    expect(typesOf(0.9)).toEqual([a100.type, "L4"]);
  });

  it("finds the times of a family, and its failures, by the types of its pools", () => {
    const family = { type: "L4-family", poolTypes: ["L4"], microUsdPerHour: 700_000 };
    const types = both.order([a100, family], needed(0.1)) ?? [];
    expect([types[0]?.type, types[0]?.isPredicted]).toEqual(["L4-family", false]);
    const failing = served([a100.type, fast]).order([a100, family], needed(0.1, ["L4"])) ?? [];
    expect(failing.map(({ isFailing }) => isFailing)).toEqual([false, true]);
  });

  it("compares the speed with the replicas that served last, also after the last one stopped", () => {
    const choice = served([a100.type, fast]);
    choice.learn([]);
    expect(order(choice, loose, { replicas: 0.1, added: 1 })).toEqual(["L4", "A100-SXM-80GB"]);
  });
});

describe("a type whose replicas failed", () => {
  const first = (choice: TypeChoice): string | undefined => choice.order([a100, l4], needed(0.1, ["L4"]))?.[0]?.type;

  it("is the last choice, also if earlier replicas of it served", () => {
    expect(first(served([a100.type, fast]))).toBe("A100-SXM-80GB");
    expect(first(served([a100.type, fast], [l4.type, slow]))).toBe("A100-SXM-80GB");
  });

  it("is the last choice also before any type has served", () => {
    const types = new TypeChoice().order([a100, l4], needed(1, [a100.type])) ?? [];
    expect(types.map(({ type }) => type)).toEqual(["L4", a100.type]);
  });
});

describe("the control of an endpoint", () => {
  /** The command for so many requests in progress, with a target of ten for each replica. */
  function commandFor(
    running: number,
    changes: Partial<ScaledEndpoint>,
    failed: readonly Partial<EndedAttempt>[] = [],
    stoppedSince: readonly Attempt[] = [],
  ): ScaleCommand | null {
    const reports = new LoadReports();
    const replicas = [
      { address: "h:1", requests: running, times: fast },
      { address: "h:2", requests: 0, times: slow },
    ];
    for (let agoMs = 60_000; agoMs >= 0; agoMs -= 5_000)
      reports.take("e", { ...load, running, replicas }, NOW_MS - agoMs);
    const ready = { id: "a1", stop: null, placedAtMs: 1, ready: { atMs: 20_001, address: "h:1" } };
    const endpoint = {
      id: "e",
      scale: { replicas: 4, from: 1, atMs: NOW_MS - 3_600_000, actor: "autoscaler", ground: { kind: "requested" } },
      targets: { concurrencyMilli: 10_000, downAfterMs: 60_000 },
      bounds: { min: 0, max: 9 },
      active: [{ ...ready, acceleratorType: a100.type }],
      offers: [a100, l4],
      types: [a100.type, "L4"],
      ended: [],
      revision: 1,
      isRollingOut: false,
      ...changes,
    } as unknown as ScaledEndpoint;
    const control = new ScalingControl();
    control.decide({ ...endpoint, active: [...endpoint.active, ...stoppedSince] }, { reports }, NOW_MS - 2_000);
    const ended = failed as readonly EndedAttempt[];
    return control.decide({ ...endpoint, ended }, { reports }, NOW_MS).command;
  }

  it("orders the types where replicas are added, by the load that is missing", () => {
    expect(commandFor(41, {})).toMatchObject({ from: 4, replicas: 5, acceleratorTypes: ["L4", a100.type] });
    expect(commandFor(49, {})).toEqual(expect.not.objectContaining({ acceleratorTypes: expect.anything() as unknown }));
    expect(commandFor(49, { types: ["L4", a100.type] })).toMatchObject({ acceleratorTypes: [a100.type, "L4"] });
    expect(commandFor(41, { offers: [] })).not.toHaveProperty("acceleratorTypes");
  });

  it("counts no replicas in the shadow, which serve no client", () => {
    const ready = (revisionNumber: number) => ({
      id: `a${revisionNumber}`,
      stop: null,
      revisionNumber,
      placedAtMs: 1,
      acceleratorType: "L4",
      ready: { atMs: 20_001, address: `h:${revisionNumber}` },
    });
    const active = [ready(1), ready(2)] as unknown as readonly Attempt[];
    const bounds = { min: 0, max: 1 };
    expect(commandFor(5, { active, bounds })?.stopFirst).toEqual(["a2", "a1"]);
    expect(commandFor(5, { active, bounds, shadowRevision: 2 })?.stopFirst).toEqual(["a1"]);
  });

  it("takes a replica that waits for a further try off the type that failed", () => {
    const waiting = { types: ["L4", a100.type] };
    expect(commandFor(39, waiting)).toBeNull();
    const failed = { id: "a0" as EndedAttempt["id"], acceleratorType: "L4", outcome: "failed" } as const;
    const moved = { from: 4, replicas: 4, acceleratorTypes: [a100.type, "L4"] };
    expect(commandFor(39, waiting, [{ ...failed, endedAtMs: NOW_MS - 1_000 }])).toMatchObject(moved);
    expect(commandFor(39, waiting, [{ ...failed, endedAtMs: NOW_MS - 3_600_000 }])).toBeNull();
    const running = { stop: null, placedAtMs: 1, acceleratorType: a100.type };
    const active = [1, 1, 1, 2, 2].map((revisionNumber, at) => ({
      ...running,
      id: `a${at + 1}`,
      revisionNumber,
      ready: { atMs: 20_001, address: `h:${at + 1}` },
    })) as unknown as readonly Attempt[];
    const inShadow = { ...waiting, active, shadowRevision: 2 };
    expect(commandFor(39, inShadow, [{ ...failed, endedAtMs: NOW_MS - 1_000 }])).toMatchObject(moved);
    const measured = { id: "a2", stop: null, placedAtMs: 1, ready: { atMs: 20_001, address: "h:2" } };
    const l4Replica = { ...measured, acceleratorType: "L4" } as unknown as Attempt;
    expect(commandFor(39, waiting, [{ ...failed, endedAtMs: NOW_MS - 1_000 }], [l4Replica])).toMatchObject(moved);
  });
});

describe("offers of types", () => {
  const pool = (acceleratorType: string, priceMicroUsdPerHour: number, family?: string): Pool =>
    ({ acceleratorType, priceMicroUsdPerHour, ...(family === undefined ? {} : { acceleratorFamily: family }) }) as Pool;
  const spec = (...acceleratorTypes: readonly string[]): WorkloadSpec =>
    ({ acceleratorTypes, gang: {} }) as WorkloadSpec;

  it("have the lowest price that their pools declare", () => {
    const pools = [pool("L4", 700), pool("L4", 0), pool("T4", 0)];
    expect(typeOffers(spec("L4", "T4"), pools).map(({ microUsdPerHour }) => microUsdPerHour)).toEqual([700, 0]);
  });

  it("have the lowest price of their pools, and only types that pools have", () => {
    const pools = [pool("L4", 700), pool("L4", 500), pool("H100-SXM-80GB", 7_000, "H100"), pool("T4", 1)];
    expect(typeOffers(spec("H100", "L4", "B200"), pools)).toEqual([
      { type: "H100", poolTypes: ["H100-SXM-80GB"], microUsdPerHour: 7_000 },
      { type: "L4", poolTypes: ["L4"], microUsdPerHour: 500 },
    ]);
    expect(typeOffers(spec("L4"), pools)).toEqual([]);
    expect(typeOffers(spec("L4", "B200"), pools)).toEqual([]);
  });
});
