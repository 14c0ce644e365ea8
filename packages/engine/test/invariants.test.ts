/** Tests of the checks themselves: a state or an index with one error must be reported with a specific finding. */
import { describe, expect, it } from "vitest";
import { attemptId, nodeId, teamName, workloadId } from "@headroom/model";
import type { Input } from "@headroom/model";
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import type { Engine } from "../src/index.ts";
import { worldOf } from "../src/engine/engine.ts";
import { markRejected } from "../src/ordering/round-order.ts";
import { knownFit, rememberFit } from "../src/placement/could-ever.ts";
import type { QueueBucket } from "../src/cluster/queue.ts";
import { writable } from "../src/apply/writable.ts";
import type { WritableWorld as World } from "../src/apply/writable.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const submit = (name: string, changes: Parameters<typeof spec>[1] = {}): Input =>
  command({ kind: "submitWorkload", spec: spec(name, changes) });

/** Two nodes with running work of a team, a half-finished array, a retry in its back-off, and waiting work. */
function populated(): Engine {
  const drive = new Drive();
  drive.receive(
    applied({ sites: [site], pools: [pool("H100")], teams: [team("top"), team("sub", "top", { H100: 8 })] }),
    { kind: "nodeSeen", node: node("n1", "H100") },
    { kind: "nodeSeen", node: node("n2", "H100", { acceleratorCount: 4 }) },
  );
  const retries = { max: 1, backoffMs: 1000, backoffMaxMs: 1000 };
  drive.receive(
    submit("gang", {
      team: "sub",
      gang: { workers: 2, accelerators: 2, coresMilli: 1000, memoryMib: 10 },
      walltimeMs: 90,
    }),
    submit("array", { gang: { accelerators: 3 }, taskCount: 4, retries }),
    submit("flaky", { gang: { accelerators: 1 }, retries }),
    submit("done"),
    submit("waits", { team: "sub", gang: { accelerators: 8 } }),
    submit("waits too", { team: "sub", gang: { accelerators: 8 } }),
  );
  const exit = (id: string, code: number): Input => ({
    kind: "attemptExited",
    attemptId: attemptId(id),
    exits: [{ kind: "exited", worker: 0, code }],
  });
  drive.receive({ kind: "attemptRunning", attemptId: attemptId("w1.1") });
  drive.receive(exit("w3.1", 1));
  drive.receive(exit("w4.1", 0));
  return drive.engine;
}

const gang = (world: World) =>
  world.state.attempts.get(attemptId("w1.1")) as World["state"]["attempts"] extends Map<unknown, infer Value>
    ? Value
    : never;
const workload = (world: World, ordinal: number) => {
  const found = world.state.workloads.get(workloadId(`w${ordinal}`));
  if (found === undefined) throw new Error(`no workload ${ordinal}`);
  return found;
};
const classes = (world: World): QueueBucket[] => [...world.queue.classes()];
const one = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 };
const slot = (world: World, id: string) => world.capacity.slot(nodeId(id));

