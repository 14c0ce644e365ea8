/** Part of the recorded journal: events caused by time alone, and forecasts. */
import { attemptId, nodeId, presets, teamName } from "@headroom/model";
import type { Policy } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";
import { code, exited, running, submit } from "./life-lines.ts";

/** Windows open and close, schedules run, budgets are used up and renewed. */
export function keepTime(drive: Drive): void {
  const hour = 3_600_000;
  const window = (name: string) => ({ name, startMs: drive.nowMs + hour, endMs: drive.nowMs + 2 * hour });
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({
      pools: [pool("D400")],
      teams: [{ ...team("haushalt"), budget: { gpuHours: 10, microUsd: 1_000_000, period: "month", over: "warn" } }],
      calendar: [
        { kind: "maintenance", ...window("cooling"), nodes: [nodeId("n5")] },
        { kind: "reservation", ...window("demo"), team: teamName("rechts"), accelerators: 8, acceleratorType: "B200" },
        {
          kind: "maintenance",
          name: "called off",
          startMs: drive.nowMs + 9 * hour,
          endMs: drive.nowMs + 10 * hour,
          nodes: [nodeId("n6")],
        },
      ],
      schedules: [
        {
          name: "hourly",
          times: {
            minutes: [30],
            hours: hoursOfDay,
            daysOfMonth: range(1, 31),
            months: range(1, 12),
            daysOfWeek: range(0, 6),
          },
          spec: spec("hourly", { gang: { accelerators: 0 } }),
          concurrency: "forbid",
        },
      ],
    }),
  );
  drive.receive(command({ kind: "removeCalendarEntry", name: "called off" }), {
    kind: "nodeSeen",
    node: node("n9", "D400"),
  });
  drive.receive(submit("spender", { team: "haushalt", gang: { accelerators: 8 }, acceleratorTypes: ["D400"] }));
  for (const { id, startedAtMs } of drive.engine.state.attempts.values())
    if (startedAtMs === null) drive.receive(running(id));
  drive.passTo(drive.nowMs + 3 * hour);
  drive.receive(command({ kind: "removeSchedule", name: "hourly" }));
  waitForPower(drive, hour);
  produce(drive);
  drive.passTo(drive.nowMs + 32 * 24 * hour);
}

/** One workload produces an artifact. Another one waits for it, and a third is submitted after it exists. */
function produce(drive: Drive): void {
  const gang = { accelerators: 0 };
  drive.receive(
    submit("maker", { gang, produces: ["model"] }),
    submit("taker", { gang, after: [{ artifact: "model", workload: "maker" }] }),
  );
  const maker = [...drive.engine.state.attempts.values()].find(
    ({ workloadId: id }) => drive.engine.state.workloads.get(id)?.spec.name === "maker",
  );
  if (maker === undefined) throw new Error("the maker does not run");
  drive.receive({ kind: "artifactReported", attemptId: maker.id, name: "model", path: "/out/größe" });
  drive.receive(submit("late taker", { gang, after: [{ artifact: "model" }] }));
  drive.receive(exited(maker.id, code(0, 0)));
}

/** A cheap tariff begins and ends before the work starts; the work then waits only as long as its deadline allows. */
function waitForPower(drive: Drive, hour: number): void {
  const when = { kind: "once", startMs: drive.nowMs + hour, endMs: drive.nowMs + 2 * hour } as const;
  const startWindow = { microUsdPerKwhMax: 100_000, gramsPerKwhMax: 200, latestStartMs: drive.nowMs + 3 * hour };
  drive.receive(
    applied({ calendar: [{ kind: "tariff", name: "sonne", when, microUsdPerKwh: 90_000, gramsPerKwh: 50 }] }),
    submit("patient", { gang: { accelerators: 0 }, startWindow, hold: true }),
  );
  drive.passTo(drive.nowMs + 4 * hour);
}

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

const hoursOfDay = range(0, 23);

/**
 * MIG devices: slices are placed beside each other, one workload waits for two that are terminating, and the queue
 * explains it.
 */
