/**
 * Situations in which a workload cannot start, each with a world in which that reason is likely. The outcome is random:
 * a situation may leave no workload waiting, or one that waits for another reason.
 */
import { poolName } from "@headroom/model";
import type { CalendarEntry, NodeSpec, Pool, Team } from "@headroom/model";
import type { spec, Dice } from "@headroom/engine/testing";

export const HOUR_MS = 3_600_000;
export const GIB_MIB = 1024;
export const MICRO_USD = 1_000_000;

export type Changes = NonNullable<Parameters<typeof spec>[1]>;
type Budget = NonNullable<Team["budget"]>;

export interface Situation {
  /** Weight of the situation; larger for situations in which work rarely waits for the intended reason. */
  readonly weight: number;
  /** Presets, and `within guarantees`: the default with non-preemptible work bound to guarantees. */
  readonly policies: readonly string[];
  /** Maximum number of running workloads. */
  readonly running: number;
  /** One team in this number states a guarantee (or limit) of this size; 0: none does. */
  readonly guarantees?: number;
  readonly guarantee?: (dice: Dice) => number;
  readonly limits?: number;
  readonly limit?: (dice: Dice) => number;
  /** The budget of a team. */
  readonly budget?: (dice: Dice) => Budget;
  /** Entries of the calendar. */
  readonly calendar?: (dice: Dice) => readonly CalendarEntry[];
  /** Number of nodes that are drained before any work runs. */
  readonly drained?: (dice: Dice) => number;
  /** The case asks about the first waiting workload instead of the last. */
  readonly asksFirst?: true;
  /** Fields of the pool of each type. */
  readonly pools?: (dice: Dice) => Readonly<Record<string, Partial<Pool>>>;
  /** Fields of each running workload. */
  readonly fill?: (dice: Dice) => Changes;
  /** Fields of work that is already waiting. */
  readonly before?: (nodes: readonly NodeSpec[]) => Changes;
  readonly target: (dice: Dice) => Changes;
}

const powerAt = (
  name: string,
  [startMs, endMs]: readonly [number, number],
  figures: { readonly microUsdPerKwh: number; readonly gramsPerKwh: number },
): CalendarEntry => ({ kind: "tariff", name, when: { kind: "once", startMs, endMs }, ...figures });

const any = ["default", "default", "default", "easy", "conservative", "fifo", "sjf"];
/** Policies under which waiting work does not block the work behind it. */
const skipping = ["default", "fifo-skip", "fifo-skip"];
const unbounded = { guarantees: 0, limits: 0 };

/** Requests for more resources than are free. */
const shortfalls: readonly Situation[] = [
  {
    weight: 1,
    policies: any,
    running: 10,
    target: (dice) => ({ gang: { workers: dice.between(2, 6), accelerators: dice.pick([1, 2, 4]) } }),
  },
  { weight: 2, policies: any, running: 12, target: (dice) => ({ gang: { accelerators: dice.pick([2, 3, 4]) } }) },
  {
    weight: 2,
    policies: any,
    running: 10,
    target: (dice) => ({ gang: { workers: dice.between(3, 5), minWorkers: dice.between(2, 3) } }),
  },
  {
    weight: 13,
    policies: skipping,
    running: 14,
    ...unbounded,
    pools: () => ({ H100: { networkGbps: 400 }, A100: { networkGbps: 400 } }),
    fill: (dice) => ({
      gang: {
        workers: 1,
        accelerators: 3,
        ...dice.pick([
          { coresMilli: 12_000, memoryMib: 0 },
          { coresMilli: 0, memoryMib: 48 * GIB_MIB },
          { coresMilli: 0, memoryMib: 0, networkGbps: 300 },
        ]),
      },
    }),
    target: (dice) => ({
      acceleratorTypes: [],
      gang: { accelerators: dice.pick([0, 1]), coresMilli: 13_000, memoryMib: 50 * GIB_MIB, networkGbps: 310 },
    }),
  },
];

