/** A batch requests a bounded number of stops; the rest follows at once, in the same order, and restarts change nothing. */
import { describe, expect, it } from "vitest";
import { attemptId, workloadId } from "@headroom/model";
import type { Event, Input } from "@headroom/model";
import { createEngine, replayEngine, restoreEngine } from "../src/index.ts";
import type { Engine, JournalGroup } from "../src/index.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

/** A batch may then request eight stops. */
const STARTS_MAX = 64;
const STOPS_MAX = 8;
const TASKS = 50;
const WALLTIME_MS = 1_000;
const options = { startsMax: STARTS_MAX };
const HOUR_MS = 3_600_000;

class Run {
  engine: Engine = createEngine(options);
  readonly groups: JournalGroup[] = [];
  readonly batches: { readonly inputs: readonly Input[]; readonly nowMs: number }[] = [];
  readonly #restarts: boolean;

  constructor(restarts: boolean) {
    this.#restarts = restarts;
  }

  receive(nowMs: number, ...inputs: readonly Input[]): readonly Event[] {
    if (this.#restarts) this.engine = restoreEngine(this.engine.snapshot(), options);
    this.batches.push({ inputs, nowMs });
    const { group, events } = this.engine.receive(inputs, nowMs);
    this.engine.advance();
    if (group !== null) this.groups.push(group);
    return events;
  }

  /** Rounds until nothing is due at this time. */
  settle(nowMs: number, ...inputs: readonly Input[]): readonly (readonly Event[])[] {
    const rounds = [this.receive(nowMs, ...inputs)];
    for (let wake = this.engine.nextWakeAtMs(); wake !== null && wake <= nowMs; wake = this.engine.nextWakeAtMs()) {
      const events = this.receive(nowMs, { kind: "tick" });
      if (events.length === 0) break;
      rounds.push(events);
    }
    return rounds;
  }

  /** Two arrays of a team with a budget of half an hour of all accelerators, all of whose tasks run. */
  begin(): void {
    const budget = { gpuHours: TASKS, period: "total", over: "stop" } as const;
    const size = { acceleratorCount: 4 * TASKS, coresMilli: 4 * TASKS * 1_000 };
    const array = (name: string, walltimeMs: number | null) =>
      spec(name, { gang: { accelerators: 1 }, taskCount: TASKS, walltimeMs, team: "a" });
    this.settle(0, applied({ sites: [site], pools: [pool("H100")], teams: [{ ...team("a"), budget }, team("b")] }), {
      kind: "nodeSeen",
      node: node("n0", "H100", size),
    });
    this.settle(
      1,
      command({ kind: "submitWorkload", spec: array("free", null) }),
      command({ kind: "submitWorkload", spec: array("limited", WALLTIME_MS) }),
    );
    for (const id of ["w1", "w2"])
      for (let task = 0; task < TASKS; task++)
        this.receive(2, { kind: "attemptRunning", attemptId: attemptId(`${id}.${task}.1`) });
  }
}

const stopsIn = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "attemptStopRequested" ? [event.attemptId] : []));

const causes: Readonly<Record<string, (run: Run) => readonly (readonly Event[])[]>> = {
  "a stop of their workload": (run) => run.settle(3, command({ kind: "stopWorkload", workloadId: workloadId("w1") })),
  "the end of their walltime": (run) => run.settle(2 + WALLTIME_MS),
  "the end of a budget": (run) => run.settle(2 * HOUR_MS),
};

describe.each(Object.entries(causes))("stops of many tasks for %s", (_, cause) => {
  it("are bounded in each batch, and all follow", () => {
    const run = new Run(false);
    run.begin();
    const rounds = cause(run).map(stopsIn);
    const ids = rounds.flat();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(TASKS);
    for (const each of rounds) expect(each.length).toBeLessThanOrEqual(STOPS_MAX);
    expect([...run.engine.state.attempts.values()].filter(({ stop }) => stop !== null)).toHaveLength(ids.length);
  });

  it("are the same after a restart before each batch, a replay and a second decision", () => {
    const [live, restarted] = [new Run(false), new Run(true)];
    for (const run of [live, restarted]) {
      run.begin();
      cause(run);
    }
    expect(restarted.groups.map(({ text }) => text)).toEqual(live.groups.map(({ text }) => text));
    const folded = createEngine();
    replayEngine(folded, live.groups);
    const again = createEngine(options);
    for (const { inputs, nowMs } of live.batches) {
      again.receive(inputs, nowMs);
      again.advance();
    }
    expect([folded.digest(), again.digest()]).toEqual([live.engine.digest(), live.engine.digest()]);
  });
});

it("a workload whose tasks end while stops are left is cancelled", () => {
  const run = new Run(false);
  run.begin();
  run.receive(3, command({ kind: "stopWorkload", workloadId: workloadId("w1") }));
  for (let task = TASKS - 1; task >= 0; task--)
    run.receive(4, {
      kind: "attemptExited",
      attemptId: attemptId(`w1.${task}.1`),
      exits: [],
    });
  expect(run.engine.state.workloads.get(workloadId("w1"))?.phase).toBe("cancelled");
});