/** Errors planted in the world, each with a word of the finding that must report it. */
const mutants: readonly (readonly [name: string, wrong: (world: World) => void, finding: RegExp])[] = [
  ["a free bit flipped", (world) => slot(world, "n1").free.set([1], 0), /accelerator 0 of n1 is indexed as free/],
  ["a bit too many", (world) => slot(world, "n2").free.set([1 << 20], 0), /accelerator 20 of n2 is indexed as free/],
  [
    "a free count off by one",
    (world) => void slot(world, "n1").freeCount++,
    /n1 is indexed with \d+ free accelerators/,
  ],
  ["cores not given back", (world) => void (slot(world, "n1").coresFreeMilli -= 1), /free mcores/],
  ["memory not given back", (world) => void (slot(world, "n1").memoryFreeMib -= 1), /free MiB/],
  ["an attempt forgotten on a node", (world) => slot(world, "n1").attempts.clear(), /n1 is indexed with attempts/],
  [
    "a type's free count off",
    (world) => void world.capacity.type("H100")!.freeCount++,
    /type "H100" is indexed with \d+ free/,
  ],
  ["a type's size off", (world) => void world.capacity.type("H100")!.usableCount--, /usable accelerators/],
  [
    "a node filed under the wrong count",
    (world) => world.capacity.type("H100")!.byFree[8]!.add(0),
    /nodes of type "H100" with 8 free: indexed \[0\]/,
  ],
  [
    "a node filed nowhere",
    (world) => world.capacity.type("H100")!.byFree.forEach((set) => set.delete(0)),
    /indexed \[\], counted \[0\]/,
  ],
  [
    "team use off by one",
    (world) =>
      world.teamUse.add({ team: teamName("top"), actor: "ann" }, world.teamUse.amountOf(one, 1, "H100"), false, 1),
    /team top is indexed with 5 H100, it holds 4/,
  ],
  [
    "team use not counted upwards",
    (world) => void (world.teamUse.node(teamName("top")).used[world.teamUse.position("H100")] = 0),
    /team top is indexed with 0 H100, it holds 4/,
  ],
  [
    "a workload dropped from the queue",
    (world) => world.queue.remove(workload(world, 5)),
    /w5 may start and is not in the queue/,
  ],
  [
    "a workload in the queue that is in back-off",
    (world) => world.queue.add(workload(world, 3)),
    /w3 is in the queue and may not start/,
  ],
  [
    "an array not known as one",
    (world) => classes(world).forEach(({ waitingArrays }) => waitingArrays.clear()),
    /lists 0, or lists other ones/,
  ],
  ["the count of the queue off", (world) => void world.queue.readyCount++, /the queue says/],
  [
    "a class that is still closed after something came free",
    (world) => {
      for (const bucket of classes(world)) markRejected(world, bucket);
      world.state.attempts.clear();
    },
    /the class of 1x8 \[\] of sub is closed and fits/,
  ],
  [
    "what is remembered of the empty fleet",
    (world) =>
      classes(world).forEach((bucket) => {
        const known = knownFit(world, bucket);
        if (known !== null) rememberFit(world, bucket, !known);
      }),
    /to fit the empty fleet, which is wrong/,
  ],
  [
    "a wake-up too late",
    (world) => {
      while (world.timers.takeDue(Number.MAX_SAFE_INTEGER) !== null);
      while (world.timers.takeDueWalltime(Number.MAX_SAFE_INTEGER) !== null);
    },
    /the next wake-up is at null/,
  ],
  ["an ended workload forgotten", (world) => void world.endedKept.pop(), /ended and kept: indexed , counted w4/],
  [
    "an entity changed behind the digest's back",
    (world) => {
      const found = workload(world, 5);
      world.state.workloads.set(found.id, Object.assign(found, { actor: "mallory" }));
    },
    /from nothing it is/,
  ],
  [
    "an accelerator given out twice",
    (world) => void (gang(world).workers = [...gang(world).workers, ...gang(world).workers]),
    /accelerator \d of n\d is held 2 times/,
  ],
  [
    "an accelerator that does not exist",
    (world) => void (gang(world).workers = [{ node: nodeId("n2"), accelerators: "8-9" }]),
    /held and does not exist/,
  ],
  [
    "a gang that is not whole",
    (world) => void (gang(world).workers = gang(world).workers.slice(1)),
    /w1.1 has 1 of 2 workers/,
  ],
  [
    "a worker with too few",
    (world) => void (gang(world).workers = gang(world).workers.map((worker) => ({ ...worker, accelerators: "0" }))),
    /has 1 of 2 accelerators/,
  ],
  ["a gang on a type it has not", (world) => void (gang(world).acceleratorType = "A100"), /is of another type/],
  ["a wrong attempt phase", (world) => void (gang(world).phase = "stopping"), /w1.1 is stopping, it should be running/],
  [
    "a wrong workload phase",
    (world) => void (workload(world, 5).phase = "running"),
    /w5 is running, it should be pending/,
  ],
  ["a walltime that passed unseen", (world) => void (gang(world).startedAtMs = -100), /has passed its walltime/],
  ["a workload lost", (world) => void world.state.workloads.delete(workloadId("w5")), /workloads have not ended/],
  [
    "a task lost",
    (world) => void workload(world, 2).nextTask++,
    /w2 has begun \d tasks and stopped \d more, \d are accounted for/,
  ],
  ["a task twice", (world) => void (workload(world, 2).waitingTasks = [0]), /a task of w2 runs or waits twice/],
  ["an attempt nobody names", (world) => void (workload(world, 1).activeAttempts = []), /does not name its attempt/],
  ["an end without a reason", (world) => void (workload(world, 4).endReason = null), /for the reason undefined/],
  [
    "teams in a circle",
    (world) => void world.state.teams.set(teamName("top"), team("top", "sub")),
    /team top lies below itself/,
  ],
];

describe("checkInvariants", () => {
  it("finds nothing wrong with a sound engine", () => {
    expect(checkInvariants(populated())).toEqual([]);
  });

  it.each(mutants)("finds %s", (_name, wrong, finding) => {
    const engine = populated();
    engine.digest();
    wrong(writable(worldOf(engine)));
    expect(checkInvariants(engine).join("\n")).toMatch(finding);
  });
});

describe("checkBatch", () => {
  const placed = () => {
    const engine = populated();
    const ready = engine.receive([submit("small", { team: "sub", gang: { accelerators: 1 } })], 0);
    engine.advance();
    return { engine, ready, world: writable(worldOf(engine)) };
  };

  it("finds nothing wrong with a sound batch", () => {
    const { engine, ready } = placed();
    expect(ready.effects).toHaveLength(1);
    expect(checkBatch(engine.state, ready)).toEqual([]);
  });

  it("finds work on a node that takes none", () => {
    const { engine, ready, world } = placed();
    for (const each of world.state.nodes.values()) each.draining = true;
    expect(checkBatch(engine.state, ready).join()).toMatch(/was placed on n\d, which takes no work/);
  });

  it("finds a limit passed, also further up", () => {
    const { engine, ready, world } = placed();
    world.state.teams.set(teamName("top"), team("top", null, { H100: 4 }));
    expect(checkBatch(engine.state, ready).join()).toMatch(/above its limit for H100/);
  });

  it("finds somebody started ahead of a head that blocks", () => {
    const { engine, ready, world } = placed();
    world.state.policy = { ...world.state.policy, whenHeadBlocked: "stop" };
    expect(checkBatch(engine.state, ready).join()).toMatch(/was started ahead of w\d, which the policy puts first/);
  });

  it("finds an effect forgotten, and one too many", () => {
    const { engine, ready } = placed();
    expect(checkBatch(engine.state, { ...ready, effects: [] }).join()).toMatch(/asked of executors: $/);
    expect(checkBatch(engine.state, { ...ready, events: [] }).join()).toMatch(/decided: ;/);
  });
});
