/** A round starts a bounded amount of work; the rest follows in later rounds, in the same order, and restarts change nothing. */
import { describe, expect, it } from "vitest";
import { presets, workloadId } from "@headroom/model";
import type { Event, Input, Policy, WorkloadSpec } from "@headroom/model";
import { createEngine, replayEngine, restoreEngine } from "../src/index.ts";
import type { Engine, JournalGroup } from "../src/index.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const HUGE = { acceleratorCount: 512, coresMilli: 100_000_000, memoryMib: 1_000_000_000 };
const NODES = 4;
/** A small bound, so that a few hundred starts need many rounds. */
const STARTS_MAX = 64;
const options = { startsMax: STARTS_MAX };

interface Played {
  readonly groups: readonly JournalGroup[];
  readonly batches: readonly { readonly inputs: readonly Input[]; readonly nowMs: number }[];
  readonly engine: Engine;
}

/** Runs rounds until nothing is due. `restarts`: the engine is replaced by a restored one before each round. */
function play(policy: Policy | null, specs: readonly WorkloadSpec[], restarts = false): Played {
  let engine = createEngine(options);
  const groups: JournalGroup[] = [];
  const batches: { inputs: readonly Input[]; nowMs: number }[] = [];
  const receive = (inputs: readonly Input[], nowMs: number): void => {
    if (restarts) engine = restoreEngine(engine.snapshot(), options);
    batches.push({ inputs, nowMs });
    const { group } = engine.receive(inputs, nowMs);
    engine.advance();
    if (group !== null) groups.push(group);
  };
  const types = ["H100", ""].map((type) => pool(type));
  receive(
    [
      applied({ sites: [site], pools: types, teams: [team("a"), team("b")] }),
      ...(policy === null ? [] : [command({ kind: "setPolicy", policy })]),
      ...Array.from(
        { length: NODES },
        (_, index) => ({ kind: "nodeSeen", node: node(`n${index}`, "H100", HUGE) }) as const,
      ),
    ],
    0,
  );
  receive(
    specs.map((each) => command({ kind: "submitWorkload", spec: each })),
    1,
  );
  // A wake at the time of the last round is a cut round. Later wakes are predictions and steps of usage history.
  for (let wake = engine.nextWakeAtMs(); wake !== null && wake <= 1; wake = engine.nextWakeAtMs())
    receive([{ kind: "tick" }], wake);
  return { groups, batches, engine };
}

const placed = (groups: readonly JournalGroup[]): Extract<Event, { kind: "gangPlaced" }>[] =>
  groups.flatMap(({ text }) => (JSON.parse(text) as Event[]).filter((event) => event.kind === "gangPlaced"));

const amountIn = (group: JournalGroup): number =>
  placed([group]).reduce((sum, { workers }) => sum + 1 + workers.length, 0);

const needs = {
  nothing: {},
  core: { coresMilli: 1_000 },
  memory: { memoryMib: 1 },
  accelerator: { accelerators: 1 },
  share: { accelerators: 1, shareMilli: 100 },
  pair: { workers: 2, coresMilli: 1 },
  elastic: { workers: 3, minWorkers: 2, coresMilli: 1 },
};
const array = (need: keyof typeof needs, taskCount: number, more: Parameters<typeof spec>[1] = {}): WorkloadSpec =>
  spec(`${need}-${taskCount}-${more.team ?? "default"}`, {
    gang: { accelerators: 0, ...needs[need] },
    taskCount,
    ...more,
  });
const singles = (need: keyof typeof needs, count: number): WorkloadSpec[] =>
  Array.from({ length: count }, (_, index) =>
    spec(`${need}-${index}`, { gang: { accelerators: 0, ...needs[need] }, team: index % 2 === 0 ? "a" : "b" }),
  );

const MANY = 100;
const works: Readonly<Record<string, readonly WorkloadSpec[]>> = {
  "one array of tasks that need nothing": [array("nothing", MANY)],
  "one array of tasks with a core": [array("core", MANY)],
  "an array that needs memory": [array("memory", MANY)],
  "an array of shares": [array("share", MANY)],
  "an array of single accelerators": [array("accelerator", MANY)],
  "single workloads": singles("nothing", MANY),
  "gangs of two": singles("pair", MANY),
  "elastic gangs": singles("elastic", MANY),
  "arrays of two teams": [array("core", MANY, { team: "a" }), array("core", MANY, { team: "b" })],
  "two arrays that need nothing, of two teams": [
    array("nothing", MANY, { team: "a" }),
    array("nothing", MANY, { team: "b" }),
  ],
  "one gang that is larger than the bound": [
    spec("wide", { gang: { workers: STARTS_MAX + 5, accelerators: 0, coresMilli: 1 } }),
    array("core", MANY),
  ],
};
const tasksOf = (specs: readonly WorkloadSpec[]): number =>
  specs.reduce((sum, each) => sum + (each.kind === "batch" ? each.taskCount : 1), 0);
const preset = (name: string): Policy => presets.get(name) as Policy;
const names = [...presets.keys()];

describe("a bounded round", () => {
  const cases: readonly [string, string][] = [
    ...Object.keys(works).map((work): [string, string] => [work, "default"]),
    ...names.flatMap((name): [string, string][] => [
      ["one array of tasks with a core", name],
      ["two arrays that need nothing, of two teams", name],
    ]),
  ];
  it.each(cases)("starts %s in several rounds, and all of them (%s)", (work, name) => {
    const specs = works[work] as readonly WorkloadSpec[];
    const { groups, engine, batches } = play(preset(name), specs);
    const all = placed(groups);
    expect(all).toHaveLength(tasksOf(specs));
    const widest = Math.max(...all.map(({ workers }) => 1 + workers.length));
    for (const group of groups) expect(amountIn(group)).toBeLessThan(STARTS_MAX + widest);
    expect(groups.length).toBeGreaterThan(3);
    const folded = createEngine();
    replayEngine(folded, groups);
    const again = createEngine(options);
    for (const { inputs, nowMs } of batches) {
      again.receive(inputs, nowMs);
      again.advance();
    }
    expect([folded.digest(), again.digest()]).toEqual([engine.digest(), engine.digest()]);
  });

  it.each(["nothing", "core", "share"] as const)("continues after a restart between two rounds (%s)", (need) => {
    const specs = [array(need, MANY, { team: "a" }), array("core", 10, { team: "b" })];
    const live = play(null, specs);
    const restarted = play(null, specs, true);
    expect(restarted.groups.map(({ text }) => text)).toEqual(live.groups.map(({ text }) => text));
    expect(restarted.engine.digest()).toBe(live.engine.digest());
  });

  // Armada's rebalancing fills the fleet by fair share, and tasks that need nothing have no share.
  it.each(names.filter((name) => name !== "armada"))(
    "lets other work start before the rest of a giant array (%s)",
    (name) => {
      const { groups } = play(preset(name), [
        array("nothing", 3 * MANY, { team: "a" }),
        array("core", 3, { team: "b" }),
      ]);
      const first = groups.findIndex((group) => placed([group]).some((event) => event.workloadId === workloadId("w2")));
      expect(first).toBeLessThan(4);
    },
  );
});