/** Constraints that the free capacity does not meet. */
const constraints: readonly Situation[] = [
  {
    weight: 18,
    policies: skipping,
    running: 2,
    ...unbounded,
    target: (dice) => ({
      acceleratorTypes: dice.pick([["A100"], ["H100"], ["H100"]]),
      nodeSelector: { zone: dice.pick(["a", "b", "c"]), disk: dice.pick(["ssd", "hdd"]) },
      gang: { accelerators: dice.pick([1, 2]) },
    }),
  },
  {
    weight: 11,
    policies: any,
    running: 3,
    ...unbounded,
    fill: () => ({ gang: { workers: 1, accelerators: 1 } }),
    target: (dice) => ({
      acceleratorTypes: [],
      ...dice.pick([
        { fabric: { within: "node" }, gang: { workers: 2, accelerators: 3 } },
        { fabric: { within: "node" }, gang: { workers: 3, accelerators: 2 } },
        { fabric: { within: "leaf" }, gang: { workers: 5, accelerators: 2 } },
        { fabric: { within: "leaf" }, gang: { workers: 3, accelerators: 3 } },
      ]),
    }),
  },
  {
    weight: 9,
    policies: any,
    running: 2,
    ...unbounded,
    target: (dice) => ({
      spread: { topologyKey: dice.pick(["zone", "disk"]), maxPerDomain: 1 },
      gang: { workers: dice.between(3, 4) },
    }),
  },
];

/** Constraints on where work may run, regardless of other work. */
const places: readonly Situation[] = [
  {
    weight: 12,
    policies: skipping,
    running: 9,
    ...unbounded,
    fill: () => ({ gang: { workers: 1, accelerators: 3, antiAffinity: { sets: ["noisy"] } } }),
    target: (dice) => ({
      acceleratorTypes: [],
      gang: {
        accelerators: dice.pick([0, 1]),
        antiAffinity: dice.pick<NonNullable<NonNullable<Changes["gang"]>["antiAffinity"]>>([
          { exclusive: true },
          { from: [{ set: "noisy", within: "node" }] },
          { exclusive: true, sets: ["quiet"] },
          { sets: ["quiet"], from: [{ set: "noisy", within: "leaf" }] },
        ]),
      },
    }),
  },
  {
    weight: 12,
    policies: any,
    running: 2,
    ...unbounded,
    pools: (dice) =>
      dice.pick([{}, {}, { H100: { data: { rules: ["secret"] } } }, { A100: { data: { rules: ["secret"] } } }]),
    target: (dice) => ({ data: { rule: "secret" }, acceleratorTypes: dice.pick([["H100"], ["H100"], []]) }),
  },
  {
    weight: 12,
    policies: any,
    running: 3,
    ...unbounded,
    calendar: (dice) => {
      const startMs = dice.pick([0, 8, 8, 16]) * HOUR_MS;
      return dice.pick([["H100"], ["H100", "A100"]]).map((type) => ({
        kind: "maintenance" as const,
        name: `work on ${type}`,
        pool: poolName(type),
        startMs,
        endMs: startMs + 30 * HOUR_MS,
      }));
    },
    target: (dice) => ({ acceleratorTypes: ["H100"], walltimeMs: dice.pick([null, 20 * HOUR_MS, 40 * HOUR_MS]) }),
  },
];

/** Nodes that exist but take no work. */
const unused: readonly Situation[] = [
  {
    weight: 16,
    policies: any,
    running: 8,
    ...unbounded,
    asksFirst: true,
    drained: (dice) => dice.between(1, 2),
    pools: (dice) => ({ H100: { hotSpares: dice.between(1, 2) } }),
    fill: () => ({ gang: { workers: 1, accelerators: 4 } }),
    target: (dice) => ({ gang: { accelerators: dice.pick([1, 2, 4]) } }),
  },
];

