import { expect, it } from "vitest";
import type { LoadReport } from "@headroom/protocol";
import { IdleYields, waitsForPlace } from "./idle-yield.ts";
import { LoadReports } from "./load-reports.ts";
import type { ScaleCommand, ScaledEndpoint } from "./scaling-control.ts";

const NOW_MS = 1_790_000_000_000;
const ready = { id: "a1", stop: null, placedAtMs: 1, ready: { atMs: 20_001, address: "h:1" } };

function endpoint(id: string, changes: object = {}): ScaledEndpoint {
  return {
    id,
    scale: { replicas: 1, from: 0, atMs: 0, actor: "autoscaler", ground: { kind: "command" } },
    targets: { concurrencyMilli: 4_000, idleToZeroMs: 300_000, downAfterMs: 60_000 },
    bounds: { min: 0, max: 2 },
    active: [ready],
    team: "a",
    priority: 0,
    ...changes,
  } as unknown as ScaledEndpoint;
}

const load = (changes: Partial<LoadReport> = {}): LoadReport => ({
  version: 1,
  gateway: "g",
  startedAtMs: 1,
  requests: 0,
  running: 0,
  held: 0,
  idleMs: 60_000,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
  ...changes,
});

const waiting = endpoint("w", { active: [] });

/** Reports of the last minute. */
function reportsOf(loads: Readonly<Record<string, LoadReport>>): LoadReports {
  const reports = new LoadReports();
  for (let agoMs = 60_000; agoMs >= 0; agoMs -= 5_000)
    for (const [id, each] of Object.entries({ w: load({ held: 1 }), ...loads })) reports.take(id, each, NOW_MS - agoMs);
  return reports;
}

interface Tried {
  readonly others: readonly ScaledEndpoint[];
  readonly reports: LoadReports;
  readonly nowMs?: number;
  readonly waits?: ScaledEndpoint;
}

const next = (
  yields: IdleYields,
  { others, reports, nowMs = NOW_MS, waits = waiting }: Tried,
  makesRoom: (command: ScaleCommand) => boolean = () => true,
): ScaleCommand | null => {
  const candidates = yields.candidates({ waiting: waits, others, reports, nowMs });
  if (candidates.length === 0) return null;
  const command = candidates.find(makesRoom) ?? null;
  yields.chosen(command, nowMs);
  return command;
};

it("takes a replica of the endpoint that is idle for longest, and all where one is not enough", () => {
  const reports = reportsOf({ a: load({ idleMs: 70_000 }), b: load({ idleMs: 90_000 }), c: load({ idleMs: 4_000 }) });
  expect(waitsForPlace(waiting, reports, NOW_MS)).toBe(true);
  expect(waitsForPlace(endpoint("a"), reports, NOW_MS)).toBe(false);
  const pair = endpoint("b", {
    active: [ready, { ...ready, id: "a2" }],
    scale: { ...endpoint("b").scale, replicas: 2 },
  });
  const others = [endpoint("a"), pair, endpoint("c")];
  expect(next(new IdleYields(), { others, reports })).toMatchObject({
    workloadId: "b",
    from: 2,
    replicas: 1,
    ground: { cause: "idle", measuredMilli: 90_000_000, targetMilli: 300_000_000 },
  });
  const all = next(
    new IdleYields(),
    { others, reports },
    ({ workloadId, replicas }) => workloadId === "b" && replicas === 0,
  );
  expect(all).toMatchObject({ workloadId: "b", replicas: 0 });
  expect(next(new IdleYields(), { others, reports }, ({ workloadId }) => workloadId === "a")?.workloadId).toBe("a");
});

it("takes the next one only after the first has stopped, later each time, and asks nothing where none makes room", () => {
  const yields = new IdleYields();
  const reports = reportsOf({ a: load({ idleMs: 90_000 }), b: load(), c: load() });
  const others = ["a", "b", "c"].map((id) => endpoint(id));
  expect(next(yields, { others, reports })?.workloadId).toBe("a");
  const stopping = endpoint("a", { scale: { ...endpoint("a").scale, replicas: 0 } });
  const later = (afterMs: number, present: readonly ScaledEndpoint[]): ScaleCommand | null => {
    const nowMs = NOW_MS + afterMs;
    for (const id of ["w", "a", "b", "c"]) reports.take(id, load(id === "w" ? { held: 1 } : {}), nowMs);
    return next(yields, { others: present, reports, nowMs });
  };
  expect(later(9_000, others.slice(1))).toBeNull();
  expect(later(18_000, [stopping, ...others.slice(1)])).toBeNull();
  expect(later(19_000, others.slice(1))?.workloadId).toBe("b");
  expect(later(34_000, others.slice(2))).toBeNull();
  expect(later(39_000, others.slice(2))?.workloadId).toBe("c");
  let asked = 0;
  const none = new IdleYields();
  for (let look = 0; look < 3; look++)
    next(none, { others, reports, nowMs: NOW_MS + 39_000 + look }, () => (asked++, false));
  expect(asked).toBe(3);
});

it.each<readonly [string, object, Partial<LoadReport>]>([
  ["has a request", {}, { running: 1 }],
  ["has lines of a batch", {}, { replicas: [{ address: "h:1", requests: 2 }] }],
  ["had one less than a start ago", {}, { idleMs: 29_000 }],
  ["is of another team", { team: "b" }, {}],
  ["is of a higher priority", { priority: 1 }, {}],
  ["keeps a replica", { bounds: { min: 1, max: 2 } }, {}],
  ["does not go to zero", { targets: { concurrencyMilli: 4_000, downAfterMs: 60_000 } }, {}],
  ["is starting", { active: [{ ...ready, ready: undefined }] }, {}],
  ["has just started", { active: [{ ...ready, ready: { atMs: NOW_MS - 1_000, address: "h:1" } }] }, {}],
  ["takes longer to start", { active: [{ ...ready, ready: { atMs: 90_001, address: "h:1" } }] }, {}],
  ["was changed by hand", { scale: { ...endpoint("a").scale, actor: "ada", atMs: NOW_MS - 200_000 } }, {}],
])("takes nothing from an endpoint that %s", (_, changes, report) => {
  expect(
    next(new IdleYields(), { others: [endpoint("a", changes)], reports: reportsOf({ a: load(report) }) }),
  ).toBeNull();
});

it("takes nothing for a gateway that is gone, and on readings that are old or of the first seconds", () => {
  const reports = reportsOf({ a: load() });
  const others = [endpoint("a")];
  expect(next(new IdleYields(), { others, reports })).not.toBeNull();
  expect(next(new IdleYields(), { others, reports, nowMs: NOW_MS + 30_000 })).toBeNull();
  reports.take("w", load({ held: 1 }), NOW_MS + 8_000);
  expect(next(new IdleYields(), { others, reports, nowMs: NOW_MS + 8_000 })).toBeNull();
  const first = new LoadReports();
  for (const id of ["w", "a"]) first.take(id, load(id === "w" ? { held: 1 } : {}), NOW_MS);
  expect(next(new IdleYields(), { others, reports: first })).toBeNull();
});
