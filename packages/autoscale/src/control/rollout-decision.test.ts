import { attemptId, workloadId } from "@headroom/model";
import type { Attempt, Rollout, Workload } from "@headroom/model";
import type { LoadReport, RolloutReading } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import type { RolloutVerdict } from "../rollouts/verdict.ts";
import { rolloutDecision, verdictOn } from "./rollout-decision.ts";
import { StepReadings } from "./rollout-readings.ts";

const MINUTE_MS = 60_000;
const rules = { steps: [50, 100], everyMs: MINUTE_MS, timeoutMs: 60 * MINUTE_MS, abort: { errorRateMilli: 10 } };

const inSteps: Rollout = {
  number: 2,
  changes: { run: "serve-2" },
  cause: "changed",
  actor: "ann",
  startedAtMs: 0,
  deadlineAtMs: 60 * MINUTE_MS,
  steps: rules.steps,
  step: 0,
  stepAtMs: 0,
  stable: 2,
  canary: 1,
};
const { steps: _steps, ...oneByOne } = inSteps;

const endpoint = (rollout: Rollout): Workload =>
  ({
    id: workloadId("w1"),
    spec: { kind: "serve", rollout: rules },
    scale: { replicas: 2, atMs: 0 },
    rollout,
  }) as never;

const replica = (
  revisionNumber: number,
  { readyAtMs, placedAtMs = 0 }: { readyAtMs?: number; placedAtMs?: number } = {},
) =>
  ({
    id: attemptId(`a${revisionNumber}`),
    revisionNumber,
    placedAtMs,
    stop: null,
    ...(readyAtMs === undefined ? {} : { ready: { address: "h:1", atMs: readyAtMs } }),
  }) as unknown as Attempt;

const verdict = (kind: RolloutVerdict["kind"]): RolloutVerdict => ({ kind, requests: 80, figures: [] });
const ready = [replica(2, { readyAtMs: 10_000 })];

describe("the next action on a rollout", () => {
  it("advances after the time of the step from the readiness on, by the verdict good alone", () => {
    const workload = endpoint(inSteps);
    const at = (nowMs: number, active = ready, kind: RolloutVerdict["kind"] | null = "good") =>
      rolloutDecision(workload, { nowMs, active, verdict: kind === null ? null : verdict(kind) })?.action ?? null;
    expect(at(69_999)).toBeNull();
    expect(at(70_000)).toBe("advance");
    expect(at(70_000, [replica(2)])).toBeNull();
    expect(at(70_000, [replica(1, { readyAtMs: 0 })])).toBeNull();
    for (const kind of ["suspect", "unknown", null] as const) expect(at(3_500_000, ready, kind)).toBeNull();
    expect(at(20_000, ready, "worse")).toBe("rollBack");
  });

  it("rolls back at the deadline, also when it is paused, waits for its last replicas, or has no reading", () => {
    for (const changes of [{}, { isPaused: true }, { isFinal: true }] as const)
      for (const rollout of [inSteps, oneByOne]) {
        const workload = endpoint({ ...rollout, ...changes });
        const { deadlineAtMs: nowMs } = rollout;
        const decided = rolloutDecision(workload, { nowMs, active: ready, verdict: null });
        expect(decided).toEqual({ action: "rollBack", ground: { kind: "deadline", afterMs: nowMs } });
      }
  });

  it("holds where the user paused it, or waits for replicas after the last step", () => {
    const facts = { nowMs: 50 * MINUTE_MS, active: ready, verdict: verdict("good") };
    expect(rolloutDecision(endpoint({ ...inSteps, isPaused: true }), facts)).toBeNull();
    expect(rolloutDecision(endpoint({ ...inSteps, isFinal: true }), facts)).toBeNull();
    const worse = { ...facts, verdict: verdict("worse") };
    expect(rolloutDecision(endpoint({ ...inSteps, isPaused: true }), worse)?.action).toBe("rollBack");
  });

  it("lets a replica stop first when its successor had no place for 30 s, once, and not in steps", () => {
    const at = (rollout: Rollout, nowMs: number, active: readonly Attempt[] = []) =>
      rolloutDecision(endpoint(rollout), { nowMs, active, verdict: null });
    expect(at(oneByOne, 29_999)).toBeNull();
    expect(at(oneByOne, 30_000)).toEqual({ action: "squeeze", ground: { kind: "noRoom", forMs: 30_000 } });
    expect(at(oneByOne, 99_000, [replica(2)])).toBeNull();
    expect(at({ ...oneByOne, isSqueezed: true }, 99_000)).toBeNull();
    expect(at(inSteps, 99_000)).toBeNull();
    const two = { ...oneByOne, canary: 2 };
    expect(at(two, 99_000, [replica(2, { readyAtMs: 80_000 })])).toBeNull();
  });

  it("makes room for present replicas that are replaced back, and decides nothing else then", () => {
    const back: Rollout = { ...oneByOne, isReversed: true, stable: 2, canary: 1 };
    const at = (active: readonly Attempt[], nowMs: number) =>
      rolloutDecision(endpoint(back), { nowMs, active, verdict: verdict("worse") })?.action ?? null;
    const [present, successor] = [replica(1, { readyAtMs: 5_000 }), replica(2, { readyAtMs: 10_000 })];
    expect(at([present, successor], 40_000)).toBe("squeeze");
    expect(at([present, replica(1), successor], 99 * MINUTE_MS)).toBeNull();
  });
});