/** Capacity that another team holds or is entitled to. */
const rights: readonly Situation[] = [
  {
    weight: 7,
    policies: ["default"],
    running: 10,
    ...unbounded,
    fill: (dice) => ({
      team: "t1",
      priority: 0,
      preemptible: true,
      gang: { workers: 1, accelerators: dice.pick([2, 4]) },
    }),
    target: (dice) => ({ team: "t1", gang: { accelerators: dice.pick([1, 2, 4]) } }),
  },
  {
    weight: 1,
    policies: ["default", "easy", "conservative"],
    running: 5,
    before: (nodes) => ({
      team: "default",
      gang: { workers: nodes.filter(({ pool: of }) => of === "H100").length, accelerators: 4 },
      acceleratorTypes: ["H100"],
      walltimeMs: 2 * HOUR_MS,
    }),
    target: (dice) => ({ priority: -1, acceleratorTypes: ["H100"], walltimeMs: dice.pick([5, 20, 60]) * HOUR_MS }),
  },
  {
    weight: 10,
    policies: ["within guarantees"],
    running: 4,
    guarantees: 1,
    guarantee: (dice) => dice.between(1, 3),
    limits: 0,
    target: (dice) => ({
      team: dice.pick(["t1", "t2"]),
      preemptible: false,
      gang: { accelerators: 4 },
    }),
  },
  {
    weight: 2,
    policies: ["default"],
    running: 4,
    guarantees: 1,
    // The guarantees of the other teams often need the whole fleet.
    guarantee: (dice) => dice.pick([1, 2, 12, 16]),
    limits: 0,
    target: (dice) => ({
      team: dice.pick(["t1", "t2"]),
      preemptible: false,
      gang: { accelerators: 4 },
    }),
  },
  {
    weight: 11,
    policies: any,
    running: 3,
    guarantees: 0,
    limits: 1,
    limit: (dice) => dice.between(1, 3),
    target: (dice) => ({
      team: dice.pick(["t1", "t2"]),
      preemptible: true,
      acceleratorTypes: ["H100"],
      gang: { accelerators: 4 },
    }),
  },
];

/** The start time has not come, or the team's budget is used up. */
const times: readonly Situation[] = [
  { weight: 9, policies: any, running: 3, ...unbounded, target: () => ({ hold: true }) },
  {
    weight: 9,
    policies: any,
    running: 3,
    ...unbounded,
    target: (dice) => ({ notBeforeMs: dice.between(100, 200) * HOUR_MS, gang: { workers: dice.pick([1, 2]) } }),
  },
  {
    weight: 9,
    policies: any,
    running: 3,
    ...unbounded,
    calendar: (dice) => [
      powerAt("day", [0, 100 * HOUR_MS], { microUsdPerKwh: 300_000, gramsPerKwh: dice.pick([200, 400]) }),
      powerAt("weekend", [100 * HOUR_MS, 200 * HOUR_MS], { microUsdPerKwh: 60_000, gramsPerKwh: 50 }),
    ],
    target: (dice) => ({
      startWindow: dice.pick([
        { microUsdPerKwhMax: 100_000 },
        { microUsdPerKwhMax: 100_000, gramsPerKwhMax: 300 },
        { gramsPerKwhMax: 300, cheapestMs: HOUR_MS },
        { cleanestMs: HOUR_MS, latestStartMs: 150 * HOUR_MS },
      ]),
      gang: { workers: dice.pick([1, 2]) },
    }),
  },
  {
    weight: 12,
    policies: any,
    running: 5,
    ...unbounded,
    budget: (dice) => ({
      ...dice.pick<Pick<Budget, "gpuHours" | "microUsd">>([
        { gpuHours: dice.between(0, 3) },
        { microUsd: dice.between(0, 6) * MICRO_USD },
        { gpuHours: dice.between(0, 3), microUsd: dice.between(0, 6) * MICRO_USD },
      ]),
      period: "total",
      over: dice.pick(["hold", "hold", "stop"]),
    }),
    target: (dice) => ({ team: dice.pick(["t1", "t2", "t3"]) }),
  },
];

export const situations: readonly Situation[] = [
  ...shortfalls,
  ...constraints,
  ...places,
  ...unused,
  ...rights,
  ...times,
];
