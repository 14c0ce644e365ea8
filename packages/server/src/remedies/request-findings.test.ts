import { describe, expect, it } from "vitest";
import type { ReadonlyState } from "@headroom/engine";
import type { EndedAttempt } from "@headroom/model";
import { MeasuredRequests, measuredRun } from "./measured-requests.ts";
import { requestFindings, runKey } from "./request-findings.ts";
import type { MeasuredRun } from "./request-findings.ts";

const spec = {
  kind: "train",
  name: "fit",
  team: "nlp",
  gang: { workers: 1, accelerators: 4, coresMilli: 32_000, memoryMib: 65_536 },
};
const stateWith = (changes: object = {}): ReadonlyState =>
  ({
    workloads: new Map([["w9", { id: "w9", spec: { ...spec, ...changes }, endedAtMs: null, submittedAtMs: 7 }]]),
  }) as unknown as ReadonlyState;
const runsOf = (count: number, changes: Partial<MeasuredRun> = {}): readonly MeasuredRun[] =>
  Array.from({ length: count }, (_, index) => ({
    key: runKey(spec as never),
    workers: 1,
    requested: spec.gang,
    peakMemoryMib: 9_000 + index * 100,
    coresMilli: 1_500,
    mostBusyAccelerators: 2,
    ...changes,
  }));

describe("requests far above what runs used", () => {
  it("are found with the smaller request and its ground", () => {
    const [finding] = requestFindings(stateWith(), runsOf(6));
    expect(finding).toMatchObject({
      kind: "request",
      team: "nlp",
      sinceMs: 7,
      reason: "6 measured runs of fit used far less than it requests",
      change: { kind: "advice", text: "request 12 GiB of memory, 3 cores, 2 accelerators for each worker" },
    });
    expect(finding?.ground).toContainEqual({ measure: "99th percentile of the peaks", valueMilli: 9_277, unit: "GiB" });
  });

  it("are not found from few runs, of gangs of another size, or if one run needed the request", () => {
    expect(requestFindings(stateWith(), runsOf(4))).toEqual([]);
    expect(requestFindings(stateWith(), runsOf(9, { workers: 2 }))).toEqual([]);
    const one = runsOf(1, { peakMemoryMib: 60_000, coresMilli: 20_000, mostBusyAccelerators: 4 });
    expect(requestFindings(stateWith(), [...runsOf(9), ...one])).toEqual([]);
    expect(requestFindings(stateWith({ kind: "serve" }), runsOf(9))).toEqual([]);
    const small = runsOf(9, { requested: { ...spec.gang, memoryMib: 16_384 } });
    expect(requestFindings(stateWith(), [...runsOf(4), ...small])).toEqual([]);
  });

  it("say nothing about accelerators of which some runs report nothing", () => {
    const [finding] = requestFindings(stateWith(), [...runsOf(5), ...runsOf(1, { mostBusyAccelerators: null })]);
    expect(finding?.change).toMatchObject({ text: "request 12 GiB of memory, 3 cores for each worker" });
  });
});

const attempt = {
  id: "w1.1",
  outcome: "succeeded",
  startedAtMs: 0,
  endedAtMs: 100_000,
  workers: [{ node: "n1", accelerators: "0" }],
} as unknown as EndedAttempt;
const worker = { worker: 0, cpuMs: 150_000, rssMib: 0, peakRssMib: 900 };
const usage = { workers: [worker], progressSkippedCount: 0 };

describe("a measured run", () => {
  it("has the memory and the mean cores of its largest worker", () => {
    expect(measuredRun(spec as never, attempt, usage, undefined)).toEqual({
      key: runKey(spec as never),
      workers: 1,
      requested: { accelerators: 4, coresMilli: 32_000, memoryMib: 65_536 },
      peakMemoryMib: 900,
      coresMilli: 1_500,
      mostBusyAccelerators: null,
    });
  });

  it("is none if it was short, or a worker was not measured", () => {
    expect(measuredRun(spec as never, { ...attempt, endedAtMs: 59_000 }, usage, undefined)).toBeNull();
    expect(measuredRun(spec as never, attempt, { ...usage, workers: [] }, undefined)).toBeNull();
    expect(
      measuredRun(spec as never, attempt, { ...usage, workers: [{ ...worker, peakRssMib: 0 }] }, undefined),
    ).toBeNull();
  });

  it("is read once from the executor of its pool, for names with work that has not ended", async () => {
    const other = { id: "w2", spec: { ...spec, name: "other" }, endedAtMs: 1 };
    const state = stateOf(
      { ...first, endedAttempts: [attempt, { ...attempt, id: "w1.2", outcome: "failed" }] },
      { ...other, endedAttempts: [{ ...attempt, id: "w2.1" }] },
    );
    const { requests, asked, look } = looks(state, async () => usage);
    await look();
    await look();
    expect(asked).toEqual(["w1.1"]);
    expect(requests.runs).toHaveLength(1);
  });

  it("counts if it is one of the newest 200 of its name", async () => {
    const attempts = Array.from({ length: 201 }, (_, index) => ({
      ...attempt,
      id: `w1.${index}`,
      endedAtMs: 100_000 + index,
    }));
    const { requests, asked, look } = looks(stateOf({ ...first, endedAttempts: attempts }), async () => usage);
    for (let count = 0; count < 3; count++) await look();
    expect([asked.length, asked[0], asked.at(-1)]).toEqual([200, "w1.200", "w1.1"]);
    expect(requests.runs).toHaveLength(200);
  });

  it("is tried again if it cannot be read now, and does not stop the others", async () => {
    const attempts = [attempt, { ...attempt, id: "w1.2", endedAtMs: 200_000 }];
    const { requests, asked, look } = looks(stateOf({ ...first, endedAttempts: attempts }), async (id) => {
      if (id === "w1.2") throw new Error("EIO");
      return usage;
    });
    for (let count = 0; count < 5; count++) await look();
    expect(asked).toEqual(["w1.2", "w1.1", "w1.2", "w1.2"]);
    expect(requests.runs).toHaveLength(1);
  });
});

const first = { id: "w1", spec, endedAtMs: 1 };
const stateOf = (
  ...ended: readonly { readonly id: string; readonly endedAttempts: readonly object[] }[]
): ReadonlyState =>
  ({
    workloads: new Map<string, unknown>([
      ...ended.map((each) => [each.id, each] as const),
      ["w9", { id: "w9", spec, endedAtMs: null, endedAttempts: [] }],
    ]),
    nodes: new Map([["n1", { id: "n1", pool: "p" }]]),
    pools: new Map([["p", { name: "p", executor: "local" }]]),
  }) as unknown as ReadonlyState;

/** Looks at `state` with one executor. `asked`: the attempts that it was asked about. */
function looks(state: ReadonlyState, usageOf: (id: string) => Promise<typeof usage>) {
  const asked: string[] = [];
  const requests = new MeasuredRequests();
  const parts = {
    read: async <Answer>(ask: (each: ReadonlyState) => Answer) => ask(state),
    executorOf: () => ({
      usage: async (id: string) => {
        asked.push(id);
        return usageOf(id);
      },
    }),
    reportOf: () => undefined,
  };
  return { requests, asked, look: () => requests.look(parts, new AbortController().signal) };
}
