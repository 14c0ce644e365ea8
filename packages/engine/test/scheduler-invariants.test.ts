/**
 * Tests of the checks for plans, nominations, quotas and constraints: a state with one error must be reported with a
 * specific finding.
 */
import { describe, expect, it } from "vitest";
import { attemptId, nodeId, presets, teamName, workloadId } from "@headroom/model";
import type { Event, Input, Policy, Team } from "@headroom/model";
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import type { Engine, Ready } from "../src/index.ts";
import { worldOf } from "../src/engine/engine.ts";
import type { QueueBucket } from "../src/cluster/queue.ts";
import { writable } from "../src/apply/writable.ts";
import type { WritableWorld as World } from "../src/apply/writable.ts";
import { markRejected } from "../src/ordering/round-order.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";
import { keepReservations } from "../src/placement/backfill/reservations.ts";

type Changes = Parameters<typeof spec>[1];
const submit = (name: string, changes: Changes = {}): Input =>
  command({ kind: "submitWorkload", spec: spec(name, changes) });
const guaranteed = (name: string, guarantee: Team["guarantee"]): Team => ({
  ...team(name),
  guarantee: guarantee ?? {},
});

/**
 * Teams that borrow from each other, an elastic gang that shrinks, and a nomination for the request for which it
 * shrinks.
 */
function shrinking(): { readonly engine: Engine; readonly ready: Ready } {
  const drive = new Drive();
  const kai = presets.get("kai") as Policy;
  drive.receive(
    applied({
      sites: [site],
      pools: [pool("H100")],
      teams: [guaranteed("a", { accelerators: 2 }), guaranteed("b", { accelerators: 3 })],
    }),
    command({ kind: "setPolicy", policy: kai }),
    { kind: "nodeSeen", node: node("n1", "H100", { acceleratorCount: 4, labels: { zone: "x" }, workersMax: 6 }) },
    { kind: "nodeSeen", node: node("n2", "H100", { acceleratorCount: 1, labels: { zone: "y" } }) },
  );
  drive.receive(
    submit("part", { team: "b", gang: { shareMilli: 400 }, nodeSelector: { zone: "y" }, preemptible: false }),
  );
  drive.receive(submit("elastic", { team: "a", gang: { workers: 4, minWorkers: 1 }, nodeSelector: { zone: "x" } }));
  const ready = drive.receive(submit("two", { team: "b", gang: { workers: 2 } }));
  return { engine: drive.engine, ready };
}

/** Under the default policy: non-preemptible work, growing work, and work behind a protected start. */
function protecting(): Engine {
  const drive = new Drive();
  drive.receive(
    applied({ sites: [site], pools: [pool("H100")] }),
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    { kind: "nodeSeen", node: node("n1", "H100") },
  );
  drive.receive(submit("runs", { gang: { accelerators: 6 }, walltimeMs: 1000, minRuntimeMs: 500 }));
  drive.receive(submit("head", { gang: { accelerators: 8 }, walltimeMs: 1000, priority: 1 }));
  drive.receive(submit("slow", { gang: { accelerators: 2 }, walltimeMs: 5000 }));
  return drive.engine;
}

/**
 * Work overtakes the head of the queue. The head is then nominated for the place that was protected for it; its second
 * task waits.
 */
function nominatedAfterwards(): { readonly engine: Engine; readonly ready: Ready } {
  const drive = new Drive();
  const policy = presets.get("default") as Required<Policy>;
  drive.receive(
    applied({ sites: [site], pools: [pool("H100")] }),
    command({ kind: "setPolicy", policy: { ...policy, order: ["submitted"], teams: { ...policy.teams, order: [] } } }),
    { kind: "nodeSeen", node: node("n1", "H100") },
    { kind: "nodeSeen", node: node("n2", "H100") },
  );
  drive.receive(submit("leaves", { gang: { workers: 3, accelerators: 4 }, priority: -1 }));
  drive.receive(submit("fills", { gang: { accelerators: 4 }, preemptible: true }));
  drive.receive(submit("urgent", { priority: 1 }));
  drive.receive({
    kind: "attemptExited",
    attemptId: attemptId("w2.1"),
    exits: [{ kind: "exited", worker: 0, code: 0 }],
  });
  const ready = drive.receive(
    submit("twice", { gang: { accelerators: 6 }, taskCount: 2 }),
    submit("long", { gang: { accelerators: 4 }, walltimeMs: 7_200_000, preemptible: true }),
  );
  return { engine: drive.engine, ready };
}

const attemptOf = (world: World, id: string) => {
  const found = world.state.attempts.get(attemptId(id));
  if (found === undefined) throw new Error(`no attempt ${id}`);
  return found;
};
const nominationOf = (world: World) => {
  const [found] = world.state.nominations.values();
  if (found === undefined) throw new Error("nothing is promised");
  return found;
};
const setNomination = (world: World, changes: object): void => {
  const known = nominationOf(world);
  world.state.nominations.set(known.attemptId, { ...known, ...changes });
};
const classes = (world: World): QueueBucket[] => [...world.queue.classes()];

