/** Kinds of cases that KAI-Scheduler's suites contain, in facts of our own: static MIG, GPU memory, terminating and unlike pods. */
import { describe, expect, it } from "vitest";
import { playKai } from "./kai.ts";
import { playKueueQuota } from "./kueue-quota.ts";

const TRAIN = 50;
const BUILD = 100;

interface JobFacts {
  readonly pods?: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

let age = 100;
function job(name: string, { pods = [{}], ...facts }: JobFacts = {}) {
  const podList = pods.map((pod) => ({ state: "node" in pod ? "Running" : "Pending", ...pod }));
  const priority = (facts["priority"] as number | undefined) ?? TRAIN;
  return {
    name,
    queue: "a",
    preemptible: priority < BUILD,
    gangMin: pods.length,
    pods: pods.length,
    gpusPerPod: 0,
    submittedMinutesAgo: age--,
    ...facts,
    priority,
    podList,
  };
}
type Job = ReturnType<typeof job>;

const queue = (name: string, quota: number) => ({ name, parent: "top", quota, limit: null, weight: 0, priority: null });

interface Facts {
  readonly node: Record<string, unknown>;
  readonly jobs: readonly Job[];
  readonly quotas?: Readonly<Record<string, number>>;
  readonly outcomes?: Readonly<Record<string, string>>;
  readonly tasks?: Readonly<Record<string, string>>;
  readonly action?: string;
}

/** The differences between what is expected and what happened. */
function differences({ node, jobs, quotas = { a: 8 }, outcomes = {}, tasks, action }: Facts): string[] {
  const expectedOf = (words: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(words).map(([name, outcome]) => [name, { outcome }]));
  const isPlaced = ({ podList }: Job) => podList.some((pod) => "node" in pod);
  return playKai({
    id: "case",
    dialect: "kai",
    name: "case",
    mode: action === undefined ? "steady-state" : "single-action",
    ...(action === undefined ? { roundsUntilMatch: 2, stableRoundsAfter: 2 } : { action }),
    nodes: [{ name: "n1", gpus: 0, labels: {}, ...node }],
    queues: [
      { ...queue("top", 0), parent: null, quota: null, weight: null },
      ...Object.entries(quotas).map(([name, quota]) => queue(name, quota)),
    ],
    runningJobs: jobs.filter(isPlaced),
    pendingJobs: jobs.filter((each) => !isPlaced(each)),
    expected: { jobs: expectedOf(outcomes), ...(tasks === undefined ? {} : { tasks: expectedOf(tasks) }) },
  });
}

const mig = (profile: string, count = 1) => ({ mig: { [`nvidia.com/mig-${profile}`]: count } });
const migNode = (instances: Readonly<Record<string, number>>) => ({
  migInstances: Object.fromEntries(Object.entries(instances).map(([name, count]) => [`nvidia.com/mig-${name}`, count])),
  mig: "mixed",
});

describe("static MIG instances", () => {
  it("serve their own profile, while they last", () => {
    const one = { node: migNode({ "1g.10gb": 1 }), jobs: [job("x", { pods: [mig("1g.10gb")] })] };
    expect(differences({ ...one, outcomes: { x: "placed" } })).toEqual([]);
    expect(differences({ ...one, outcomes: { x: "stays-pending" } })).toEqual([
      "x-0: expected stays-pending, is running on n1",
      "1 rounds later: x-0: expected stays-pending, is running on n1",
      "2 rounds later: x-0: expected stays-pending, is running on n1",
    ]);
    const other = { ...one, node: migNode({ "1g.5gb": 1 }) };
    expect(differences({ ...other, outcomes: { x: "stays-pending" } })).toEqual([]);
  });

  it("count in quotas by their compute slices, and are reclaimed", () => {
    const jobs = [
      job("wide", { queue: "b", pods: [{ ...mig("2g.20gb"), node: "n1" }] }),
      job("x", { pods: [mig("2g.20gb")] }),
    ];
    const node = migNode({ "2g.20gb": 1 });
    expect(differences({ node, jobs, quotas: { a: 2, b: 1 }, outcomes: { wide: "evicted", x: "placed" } })).toEqual([]);
    expect(
      differences({ node, jobs, quotas: { a: 1, b: 2 }, outcomes: { wide: "keeps-running", x: "stays-pending" } }),
    ).toEqual([]);
  });

  it("of two profiles are had by the pods of one gang, all or none", () => {
    const gang = job("gang", { priority: BUILD, pods: [mig("1g.10gb", 2), mig("1g.10gb"), mig("1g.5gb")] });
    const late = job("late", { pods: [mig("1g.5gb")] });
    const node = migNode({ "1g.10gb": 3, "1g.5gb": 2 });
    expect(differences({ node, jobs: [gang, late], outcomes: { gang: "placed", late: "placed" } })).toEqual([]);
    const scarce = migNode({ "1g.10gb": 2, "1g.5gb": 2 });
    expect(
      differences({ node: scarce, jobs: [gang, late], outcomes: { gang: "stays-pending", late: "placed" } }),
    ).toEqual([]);
  });

  it("leave no whole GPUs, and single ones no fractions", () => {
    const whole = [job("x", { gpusPerPod: 1 })];
    expect(differences({ node: { gpus: 1, mig: "mixed" }, jobs: whole, outcomes: { x: "stays-pending" } })).toEqual([]);
    const node = { gpus: 1, mig: "single" };
    expect(differences({ node, jobs: whole, outcomes: { x: "placed" } })).toEqual([]);
    expect(differences({ node, jobs: [job("x", { gpusPerPod: 0.5 })], outcomes: { x: "stays-pending" } })).toEqual([]);
  });
});

describe("GPU memory", () => {
  const on = (gpu: string) => [{ node: "n1", gpuIndexes: [gpu] }];
  it("is a share of the node's GPUs, and work moves together for it", () => {
    const jobs = [
      job("left", { gpuMemoryMiBPerPod: 30, pods: on("0") }),
      job("right", { gpuMemoryMiBPerPod: 30, pods: on("1") }),
      job("big", { gpuMemoryMiBPerPod: 80 }),
    ];
    const outcomes = { left: "keeps-running", right: "keeps-running", big: "placed" };
    expect(differences({ node: { gpus: 2 }, jobs, outcomes })).toEqual([]);
    expect(
      differences({ node: { gpus: 2, gpuMemoryMiB: 50 }, jobs, outcomes: { ...outcomes, big: "stays-pending" } }),
    ).toEqual([]);
  });
});

describe("pods that terminate at the start", () => {
  const leaving = { state: "Releasing", node: "n1" };
  it("hold their GPUs until the round is over, and are nominated for", () => {
    const jobs = [job("old", { gpusPerPod: 1, pods: [leaving] }), job("new", { gpusPerPod: 1, priority: BUILD })];
    const one = { node: { gpus: 1 }, jobs };
    expect(differences({ ...one, action: "allocate", outcomes: { old: "evicted", new: "promised" } })).toEqual([]);
    expect(differences({ ...one, outcomes: { old: "evicted", new: "placed" } })).toEqual([]);
  });

  it("stay where they are deleted, and what they have is free to nobody", () => {
    const old = job("old", { gpusPerPod: 0.5, deleteJobInTest: true, pods: [{ ...leaving, gpuIndexes: ["0"] }] });
    const jobs = [old, job("new", { gpusPerPod: 1, priority: BUILD })];
    expect(differences({ node: { gpus: 1 }, jobs, outcomes: { old: "releasing", new: "stays-pending" } })).toEqual([]);
    expect(differences({ node: { gpus: 2 }, jobs, outcomes: { old: "releasing", new: "placed" } })).toEqual([]);
  });

  it("may be some of a gang, of which the others stay", () => {
    const pods = [{ node: "n1" }, leaving];
    const jobs = [job("part", { gpusPerPod: 1, gangMin: 1, pods }), job("new", { gpusPerPod: 1, priority: BUILD })];
    const tasks = { "part-0": "keeps-running", "part-1": "evicted", "new-0": "placed" };
    expect(differences({ node: { gpus: 2 }, jobs, tasks })).toEqual([]);
  });
});

describe("Kueue's quotas by flavor", () => {
  const facts = (request: Readonly<Record<string, unknown>>) => ({
    id: "case",
    dialect: "kueue-fair-sharing",
    name: "case",
    mode: "victim-selection",
    queues: [
      {
        name: "a",
        parent: "all",
        quotaByFlavor: { fast: 2, slow: 0 },
        preemptionPolicy: { reclaimWithinCohort: "Any" },
      },
      { name: "b", parent: "all", quotaByFlavor: { fast: 0, slow: 4 } },
    ],
    runningJobs: [
      { name: "b-fast", queue: "b", priority: 0, pods: 1, ...request },
      { name: "a-fast", queue: "a", priority: 0, pods: 1, ...request },
      { name: "a-slow", queue: "a", priority: 0, pods: 1, gpusPerPod: 3, flavor: "slow" },
    ],
    pendingJobs: [{ name: "a-next", queue: "a", priority: 0, pods: 1, ...request }],
    expected: { victims: { "b-fast": "InCohortReclamation" }, incomingCanProceed: true },
  });

  it("take amounts of a flavor, and amounts by flavor", () => {
    expect(playKueueQuota(facts({ gpusPerPod: 1, flavor: "fast" }))).toEqual([]);
    expect(playKueueQuota(facts({ requestsByFlavor: { fast: 1 } }))).toEqual([]);
  });
});
