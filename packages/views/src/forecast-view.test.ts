import { defaultPolicy, nodeId, poolName, teamName } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { estimateView, forecastView, startingChangesView } from "./forecast-view.ts";
import { beyondPlayed, estimateBounds } from "./forecast-words.ts";
import { SmallFleet, specOf } from "./testing/small-fleet.ts";

const kinds = (fleet: SmallFleet, id: string): string[] =>
  (startingChangesView(fleet.engine, id)?.items ?? []).map(({ change }) => change.kind);

it("does not say that tasks of an array would pass others of the same array by a higher priority", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.command({ kind: "setPolicy", policy: defaultPolicy });
  const sweep = fleet.submit("sweep", { gang: { accelerators: 1 }, taskCount: 6, preemptible: true });
  const single = fleet.submit("single", { gang: { accelerators: 1 } });
  expect(kinds(fleet, sweep)).toContain("moreNodes");
  expect(kinds(fleet, sweep)).not.toContain("higherPriority");
  expect(kinds(fleet, single)).toContain("higherPriority");
});

const sentences = (fleet: SmallFleet, id: string): string[] =>
  (startingChangesView(fleet.engine, id)?.items ?? []).map(({ change }) => change.sentence);

describe("what keeps work from being asked at all", () => {
  const HOUR_MS = 3_600_000;

  it("is named with the command or the field that ends it", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const held = fleet.submit("held", { hold: true });
    const later = fleet.submit("later", { notBeforeMs: 100 * HOUR_MS });
    expect(sentences(fleet, held)).toEqual(["Release it: headroom release default/held."]);
    expect(sentences(fleet, later)).toEqual([
      "Submit it without notBefore, which delays the start until 1970-01-05T04:00:00Z.",
    ]);
  });

  it("is no single change where there are two such things, or no room either", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    expect(kinds(fleet, fleet.submit("both", { hold: true, notBeforeMs: 100 * HOUR_MS }))).toEqual([]);
    expect(kinds(fleet, fleet.submit("large", { hold: true, gang: { accelerators: 8 } }))).toEqual([]);
  });

  it("is as few conditions on power as will do", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const when = { kind: "once", startMs: 0, endMs: 100 * HOUR_MS } as const;
    fleet.apply({
      calendar: [{ kind: "tariff", name: "day", when, microUsdPerKwh: 300_000, gramsPerKwh: 200 }],
    });
    const picky = fleet.submit("picky", { startWindow: { microUsdPerKwhMax: 80_000, gramsPerKwhMax: 250 } });
    expect(sentences(fleet, picky)).toEqual(["Accept power at a higher price than 0.08 USD/kWh (maxPrice)."]);
  });

  it("is every budget that is used up, by whole GPU-hours and dollars", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const budget = { period: "total", over: "hold" } as const;
    fleet.define({ name: "lab", parent: null, limit: {}, budget: { ...budget, gpuHours: 10 } });
    fleet.define({ name: "nlp", parent: "lab", limit: {}, budget: { ...budget, gpuHours: 4, microUsd: 9_000_000 } });
    const first = fleet.submit("first", { team: "nlp", gang: { accelerators: 4 } });
    fleet.nowMs += 2.6 * HOUR_MS;
    fleet.finish(first, 0);
    const next = fleet.submit("next", { team: "nlp", gang: { accelerators: 2 }, walltimeMs: 8 * HOUR_MS });
    expect(sentences(fleet, next)).toEqual([
      "Raise the budget of team nlp from 4 GPU-hours to 11 GPU-hours and the budget of team lab from 10 GPU-hours to 11 GPU-hours. By its walltime it uses up to 16 GPU-hours.",
    ]);
  });
});

