import { describe, expect, it } from "vitest";
import type { KubernetesPod } from "../api/objects.ts";
import type { GangFacts, GangMemory, GangRules } from "./gang-judge.ts";
import { judge, newMemory, statesOf } from "./gang-judge.ts";

const rules: GangRules = { startTimeoutMs: 600_000, lostAfterMs: 0, nodeLostAfterMs: 0 };

interface PodParts {
  readonly node?: string | null;
  readonly exitCode?: number;
  readonly isRunning?: boolean;
  readonly deletedWithGrace?: number;
  readonly status?: NonNullable<KubernetesPod["status"]>;
}

function pod({ node = "n1", exitCode, isRunning = false, deletedWithGrace, status }: PodParts = {}): KubernetesPod {
  const finishedAt = "2026-01-31T08:15:00Z";
  const terminated = exitCode === undefined ? {} : { terminated: { exitCode, startedAt: finishedAt, finishedAt } };
  const state = { ...terminated, ...(isRunning ? { running: {} } : {}) };
  const deletion = { deletionTimestamp: finishedAt, deletionGracePeriodSeconds: deletedWithGrace ?? 0 };
  return {
    metadata: { name: "p", ...(deletedWithGrace === undefined ? {} : deletion) },
    spec: node === null ? {} : { nodeName: node },
    status: status ?? { containerStatuses: [{ name: "worker", state }] },
  };
}

const facts = (pods: readonly (KubernetesPod | null)[], more: Partial<GangFacts> = {}): GangFacts => ({
  pods,
  nodes: pods.map(() => ({ kind: "ready" })),
  isStopped: false,
  failedRank: null,
  isUpToDate: true,
  isAdopted: false,
  ...more,
});

const conclude = (given: GangFacts, memory: GangMemory = newMemory(), own: Partial<GangRules> = {}) =>
  judge(given, statesOf(given), memory, { ...rules, ...own });

const running = pod({ isRunning: true });

describe("conclusions about a gang of pods", () => {
  it("binds pods without a node, and waits for those that start or run", () => {
    expect(conclude(facts([running, pod({ node: null }), pod({ node: null })]))).toEqual({
      kind: "bind",
      ranks: [1, 2],
    });
    expect(conclude(facts([running, pod()]))).toEqual({ kind: "wait" });
  });

  it("stops the others of a failed worker, and not of one that is done", () => {
    expect(conclude(facts([running, pod({ exitCode: 3 })]))).toEqual({ kind: "fail", rank: 1 });
    expect(conclude(facts([running, pod({ exitCode: 0 })]))).toEqual({ kind: "wait" });
    expect(conclude(facts([running, pod({ exitCode: 3 })], { failedRank: 1 }))).toEqual({ kind: "wait" });
  });

  it("ends with the exits, of which codes above 128 are signals", () => {
    const end = conclude(facts([pod({ exitCode: 0 }), pod({ exitCode: 137 }), pod({ exitCode: 9 })]));
    expect(end.kind === "end" ? end.ends.map(({ exit }) => exit) : end).toEqual([
      { kind: "exited", worker: 0, code: 0 },
      { kind: "signalled", worker: 1, signal: "SIGKILL" },
      { kind: "exited", worker: 2, code: 9 },
    ]);
  });

  it.for([
    [
      "evicted by the kubelet",
      pod({ status: { phase: "Failed", reason: "Evicted", message: "low on memory" } }),
      /Evicted: low on memory/,
    ],
    ["refused by the kubelet", pod({ status: { phase: "Failed", reason: "OutOfcpu", message: "no cpu" } }), /OutOfcpu/],
    ["deleted by others", pod({ exitCode: 143, deletedWithGrace: 0 }), /deleted or evicted by others/],
    ["deleted before its container started", pod({ deletedWithGrace: 0 }), /deleted before its container started/],
  ] as const)("is lost if a pod was %s", ([, ended, detail]) => {
    expect(conclude(facts([ended]))).toMatchObject({ kind: "lost", detail: expect.stringMatching(detail) as string });
  });

  it("keeps the exit of work that Headroom stopped, and of work that was done when others deleted it", () => {
    expect(conclude(facts([pod({ exitCode: 143, deletedWithGrace: 0 })], { isStopped: true })).kind).toBe("end");
    expect(conclude(facts([pod({ exitCode: 0, deletedWithGrace: 0 })])).kind).toBe("end");
  });

  it("waits for the kubelet's word about a deleted pod, also after a deletion by force", () => {
    expect(conclude(facts([pod({ isRunning: true, deletedWithGrace: 30 })], { isStopped: true })).kind).toBe("wait");
    expect(conclude(facts([pod({ isRunning: true, deletedWithGrace: 0 })])).kind).toBe("wait");
  });

  it("has a missing pod confirmed, and only while the copy is up to date", () => {
    expect(conclude(facts([null]))).toEqual({ kind: "confirmMissing", rank: 0 });
    expect(conclude(facts([null], { isUpToDate: false })).kind).toBe("wait");
    expect(conclude(facts([null]), newMemory(), { lostAfterMs: 60_000 }).kind).toBe("wait");
  });

  it("loses the work of a node that is gone or not ready for long, unless the work is over", () => {
    const gone = { nodes: [{ kind: "gone" }] } as const;
    expect(conclude(facts([running], gone))).toMatchObject({ kind: "nodeLost", rank: 0 });
    expect(conclude(facts([running], { nodes: [{ kind: "notReady", detail: "x" }] })).kind).toBe("nodeLost");
    expect(conclude(facts([pod({ exitCode: 0 })], gone)).kind).toBe("end");
    expect(conclude(facts([running], { ...gone, isUpToDate: false })).kind).toBe("wait");
    expect(conclude(facts([running], gone), newMemory(), { lostAfterMs: 60_000 }).kind).toBe("wait");
  });

  it("begins to count again when the server was silent or the node came back", () => {
    const memory = newMemory();
    const given = { lostAfterMs: 60_000 };
    conclude(facts([null]), memory, given);
    expect(memory.missingSinceMs.size).toBe(1);
    conclude(facts([null], { isUpToDate: false }), memory, given);
    expect(memory.missingSinceMs.size).toBe(0);
  });

  it("refuses work whose image cannot be had, and loses work that does not start for another reason", () => {
    const waiting = (reason: string): KubernetesPod =>
      pod({ status: { phase: "Pending", containerStatuses: [{ name: "worker", state: { waiting: { reason } } }] } });
    const late = { startTimeoutMs: 0 };
    expect(conclude(facts([waiting("ImagePullBackOff")]), newMemory(), late)).toMatchObject({ kind: "refuse" });
    expect(conclude(facts([waiting("ContainerCreating")]), newMemory(), late)).toMatchObject({ kind: "lost" });
    expect(conclude(facts([waiting("ImagePullBackOff")])).kind).toBe("wait");
  });

  it("states the limit of a worker that ran out of memory", () => {
    const state = { terminated: { exitCode: 137, reason: "OOMKilled" } };
    const ended: KubernetesPod = {
      metadata: { name: "p" },
      spec: { nodeName: "n1", containers: [{ name: "worker", resources: { limits: { memory: "64Mi" } } }] },
      status: { phase: "Failed", containerStatuses: [{ name: "worker", state }] },
    };
    const end = conclude(facts([ended]));
    expect(end.kind === "end" ? end.ends[0]?.exit : end).toEqual({
      kind: "signalled",
      worker: 0,
      signal: "SIGKILL",
      outOfMemoryMib: 64,
    });
  });
});
