/**
 * Measures a what-if on a live state of 1,000 nodes of eight accelerators and 1,000 workloads of ten teams, a third
 * more than fit. The time runs from the bytes of the snapshot to the answer, which covers twelve hours with and without
 * the change. A thousand ended workloads provide run times. `npm run bench what-if` prints one JSON line for each
 * change.
 */
import { commandId, nodeId, poolName, presets, siteName, teamName } from "@headroom/model";
import type { Input, Policy, Team, WorkloadSpec } from "@headroom/model";
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { whatIf } from "@headroom/sim";
import type { WhatIfChange } from "@headroom/sim";

const NODES = 1000;
const PER_NODE = 8;
const WORKLOADS = 1000;
const TEAMS = 10;
const HORIZON_MS = 12 * 3_600_000;
/** Number of samples of a timeline, the same as in the server: enough for a chart as wide as a page. */
const SAMPLES = 96;
const [repeats = "9"] = process.argv.slice(2);
const policy = presets.get("default") as Policy;
const nothing: WhatIfChange = { loseNodes: [], addNodes: [], teams: [], policy: null };

const by = { commandId: commandId("bench"), actor: "bench", idempotencyKey: null };
const HOUR_MS = 3_600_000;
/**
 * Sizes of workloads and their shares. A workload has one worker with this number of accelerators, or is a gang of
 * whole nodes.
 */
const reservedTopology = [
  { weight: 30, workers: 1, accelerators: 1 },
  { weight: 20, workers: 1, accelerators: 4 },
  { weight: 30, workers: 1, accelerators: 8 },
  { weight: 12, workers: 2, accelerators: 8 },
  { weight: 8, workers: 8, accelerators: 8 },
].flatMap(({ weight, ...shape }) => Array.from({ length: weight }, () => shape));

function submission(index: number): Input {
  const shape = reservedTopology[(index * 37) % reservedTopology.length] as (typeof reservedTopology)[number];
  const walltimeMs = (1 + ((index * 7) % 24)) * HOUR_MS;
  const spec: WorkloadSpec = {
    kind: "train",
    name: `sweep${index % 40}-${index}`,
    team: teamName(`team${index % TEAMS}`),
    run: "torchrun train.py",
    dir: null,
    env: {},
    gang: { ...shape, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
  };
  return { ...by, kind: "submitWorkload", spec };
}

/**
 * A state in which a thousand workloads started and ended one minute apart, and a thousand more were submitted within
 * seconds afterwards.
 */
function liveState(): { readonly engine: Engine; readonly nowMs: number } {
  const engine = createEngine();
  let nowMs = 0;
  const receive = (inputs: readonly Input[]): void => {
    for (let due = inputs; due.length > 0;) {
      const { effects } = engine.receive(due, nowMs);
      engine.advance();
      due = effects.flatMap((effect): Input[] =>
        effect.kind === "launchGang" ? [{ kind: "attemptRunning", attemptId: effect.attemptId }] : [],
      );
    }
  };
  const site = { name: siteName("dc"), fabricLevels: ["leaf"] };
  const pool = {
    name: poolName("p"),
    site: site.name,
    executor: "simulated",
    acceleratorType: "GPU",
    priceMicroUsdPerHour: 0,
  } as const;
  const teams = Array.from({ length: TEAMS }, (_, index): Team => ({
    name: teamName(`team${index}`),
    parent: null,
    limit: {},
    weight: 1,
  }));
  receive([
    { ...by, kind: "setPolicy", policy },
    { ...by, kind: "apply", sites: [site], pools: [pool], teams, workloads: [] },
    ...Array.from({ length: NODES }, (_, index): Input => ({
      kind: "nodeSeen",
      node: {
        id: nodeId(`n${index}`),
        pool: pool.name,
        fabric: [`leaf${Math.floor(index / 32)}`],
        acceleratorCount: PER_NODE,
        coresMilli: 128_000,
        memoryMib: 1_048_576,
      },
    })),
  ]);
  for (let index = 0; index < WORKLOADS; index++) {
    nowMs += 60_000;
    receive([submission(index)]);
    const oldest = [...engine.state.attempts.keys()][0];
    if (oldest !== undefined && index % 10 > 0)
      receive([{ kind: "attemptExited", attemptId: oldest, exits: [{ kind: "exited", worker: 0, code: 0 }] }]);
  }
  for (const attemptId of engine.state.attempts.keys())
    receive([{ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] }]);
  for (let index = 0; index < WORKLOADS; index++) {
    nowMs += 10;
    receive([submission(index)]);
  }
  return { engine, nowMs };
}

const { engine, nowMs } = liveState();
const snapshot = engine.snapshot();
const nodes = [...engine.state.nodes.keys()];
const options = { nowMs, horizonMs: HORIZON_MS, stepMs: Math.ceil(HORIZON_MS / SAMPLES), arrivals: "none" } as const;
const changes: Readonly<Record<string, WhatIfChange>> = {
  "fifty nodes more": { ...nothing, addNodes: [{ like: nodes[0] as string, count: 50 }] },
  "fifty nodes fewer": { ...nothing, loseNodes: nodes.slice(0, 50) },
  "another policy": { ...nothing, policy: presets.get("fifo") as Policy },
};

for (const [name, change] of Object.entries(changes)) {
  const wallsMs: number[] = [];
  const cpusMs: number[] = [];
  let moved = 0;
  for (let repeat = 0; repeat < Number(repeats); repeat++) {
    const cpu = process.cpuUsage();
    const beganMs = performance.now();
    const fork = restoreEngine(snapshot);
    fork.receive([{ kind: "tick" }], nowMs);
    fork.advance();
    moved = whatIf(fork, change, options).moved.length;
    wallsMs.push(performance.now() - beganMs);
    const { user, system } = process.cpuUsage(cpu);
    cpusMs.push((user + system) / 1000);
  }
  const facts = (values: readonly number[]) => {
    const sorted = values.toSorted((left, right) => left - right).map((value) => Math.round(value));
    return { min: sorted[0], median: sorted[sorted.length >> 1], max: sorted.at(-1) };
  };
  const { state } = engine;
  const counts = {
    running: state.attempts.size,
    waiting: [...state.workloads.values()].filter(({ phase }) => phase === "pending").length,
  };
  process.stdout.write(
    `${JSON.stringify({ change: name, ...counts, moved, snapshot_bytes: snapshot.length, wall_ms: facts(wallsMs), cpu_ms: facts(cpusMs) })}\n`,
  );
}