describe("readings of a rollout", () => {
  const counted = (requests: number, errors: number) => ({ requests, errors, ttft: [], tpot: [] });
  const reported = (rollout: Partial<RolloutReading>): LoadReport =>
    ({
      rollout: { number: 2, startedAtMs: 0, canary: counted(50, 50), baseline: counted(500, 0), ...rollout },
    }) as never;
  const readingsOf = (reports: readonly (LoadReport | number)[]) => {
    const steps = new StepReadings(inSteps);
    let step = 0;
    for (const each of reports) {
      if (typeof each === "number") step = each;
      else steps.take(each, step);
    }
    return steps.readings();
  };
  /** A number begins this step. */
  const kindOf = (...reports: readonly (LoadReport | number)[]) =>
    verdictOn(endpoint(inSteps), readingsOf(reports))?.kind ?? null;

  it("add gateways, and are none of an earlier rollout with the same number", () => {
    expect(kindOf()).toBeNull();
    expect(kindOf(reported({}))).toBe("worse");
    expect(kindOf(reported({ startedAtMs: -1 }))).toBeNull();
    expect(kindOf(reported({ number: 1 }))).toBeNull();
    const half = reported({ canary: counted(30, 0), baseline: counted(30, 0) });
    expect([kindOf(half), kindOf(half, half), kindOf(half, { ...half, gateway: "b" })]).toEqual([
      "unknown",
      "unknown",
      "good",
    ]);
    expect(kindOf(reported({ canary: counted(5, 5_000), baseline: counted(0, 0) }))).toBe("unknown");
  });

  it("compare requests of the same step: a bad hour in which the new revision has most of them is no evidence", () => {
    const quiet = reported({ canary: counted(50, 0), baseline: counted(950, 0) });
    // In the second step both revisions fail as often: 8 of 100.
    const bad = reported({ canary: counted(850, 64), baseline: counted(1_150, 16) });
    expect(kindOf(quiet, 1, bad)).toBe("good");
    expect(kindOf(bad)).toBe("worse");
    const worse = reported({ canary: counted(850, 64), baseline: counted(1_150, 0) });
    expect(kindOf(quiet, 1, worse)).toBe("worse");
  });

  it("keep what a gateway counted before it started again", () => {
    const first = reported({ canary: counted(40, 0), baseline: counted(40, 0) });
    const second = { ...reported({ canary: counted(20, 0), baseline: counted(20, 0) }), gateway: "a", startedAtMs: 9 };
    expect(readingsOf([first, second])).toMatchObject({ canary: { requests: 60 }, baseline: { requests: 60 } });
  });

  it("need scores while requests are copied, and in no later step", () => {
    const abort = { errorRateMilli: 10, qualityMilli: 50 };
    const at = (changes: Partial<Rollout>, quality?: readonly [number, number, number]) => {
      const workload = endpoint({ ...inSteps, steps: [0, 50, 100], shadow: 100, ...changes });
      Object.assign(workload.spec, { rollout: { ...rules, abort } });
      const scored = (sum: number) => (quality === undefined ? {} : { quality: [quality[0], sum, sum] as const });
      const [own, present] = [quality?.[1] ?? 0, quality?.[2] ?? 0];
      const canary = { ...counted(60, 0), ...scored(own) };
      const reading = reported({ canary, baseline: { ...counted(60, 0), ...scored(present) } } as never);
      return verdictOn(workload, readingsOf([reading]))?.kind;
    };
    expect([at({}), at({ step: 1 })]).toEqual(["unknown", "good"]);
    expect(at({}, [60, 60, 60])).toBe("good");
    // Scores of the copies count in later steps too.
    expect([at({}, [60, 6, 60]), at({ step: 1 }, [60, 6, 60])]).toEqual(["worse", "worse"]);
    // A shadow that the spec got during the rollout is none of this rollout.
    const { shadow: _shadow, ...without } = { ...inSteps, shadow: 100 };
    const workload = endpoint(without);
    Object.assign(workload.spec, { rollout: { ...rules, abort } });
    const reading = reported({ canary: counted(60, 0), baseline: counted(60, 0) });
    expect(verdictOn(workload, readingsOf([reading]))?.kind).toBe("good");
  });

  it("judge only rollouts in steps", () => {
    expect(verdictOn(endpoint(oneByOne), readingsOf([reported({})]))).toBeNull();
  });
});