type Mutant = readonly [name: string, wrong: (world: World) => void, finding: RegExp];

const ofPlans: readonly Mutant[] = [
  [
    "a promise forgotten by its node",
    (world) => world.capacity.nomination(spec("x").gang, nominationOf(world).workers, -1),
    /is indexed as (taken|staying|releasing|free)/,
  ],
  [
    "a promise on what nobody leaves",
    (world) =>
      setNomination(world, {
        workers: [
          { node: nodeId("n1"), accelerators: "0" },
          { node: nodeId("n1"), accelerators: "1" },
        ],
      }),
    /is nominated, and held by work that is not terminating/,
  ],
  [
    "a promise of too few workers",
    (world) => setNomination(world, { workers: nominationOf(world).workers.slice(1) }),
    /is promised 1 of 2 workers/,
  ],
  [
    "a promise on a node that takes no work",
    (world) => void (world.state.nodes.get(nodeId("n1"))!.draining = true),
    /is promised a place on n1, which takes no work/,
  ],
  [
    "a promise of a type it does not accept",
    (world) => setNomination(world, { acceleratorType: "A100" }),
    /is promised A100/,
  ],
  [
    "a promise for nobody",
    (world) => setNomination(world, { workloadId: workloadId("w9") }),
    /a place is promised to w9, which does not exist/,
  ],
  [
    "a promise to grow for what does not run",
    (world) => setNomination(world, { growth: true }),
    /does not run and is to grow/,
  ],
  [
    "workers that leave and are forgotten",
    (world) => void delete attemptOf(world, "w2.1").terminating,
    /n1 is indexed with \d+ coming accelerators|has \d+ of|asks for/,
  ],
  ["nobody is to leave", (world) => void (attemptOf(world, "w2.1").terminating = []), /waits for nobody to leave/],
  ["a gang below its least", (world) => void (attemptOf(world, "w2.1").workers = []), /has 0 of 4 workers/],
  [
    "a part given out twice",
    (world) =>
      void (attemptOf(world, "w1.1").workers = [0, 1, 2].map(() => ({ node: nodeId("n2"), accelerators: "0" }))),
    /accelerator 0 of n2 is held 1.2 times/,
  ],
  [
    "more workers than a node may have",
    (world) => void (world.state.nodes.get(nodeId("n1"))!.workersMax = 1),
    /of 1 workers of n1 are given out/,
  ],
  [
    "firm work not known as such",
    (world) => void (world.teamUse.node(teamName("b")).fixed.length = 0),
    /team b is indexed with 0 accelerators that cannot be preempted/,
  ],
  [
    "a node that somebody leaves filed nowhere",
    (world) => world.capacity.type("H100")!.releasing.delete(0),
    /n1 is not indexed among the nodes with terminating work/,
  ],
  [
    "growth that nobody asked for",
    (world) => world.queue.setGrowth(world.state.workloads.get(workloadId("w2"))!, attemptId("w2.1"), 1),
    /w2.1 is indexed as asking for 1 workers, it asks for 0/,
  ],
];

const ofStarts: readonly Mutant[] = [
  [
    "a protected start that is not there",
    (world) => keepReservations(world, []),
    /w3 waits although it fits beside every protected start/,
  ],
  [
    "a wake-up too late for a plan",
    (world) => {
      while (world.timers.takeDue(Number.MAX_SAFE_INTEGER) !== null);
    },
    /the next wake-up is at null, 500 is too late/,
  ],
  [
    "teams that borrow without a tree",
    (world) => void (world.rules = { ...world.rules, teams: { ...world.rules.teams, overGuarantee: "borrow" } }),
    /teams borrow and the quota tree says otherwise/,
  ],
  [
    "a class closed although it fits",
    (world) => {
      world.state.attempts.clear();
      for (const bucket of classes(world)) markRejected(world, bucket);
    },
    /is closed and fits/,
  ],
];

describe("checkInvariants", () => {
  it("finds nothing wrong with sound plans and protected starts", () => {
    expect(checkInvariants(shrinking().engine)).toEqual([]);
    expect(checkInvariants(protecting())).toEqual([]);
  });

  it.each(ofPlans)("finds %s", (_name, wrong, finding) => {
    const { engine } = shrinking();
    wrong(writable(worldOf(engine)));
    expect(checkInvariants(engine).join("\n")).toMatch(finding);
  });

  it.each(ofStarts)("finds %s", (_name, wrong, finding) => {
    const engine = protecting();
    wrong(writable(worldOf(engine)));
    expect(checkInvariants(engine).join("\n")).toMatch(finding);
  });
});