describe("what others could do", () => {
  const HOUR_MS = 3_600_000;

  it("is resuming as few drained nodes as will do, or moving what is planned for them", () => {
    const fleet = SmallFleet.withNodes(3, 4);
    for (const id of ["n1", "n2"]) fleet.command({ kind: "drainNode", nodeId: nodeId(id), running: "wait" });
    const planned = { kind: "maintenance", nodes: [nodeId("n0")], startMs: 2 * HOUR_MS, endMs: 5 * HOUR_MS } as const;
    fleet.apply({ calendar: [{ ...planned, name: "cooling" }] });
    const long = fleet.submit("long", { gang: { accelerators: 4 }, walltimeMs: 4 * HOUR_MS });
    expect(sentences(fleet, long)).toEqual([
      "Set its walltime to 1 h 55 min instead of 4 h.",
      "Resume drained nodes: headroom nodes resume n1.",
      "Let the maintenance cooling begin at 1970-01-01T04:01:00Z instead of 1970-01-01T02:00:00Z, 2 h 1 min later.",
      "Add 1 node like n0.",
    ]);
    fleet.stop(long);
    const gang = fleet.submit("gang", { gang: { workers: 2, accelerators: 4 }, walltimeMs: HOUR_MS });
    expect(sentences(fleet, gang)).toContain("Resume drained nodes: headroom nodes resume n1.");
    fleet.stop(gang);
    const wide = fleet.submit("wide", { gang: { workers: 3, accelerators: 4 }, walltimeMs: HOUR_MS });
    expect(sentences(fleet, wide)).toContain(
      "Resume drained nodes: headroom nodes resume n1, headroom nodes resume n2.",
    );
  });

  it("is resuming a node that one group of a gang could use, however small it is", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const small = { pool: poolName("H100"), fabric: [], acceleratorCount: 1, coresMilli: 16_000, memoryMib: 65_536 };
    fleet.receive({ kind: "nodeSeen", node: { id: nodeId("small"), ...small } });
    fleet.command({ kind: "drainNode", nodeId: nodeId("small"), running: "wait" });
    const shape = { workers: 1, coresMilli: 0, memoryMib: 0 };
    const groups = [
      { name: "large", accelerators: 4, ...shape },
      { name: "small", accelerators: 1, ...shape },
    ];
    const both = fleet.submit("both", { gang: { workers: 2, accelerators: 4, taskGroups: groups } });
    expect(sentences(fleet, both)).toContain("Resume drained nodes: headroom nodes resume small.");
  });

  it("is keeping fewer spares, admitting its data, or lying nearer", () => {
    const fleet = SmallFleet.withNodes(2, 4);
    const pool = fleet.engine.state.pools.get(poolName("H100"));
    if (pool === undefined) throw new Error("no pool");
    fleet.apply({ pools: [{ ...pool, hotSpares: 1 }] });
    fleet.submit("first", { gang: { accelerators: 2, antiAffinity: { sets: ["noisy"] } } });
    const tight = fleet.submit("tight", { gang: { accelerators: 4 } });
    expect(sentences(fleet, tight)).toContain("Keep 0 hot spares in pool H100 instead of 1.");
    fleet.stop(tight);
    const secret = fleet.submit("secret", { data: { rule: "secret" } });
    expect(sentences(fleet, secret)).toEqual(["Admit work with data rule secret to the pool H100."]);
    const quiet = fleet.submit("quiet", { gang: { antiAffinity: { from: [{ set: "noisy", within: "node" }] } } });
    expect(sentences(fleet, quiet)).toContain(
      "Let it lie within one node with work of the set noisy (antiAffinity.from).",
    );
  });
});

it("submits in its place what is of the same user", () => {
  const fleet = SmallFleet.withNodes(2, 4);
  fleet.define({ name: "lab", parent: null, limit: {}, userLimit: { accelerators: 4 } });
  fleet.submit("first", { team: "lab", gang: { accelerators: 4 } });
  const second = fleet.submit("second", { team: "lab", gang: { accelerators: 4 } });
  expect(kinds(fleet, second)).toEqual(["largerLimit", "afterEnds"]);
});

it("says until when work does not start where the future was played no further", () => {
  const { engine } = SmallFleet.withNodes(1, 4);
  const because = { endsBefore: 0, startsBefore: 0, startedCount: 1, scenarioCount: 8, arrivalsReplayed: false };
  const estimate = { workloadId: "w1", atMs: 1000, p10AtMs: null, p50AtMs: null, p90AtMs: null, because };
  const { sentence } = estimateView(engine, { ...estimate, playedUntilMs: 7_200_000 });
  expect(sentence).toBe(
    "In 7 of 8 scenarios it does not start before 1970-01-01T02:00:00Z, the end of the simulated period: no start can be estimated.",
  );
  const early = { ...estimate, p10AtMs: 3_601_000, p50AtMs: 5_401_000, playedUntilMs: 7_200_000 };
  expect(estimateView(engine, early).sentence).toContain(
    "not before 1 h from now, perhaps after 1970-01-01T02:00:00Z; 0 attempts end before it in the median of 8 scenarios.",
  );
});

