import { expect, it } from "vitest";
import type { LoadReport } from "@headroom/protocol";
import { waitsForPlace, yieldedFor } from "./idle-yield.ts";
import { LoadReports } from "./load-reports.ts";
import type { ScaledEndpoint } from "./scaling-control.ts";

const NOW_MS = 1_790_000_000_000;
const ready = { id: "a1", stop: null, ready: { atMs: 1, address: "h:1" } };

function endpoint(id: string, changes: object = {}): ScaledEndpoint {
  return {
    id,
    scale: { replicas: 1, from: 0, atMs: 0, actor: "autoscaler", ground: { kind: "command" } },
    targets: { concurrencyMilli: 4_000, idleToZeroMs: 300_000, downAfterMs: 60_000 },
    bounds: { min: 0, max: 2 },
    active: [ready],
    team: "a",
    priority: 0,
    need: { accelerators: 1, types: [] },
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
  idleMs: 10_000,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
  ...changes,
});

const waiting = endpoint("w", { active: [] });

function reportsOf(loads: Readonly<Record<string, LoadReport>>): LoadReports {
  const reports = new LoadReports();
  for (const [id, each] of Object.entries({ w: load({ held: 1 }), ...loads })) reports.take(id, each, NOW_MS);
  return reports;
}

it("takes the replicas of the endpoint that is idle for longest", () => {
  const reports = reportsOf({ a: load({ idleMs: 20_000 }), b: load({ idleMs: 90_000 }), c: load({ idleMs: 4_000 }) });
  expect(waitsForPlace(waiting, reports, NOW_MS)).toBe(true);
  expect(waitsForPlace(endpoint("a"), reports, NOW_MS)).toBe(false);
  expect(
    yieldedFor(
      waiting,
      ["a", "b", "c"].map((id) => endpoint(id)),
      reports,
      NOW_MS,
    ),
  ).toMatchObject({
    workloadId: "b",
    from: 1,
    replicas: 0,
    ground: { cause: "idle", measuredMilli: 90_000_000, targetMilli: 300_000_000 },
  });
});

it.each<readonly [string, object, Partial<LoadReport>]>([
  ["has a request", {}, { running: 1 }],
  ["had one a second ago", {}, { idleMs: 1_000 }],
  ["is of another team", { team: "b" }, {}],
  ["is of a higher priority", { priority: 1 }, {}],
  ["keeps a replica", { bounds: { min: 1, max: 2 } }, {}],
  ["does not go to zero", { targets: { concurrencyMilli: 4_000, downAfterMs: 60_000 } }, {}],
  ["is starting", { active: [{ ...ready, ready: undefined }] }, {}],
  ["has too few accelerators", { need: { accelerators: 0.5, types: [] } }, {}],
])("takes nothing from an endpoint that %s", (_, changes, report) => {
  expect(yieldedFor(waiting, [endpoint("a", changes)], reportsOf({ a: load(report) }), NOW_MS)).toBeNull();
});

it("takes nothing from an endpoint of which a gateway is silent, or of other accelerators", () => {
  const reports = reportsOf({ a: load() });
  expect(yieldedFor(waiting, [endpoint("a")], reports, NOW_MS + 60_000)).toBeNull();
  const [h100, l40s] = ["H100", "L40S"].map((type) => ({ need: { accelerators: 1, types: [type] } }));
  expect(yieldedFor(endpoint("w", { active: [], ...h100 }), [endpoint("a", l40s)], reports, NOW_MS)).toBeNull();
  expect(yieldedFor(endpoint("w", { active: [], ...h100 }), [endpoint("a", h100)], reports, NOW_MS)).not.toBeNull();
});
