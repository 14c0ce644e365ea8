/** The demo's calendar windows, power tariff and schedules. */
import { nodeId, siteName, teamName } from "@headroom/model";
import type { CalendarEntry, Schedule, ScheduleTimes, WorkloadSpec } from "@headroom/model";
import { DURATION_VARIABLE } from "./demo-variable.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const all = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

export const daily = (...hours: readonly number[]): ScheduleTimes => ({
  minutes: [0],
  hours,
  daysOfMonth: all(1, 31),
  months: all(1, 12),
  daysOfWeek: all(0, 6),
});

/**
 * Maintenance windows of the demo, which starts on a Monday at midnight and opens on Tuesday afternoon. They close few
 * nodes, because work without a walltime avoids all nodes with a window.
 */
export const demoCalendar = (startAtMs: number): readonly CalendarEntry[] => [
  {
    kind: "reservation",
    name: "search-launch",
    startMs: startAtMs + DAY_MS + 12 * HOUR_MS,
    endMs: startAtMs + DAY_MS + 22 * HOUR_MS,
    team: teamName("product/search"),
    users: ["search-user"],
    accelerators: 16,
    acceleratorType: "H200-SXM",
  },
  {
    kind: "reservation",
    name: "safety-review",
    startMs: startAtMs + 3 * DAY_MS + 8 * HOUR_MS,
    endMs: startAtMs + 4 * DAY_MS + 20 * HOUR_MS,
    team: teamName("research/safety"),
    accelerators: 16,
    acceleratorType: "H200-SXM",
  },
  {
    kind: "maintenance",
    name: "oslo-cooling",
    startMs: startAtMs + 19 * DAY_MS,
    endMs: startAtMs + 19 * DAY_MS + 12 * HOUR_MS,
    nodes: [nodeId("h200-01"), nodeId("h200-02")],
  },
  {
    kind: "tariff",
    name: "frankfurt-night",
    site: siteName("frankfurt"),
    when: { kind: "recurring", times: daily(22), durationMs: 8 * HOUR_MS },
    microUsdPerKwh: 90_000,
    gramsPerKwh: 210,
  },
];

/** A window declared while the demo is visible, on nodes whose work must be stopped for it. */
export const demoRepair = (nowMs: number): CalendarEntry => ({
  kind: "maintenance",
  name: "switch-repair",
  startMs: nowMs + 2 * HOUR_MS,
  endMs: nowMs + 5 * HOUR_MS,
  nodes: all(41, 42).map((ordinal) => nodeId(`h100-${ordinal}`)),
});

interface Planned {
  readonly name: string;
  readonly team: string;
  readonly accelerators: number;
  readonly minutes: number;
  readonly run: string;
}

export const plannedWork = ({ name, team, accelerators, minutes, run }: Planned): WorkloadSpec => ({
  kind: "train",
  name,
  team: teamName(team),
  run,
  dir: null,
  env: { [DURATION_VARIABLE]: String(minutes * 60) },
  gang: { workers: 1, accelerators, coresMilli: 48_000, memoryMib: 262_144 },
  acceleratorTypes: ["H200-SXM", "H100-SXM"],
  priority: 5,
  walltimeMs: 2 * minutes * 60_000,
  retries: { max: 3, backoffMs: 60_000, backoffMaxMs: 1_800_000 },
  graceTimeoutMs: 60_000,
  checkpointDir: null,
});

const retrain = plannedWork({
  name: "nightly-ranker",
  team: "product/search",
  accelerators: 4,
  minutes: 150,
  run: "torchrun ranker.py",
});
/** The job runs longer than the interval of its schedule, so that every other run is skipped. */
const index = plannedWork({
  name: "index-refresh",
  team: "product/search",
  accelerators: 2,
  minutes: 170,
  run: "./refresh",
});
const audit = plannedWork({
  name: "weekly-audit",
  team: "research/safety",
  accelerators: 4,
  minutes: 90,
  run: "./audit",
});

export const demoSchedules: readonly Schedule[] = [
  {
    name: "nightly-ranker",
    times: daily(1),
    spec: retrain,
    fromDue: { deadlineMs: 7 * HOUR_MS },
    concurrency: "replace",
  },
  { name: "index-refresh", times: daily(...all(0, 11).map((each) => each * 2)), spec: index, concurrency: "forbid" },
  { name: "weekly-audit", times: { ...daily(6), daysOfWeek: [1] }, spec: audit, concurrency: "allow" },
];