export function divide(drive: Drive): void {
  drive.receive(
    applied({ sites: [site], pools: [{ ...pool("M900"), mig: "H100-80GB" }] }),
    { kind: "nodeSeen", node: node("m1", "M900", { acceleratorCount: 1 }) },
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
  );
  const part = (profile: string) => ({ accelerators: 1, profile });
  const on = { acceleratorTypes: ["M900"] };
  drive.receive(
    submit("third", { ...on, gang: { ...part("3g.40gb"), workers: 2 }, preemptible: true }),
    submit("small", { ...on, gang: part("1g.10gb") }),
  );
  for (const { id, startedAtMs } of drive.engine.state.attempts.values())
    if (startedAtMs === null) drive.receive(running(id));
  drive.receive(submit("whole", { ...on, gang: part("7g.80gb"), priority: 100 }));
  for (const { id, stop } of Array.from(drive.engine.state.attempts.values()))
    if (stop !== null) drive.receive(exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}

/** Two runs of a kind give a prediction. The next run exceeds it, and then its walltime. */
export function predict(drive: Drive): void {
  const easy = presets.get("easy") as Policy;
  const backfill = { protectedStarts: 1, assumedWalltimeMs: 3_600_000, predictFrom: 2 } as const;
  drive.receive(command({ kind: "setPolicy", policy: { ...easy, backfill } }), applied({ pools: [pool("H800")] }), {
    kind: "nodeSeen",
    node: node("n13", "H800"),
  });
  const ask = { gang: { accelerators: 8 }, acceleratorTypes: ["H800"], walltimeMs: 600_000 } as const;
  for (const index of [1, 2, 3]) {
    drive.receive(submit(`lauf-${index}`, ask));
    const id = [...drive.engine.state.attempts.keys()].at(-1) ?? "";
    drive.receive(running(id));
    drive.nowMs += 30_000;
    if (index < 3) drive.receive(exited(id, code(0, 0)));
  }
  drive.receive({ kind: "tick" });
}

/** Power tariffs as a forecast series; work waits for the cheapest and for the cleanest period. */
export function foresee(drive: Drive): void {
  const hour = 3_600_000;
  const when = {
    kind: "series",
    startMs: drive.nowMs,
    stepMs: hour,
    microUsdPerKwh: [300_000, 90_000, 120_000],
    gramsPerKwh: [400, 100],
  } as const;
  drive.receive(applied({ calendar: [{ kind: "tariff", name: "vorhersage", when }] }));
  const startWindow = { cheapestMs: hour, cleanestMs: 2 * hour, latestStartMs: drive.nowMs + 3 * hour };
  drive.receive(submit("waits", { gang: { accelerators: 0 }, startWindow }));
  drive.passTo(drive.nowMs + hour);
  drive.receive({ kind: "tick" });
}

/** An expected end moves, and accelerators change between idle and busy. */
export function report(drive: Drive): void {
  drive.receive(applied({ pools: [pool("R100")] }), { kind: "nodeSeen", node: node("r1", "R100") });
  drive.receive(submit("tells", { gang: { accelerators: 8 }, acceleratorTypes: ["R100"] }));
  const id = attemptId([...drive.engine.state.attempts.keys()].at(-1) ?? "");
  drive.receive(running(id));
  drive.passTo(drive.nowMs + 600_000);
  drive.receive(
    { kind: "estimatesReported", estimates: [[id, 50, 100]] },
    { kind: "idleChangesReported", changes: [[id, drive.nowMs - 300_000]] },
  );
  drive.receive({ kind: "idleChangesReported", changes: [[id, null]] });
}

/** An executor registers twice, with different capabilities. */
export function register(drive: Drive): void {
  const capabilities = { checkpointOnRequest: true, resize: true, replaceWorkers: false, logs: true };
  drive.receive({ kind: "executorSeen", executor: { id: "zweiter", kind: "local", capabilities } });
  drive.receive({
    kind: "executorSeen",
    executor: { id: "zweiter", kind: "local", capabilities: { ...capabilities, resize: false, uploadsFrom: ["/srv"] } },
  });
}