describe("checkBatch", () => {
  const bent = (bend: (event: Event) => readonly Event[], change: (world: World) => void = () => undefined): string => {
    const { engine, ready } = shrinking();
    change(writable(worldOf(engine)));
    return checkBatch(engine.state, { ...ready, events: ready.events.flatMap(bend) }).join("\n");
  };
  const without = (kind: Event["kind"]) => (event: Event) => (event.kind === kind ? [] : [event]);

  it("finds nothing wrong with a sound plan", () => {
    expect(bent((event) => [event])).toBe("");
  });

  it("finds an eviction without a plan, a plan that is not carried out, and one for nobody", () => {
    expect(bent(without("evictionPlanned"))).toMatch(/w2.1 is evicted and no plan names it/);
    expect(bent(without("gangShrinkRequested"))).toMatch(/w2.1 is a victim and gets no stop request/);
    expect(bent(without("placementNominated"))).toMatch(/work was evicted for w3 task 0, which got no place/);
  });

  it("finds a start that delays whoever is first by then, and not whoever comes first by a promise made later", () => {
    const { engine, ready } = nominatedAfterwards();
    const events = ready.events.filter(({ kind }) => kind === "gangPlaced" || kind === "placementNominated");
    expect(events.map(({ kind }) => kind)).toEqual(["gangPlaced", "placementNominated"]);
    expect(checkBatch(engine.state, ready)).toEqual([]);
    expect(checkBatch(engine.state, { ...ready, events: ready.events.toReversed() }).join("\n")).toMatch(
      /w5.1 went past w4 and delayed its start from 30000 to 7200000 ms/,
    );
  });

  it("finds victims that may not be taken", () => {
    const withSpec = (changes: object) => (world: World) => {
      const victim = world.state.workloads.get(workloadId("w2"))!;
      world.state.workloads.set(victim.id, Object.assign(victim, { spec: { ...victim.spec, ...changes } }));
    };
    const sound = (event: Event): readonly Event[] => [event];
    expect(bent(sound, withSpec({ preemptible: false }))).toMatch(
      /w2.1 is evicted \(reclaimed\) and is preemptible never/,
    );
    expect(bent(sound, withSpec({ minRuntimeMs: 5 }))).toMatch(/w2.1 is evicted after 0 of 5 ms/);
    expect(
      bent(sound, withSpec({ gang: { workers: 4, minWorkers: 3, accelerators: 1, coresMilli: 0, memoryMib: 0 } })),
    ).toMatch(/w2.1 keeps 2 workers, it needs 3/);
    expect(bent(sound, withSpec({ team: teamName("b") }))).toMatch(/w2.1 is reclaimed for its own team/);
    const richer = (world: World): void =>
      void world.state.teams.set(teamName("a"), guaranteed("a", { accelerators: 4, cores: 0, memory: 0 }));
    expect(bent(sound, richer)).toMatch(/w2.1 is reclaimed from a, which is within its guarantee/);
  });

  it("finds victims of a team that holds no more than its own of the type asked for, and of what any type will do for", () => {
    const limited = (h100: number, otherType: string) => (world: World) => {
      const a = guaranteed("a", { accelerators: 4, cores: 0, memory: 0 });
      world.state.teams.set(teamName("a"), { ...a, limit: { H100: h100 } });
      Object.assign(world.state.nodes.get(nodeId("n2"))!, { acceleratorType: otherType });
    };
    const sound = (event: Event): readonly Event[] => [event];
    const finding = /w2.1 is reclaimed from a, which is within its guarantee/;
    expect(bent(sound, limited(3, "H100"))).toMatch(finding);
    expect(bent(sound, limited(2, "H100"))).not.toMatch(finding);
    expect(bent(sound, limited(2, "A100"))).toMatch(finding);
  });

  it("finds workers that do not lie as they asked", () => {
    const constraint = (constraints: object) => (world: World) => {
      const found = world.state.workloads.get(workloadId("w3"))!;
      world.state.workloads.set(found.id, Object.assign(found, { spec: { ...found.spec, ...constraints } }));
    };
    const sound = (event: Event): readonly Event[] => [event];
    expect(bent(sound, constraint({ nodeSelector: { zone: "y" } }))).toMatch(/n1 lacks labels that were asked for/);
    expect(bent(sound, constraint({ spread: { topologyKey: "zone", maxPerDomain: 1 } }))).toMatch(
      /2 workers share zone x, 1 may/,
    );
    expect(bent(sound, constraint({ fabric: { within: "rail" } }))).toMatch(/it does not lie within one rail/);
    expect(bent(sound, constraint({ fabric: { slices: [{ workers: 3, within: "node" }] } }))).toMatch(
      /slices of 3 do not share a node/,
    );
  });
});
