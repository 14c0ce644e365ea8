import { describe, expect, it } from "vitest";
import type { Attempt, EndedAttempt } from "@headroom/model";
import { StartFailures, type ReplicaStarts } from "./start-failures.ts";

const NOW_MS = 1_790_000_000_000;
const MINUTE_MS = 60_000;

const active = (id: string, changes: Partial<Attempt> = {}): Attempt =>
  ({ id, acceleratorType: "L4", stop: null, ...changes }) as Attempt;
const failed = (id: string, endedAtMs: number, outcome: EndedAttempt["outcome"] = "failed"): EndedAttempt =>
  ({ id, acceleratorType: "L4", placedAtMs: endedAtMs - MINUTE_MS, endedAtMs, outcome }) as EndedAttempt;
const notReadyInTime = (id: string): EndedAttempt => ({ ...failed(id, NOW_MS, "stopped"), stopReason: "notReady" });
const isReady = { ready: { atMs: NOW_MS, address: "h:1" } };

function failuresAfter(...looks: readonly Partial<ReplicaStarts>[]): StartFailures {
  const failures = new StartFailures();
  for (const look of looks) failures.learn({ active: [], ended: [], revision: 1, isRollingOut: false, ...look });
  return failures;
}

describe("a type whose replica fails before it is ready", () => {
  it("is turned away for ten minutes", () => {
    const failures = failuresAfter({ active: [active("a")] }, { ended: [failed("a", NOW_MS)] });
    expect(failures.typesAt(NOW_MS + 10 * MINUTE_MS - 1)).toEqual(["L4"]);
    expect(failures.typesAt(NOW_MS + 10 * MINUTE_MS)).toEqual([]);
  });

  it("is turned away also if the replica was stopped because it was not ready in time", () => {
    const failures = failuresAfter({ active: [active("a")] }, { ended: [notReadyInTime("a")] });
    expect(failures.typesAt(NOW_MS + 10 * MINUTE_MS - 1)).toEqual(["L4"]);
    expect(failures.typesAt(NOW_MS + 10 * MINUTE_MS)).toEqual([]);
  });

  it("is turned away twice as long after each further failure, and not for those of the same time", () => {
    const first = [failed("a", NOW_MS), failed("b", NOW_MS + MINUTE_MS)];
    const againMs = NOW_MS + 11 * MINUTE_MS;
    const failures = failuresAfter({}, { ended: first }, { ended: [...first, failed("c", againMs)] });
    expect(failures.typesAt(againMs + 20 * MINUTE_MS - 1)).toEqual(["L4"]);
    expect(failures.typesAt(againMs + 20 * MINUTE_MS)).toEqual([]);
  });

  it("is taken again as soon as one of its replicas is ready", () => {
    const ended = [failed("a", NOW_MS)];
    expect(failuresAfter({}, { ended }, { active: [active("b", isReady)], ended }).typesAt(NOW_MS)).toEqual([]);
  });

  it("stays turned away while replicas are ready that were so before the failed one was placed", () => {
    const ended = [failed("b", NOW_MS)];
    const readyAt = (atMs: number): Attempt => active("a", { ready: { atMs, address: "h:1" } });
    const typesWith = (replica: Attempt): readonly string[] =>
      failuresAfter({ active: [replica] }, { active: [replica], ended }).typesAt(NOW_MS);
    expect(typesWith(readyAt(NOW_MS - MINUTE_MS - 1))).toEqual(["L4"]);
    expect(typesWith(readyAt(NOW_MS - MINUTE_MS))).toEqual([]);
  });

  it("stays turned away while replicas of an earlier revision are ready", () => {
    const ended = [failed("b", NOW_MS)];
    const own = active("b", { revisionNumber: 2 });
    const earlier = active("a", isReady);
    const failures = failuresAfter({ active: [earlier, own], revision: 2 }, { active: [earlier], ended, revision: 2 });
    expect(failures.typesAt(NOW_MS)).toEqual(["L4"]);
  });

  it("is taken again by another revision", () => {
    const ended = [failed("a", NOW_MS)];
    expect(failuresAfter({}, { ended }, { ended, revision: 2 }).typesAt(NOW_MS)).toEqual([]);
  });
});

describe("a type is not turned away for", () => {
  const typesAfter = (...looks: readonly Partial<ReplicaStarts>[]): readonly string[] =>
    failuresAfter(...looks).typesAt(NOW_MS);
  const ended = [failed("a", NOW_MS)];

  it("a replica that fails after it was ready, also if it stopped answering before", () => {
    expect(typesAfter({ active: [active("a", isReady)] }, { ended })).toEqual([]);
    const silent = active("a", { notReadySinceMs: NOW_MS });
    expect(typesAfter({ active: [silent] }, { active: [active("a")] }, { ended })).toEqual([]);
  });

  it("a replica of the new revision of a rollout, or one that nothing is known of during it", () => {
    const isRollingOut = true;
    const canary = active("a", { revisionNumber: 2 });
    expect(typesAfter({ active: [canary], isRollingOut }, { ended })).toEqual([]);
    expect(typesAfter({ isRollingOut }, { ended, isRollingOut })).toEqual([]);
  });

  it("a replica that became ready and failed between two looks", () => {
    const failures = new StartFailures();
    const look = (changes: Partial<ReplicaStarts>, becameReady?: (id: string) => boolean): void =>
      failures.learn({ active: [], ended: [], revision: 1, isRollingOut: false, ...changes }, becameReady);
    look({ active: [active("a")] });
    look({ ended }, (id) => id === "a");
    look({ ended });
    expect(failures.typesAt(NOW_MS)).toEqual([]);
    look({ ended: [...ended, failed("b", NOW_MS)] }, (id) => id === "a");
    expect(failures.typesAt(NOW_MS)).toEqual(["L4"]);
  });

  it("what ended before the first look, as after a restart of the control plane", () => {
    expect(typesAfter({ ended }, { ended })).toEqual([]);
  });

  it("a replica that was ready, stopped answering, and was stopped for it", () => {
    const silent = active("a", { notReadySinceMs: NOW_MS });
    expect(typesAfter({ active: [silent] }, { ended: [notReadyInTime("a")] })).toEqual([]);
  });

  it("replicas that were lost, or stopped for another reason", () => {
    const scaledDown = { ...failed("b", NOW_MS, "stopped"), stopReason: "scaledDown" as const };
    expect(typesAfter({}, { ended: [failed("a", NOW_MS, "lost"), scaledDown] })).toEqual([]);
  });
});