describe("an estimate", () => {
  const because = { endsBefore: 67, startsBefore: 66, startedCount: 8, scenarioCount: 8, arrivalsReplayed: false };
  const range = { atMs: 0, p10AtMs: 60_000, p50AtMs: 120_000, p90AtMs: 180_000, because };
  const rest =
    "starts in about 2 min, with 80% probability between 1 min and 3 min from now; 67 attempts end before it in the median of 8 scenarios.";

  it("of an array is one of its next task", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const array = fleet.submit("array", { taskCount: 6 });
    const single = fleet.submit("single");
    const other = fleet.submit("other", { taskCount: 6 });
    const sentenceOf = (workloadId: string): string => estimateView(fleet.engine, { workloadId, ...range }).sentence;
    expect(sentenceOf(array)).toBe(`The next of its 2 waiting tasks ${rest}`);
    expect(sentenceOf(single)).toBe(`It ${rest}`);
    expect(sentenceOf(other)).toBe(`The first of its 6 tasks ${rest}`);
    fleet.finish(array, 0);
    expect(sentenceOf(array)).toBe(`The last of its tasks ${rest}`);
  });

  it("of work that may start at once says so instead of a wait of 0 s", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const workloadId = fleet.submit("soon");
    const soon = { workloadId, ...range, p10AtMs: 0, p50AtMs: 400, p90AtMs: 67_000 };
    expect(estimateView(fleet.engine, soon).sentence).toMatch(
      /^It is due to start, with 80% probability within 1 min 7 s; 67 attempts end before it/,
    );
    expect(estimateView(fleet.engine, { ...soon, p90AtMs: null }).sentence).toContain(
      "with 80% probability from now on, perhaps beyond the horizon; ",
    );
  });

  it("that cannot be given begins with what it waits for, unless the verdict stands beside it", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const workloadId = fleet.submit("held", { hold: true });
    const nothing = { startedCount: 0, scenarioCount: 0, endsBefore: 0, startsBefore: 0, arrivalsReplayed: false };
    const none = { workloadId, atMs: 0, p10AtMs: null, p50AtMs: null, p90AtMs: null, because: nothing };
    expect(estimateView(fleet.engine, none).sentence).toBe(
      "Held: it starts after a release. No start can be estimated.",
    );
    expect(estimateBounds({ ...none, sentence: "" }).map(({ atMs }) => atMs)).toEqual([null, null, null]);
    expect(beyondPlayed(none)).toBe("never under present conditions");
    const { spec } = fleet.engine.state.workloads.get(workloadId)!;
    const submission = { spec: { ...spec, name: "other" }, actor: "ann" };
    const asked = forecastView(fleet.engine, submission, (fork) =>
      [...fork.state.workloads.keys()].map((id) => ({ ...none, workloadId: id })),
    );
    expect(asked).toMatchObject({
      forecast: {
        sentence: "It would wait. Held: it starts after a release.",
        estimate: { sentence: "No start can be estimated." },
      },
    });
  });
});

it("says how many tasks of an array would start", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  const array = fleet.submit("array", { taskCount: 6 });
  fleet.stop(array);
  const { spec } = fleet.engine.state.workloads.get(array)!;
  const sentenceOf = (accelerators: number): unknown => {
    const empty = SmallFleet.withNodes(1, 4).engine;
    const asked = { spec: { ...spec, gang: { ...spec.gang, accelerators } }, actor: "ann" };
    const view = forecastView(empty, asked, () => []);
    return view.kind === "forecast" ? view.forecast.sentence : view;
  };
  expect(sentenceOf(2)).toBe("It would start at once, on n0. These are 2 of its 6 tasks; the others wait.");
  expect(sentenceOf(0)).toBe("It would start at once, on n0. These are all of its 6 tasks.");
});

it("says that an elastic gang which makes room goes on, and that no work is lost by it", () => {
  const fleet = SmallFleet.withNodes(2, 4);
  fleet.command({ kind: "setPolicy", policy: { ...defaultPolicy, strategy: "kai" } });
  fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { H100: 8, accelerators: 8 } });
  fleet.define({ name: "guest", parent: null, limit: {} });
  const gang = { workers: 2, minWorkers: 1, accelerators: 4 };
  const elastic = fleet.submit("elastic", { team: "guest", gang, preemptible: true });
  const [attemptId] = fleet.engine.state.workloads.get(elastic)!.activeAttempts;
  fleet.receive({ kind: "attemptRunning", attemptId: attemptId! });
  const { spec } = fleet.engine.state.workloads.get(elastic)!;
  const own = { ...spec, name: "own", team: teamName("owner"), gang: { ...spec.gang, workers: 1, minWorkers: 1 } };
  const view = forecastView(fleet.engine, { spec: own, actor: "ann" }, () => []);
  expect(view).toMatchObject({
    forecast: {
      kind: "starts",
      start: { displaced: [{ workloadId: elastic, workers: 1, keeps: 1, lostAcceleratorMs: 0 }] },
      sentence: "It would start on n1 after preempting elastic (down to 1 worker), which costs no work.",
    },
  });
});

describe("before it is submitted", () => {
  const fleetWithGuarantees = (): SmallFleet => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: defaultPolicy });
    fleet.define({ name: "owner", parent: null, limit: {}, guarantee: { accelerators: 4 } });
    fleet.define({ name: "guest", parent: null, limit: {}, guarantee: { H100: 1 } });
    return fleet;
  };
  const sentenceOf = (fleet: SmallFleet, team: string, more: object = {}): string => {
    const spec = specOf("asked", { team, gang: { accelerators: 3 }, ...more });
    const answer = forecastView(fleet.engine, { spec, actor: "ann" }, () => []);
    return answer.kind === "forecast" ? answer.forecast.sentence : answer.kind;
  };

  it("says what could be reclaimed, by whom, and what a restart costs", () => {
    const said = sentenceOf(fleetWithGuarantees(), "guest", { minRuntimeMs: 600_000, restartCostMs: 120_000 });
    expect(said).toContain(
      "It requests 3 accelerators, and 2 of them would be above the guarantee of team guest: a team below its own guarantee can reclaim that after it ran 10 min. A restart costs the work since its last checkpoint and 2 min.",
    );
  });

  it("says nothing of it where nothing can be reclaimed", () => {
    const fleet = fleetWithGuarantees();
    for (const said of [sentenceOf(fleet, "owner"), sentenceOf(fleet, "guest", { preemptible: false })])
      expect(said).not.toContain("reclaim");
  });
});
