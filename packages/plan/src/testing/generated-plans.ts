/** Random plan documents: small ones of every kind for the checker, and demand worlds of a usual fleet for comparisons of cost. */
import { monthName, monthNumber } from "../document/calendar.ts";
import { drawsOf } from "../futures/draws.ts";
import { readPlanDocument, type PlanDocument } from "../document/plan-document.ts";

class Draw {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = drawsOf(seed);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.#next();
  }

  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  money(low: number, high: number): number {
    return Math.round(this.between(low, high) * 100) / 100;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.whole(0, values.length - 1)]!;
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  maybe<Key extends string, Value>(probability: number, key: Key, value: () => Value): { readonly [K in Key]?: Value } {
    return this.chance(probability) ? ({ [key]: value() } as { [K in Key]: Value }) : {};
  }
}

function read(value: unknown): PlanDocument {
  const reading = readPlanDocument(value);
  if (reading.kind === "read") return reading.document;
  throw new Error(JSON.stringify(reading.problems));
}

/** A small plan with random options, limits, cohorts and build-out. Some have no plan. */
export function randomPlan(seed: number): PlanDocument {
  const draw = new Draw(seed);
  const months = draw.whole(2, 18);
  const start = monthNumber("2026-01") + draw.whole(0, 30);
  const pools = ["training", "serving", "lab"].slice(0, draw.pick([1, 1, 1, 2, 3]));
  return read({
    kind: "plan",
    name: `random-${seed}`,
    start: monthName(start),
    months,
    riskPct: draw.pick([1, 2.5, 5, 5, 10, 20]),
    discountPct: draw.pick([0, 0, 8]),
    scenarios: draw.pick([1, 3, 5, 7]),
    ...draw.maybe(0.4, "energy", () => ({ usdPerKwh: draw.money(0.04, 0.3), pue: draw.pick([1.1, 1.25, 1.4]) })),
    demand: Object.fromEntries(pools.map((pool) => [pool, randomDemand(draw, months, start)])),
    options: pools.flatMap((pool) => randomOptions(draw, pool)),
    existing: draw.chance(0.5) ? [randomCohort(draw, draw.pick(pools), start)] : [],
    limits: {
      ...draw.maybe(0.4, "capital", () => randomCapital(draw, months, start)),
      ...draw.maybe(0.3, "power", () => [{ from: monthName(start), max: draw.whole(100, 900) }]),
      ...draw.maybe(0.2, "racks", () => [
        { from: monthName(start), max: draw.whole(4, 40) },
        { from: monthName(start + 6), max: draw.whole(40, 90) },
      ]),
    },
    expansions: draw.chance(0.3)
      ? [
          {
            name: "hall",
            adds: { power: draw.whole(100, 800), racks: draw.whole(4, 30) },
            upfrontUsd: draw.money(1e5, 2e6),
            monthlyUsd: draw.money(0, 9000),
            leadTime: [
              { line: "switchgear", p50: "8w", p95: "20w" },
              { line: "works", p50: "6w", p95: "9w" },
            ],
            max: draw.whole(1, 3),
          },
        ]
      : [],
  });
}

function randomDemand(draw: Draw, months: number, start: number): unknown {
  const first = draw.between(5, 300);
  const growth = draw.between(-0.03, 0.09);
  const p50 = Array.from({ length: months }, (_, month) => first * (1 + growth) ** month);
  const spread = draw.between(0, 0.5);
  const p95 = p50.map((value, month) => value * (1 + spread * Math.sqrt((month + 1) / 12)));
  const low = p50.map((value, month) => value / (1 + 0.7 * spread * Math.sqrt((month + 1) / 12)));
  if (draw.chance(0.2)) return { p50: { [monthName(start)]: first, [monthName(start + months)]: first * 2 } };
  return { p50, p95, ...draw.maybe(0.4, "p10", () => low), interruptiblePct: draw.pick([0, 0, 15, 40]) };
}

const leadTimes = [
  "14d",
  "2m",
  { p50: "6w", p95: "15w" },
  [
    { line: "nodes", p50: "5w", p95: "12w" },
    { line: "fabric", p50: "7w", p95: "10w" },
  ],
];

function randomOptions(draw: Draw, pool: string): readonly unknown[] {
  const firm = (name: string): object => ({
    name: `${pool}-${name}`,
    pool,
    leadTime: draw.pick(leadTimes),
    block: draw.pick([1, 4, 8, 16, 72]),
    ...draw.maybe(0.3, "speed", () => draw.pick([0.4, 1.75, 2.2])),
    ...draw.maybe(0.2, "max", () => draw.whole(0, 400)),
    ...draw.maybe(0.2, "maxPerMonth", () => draw.whole(8, 100)),
  });
  const hardware = { kw: draw.pick([0.7, 1.3, 1.85]), racks: draw.pick([0, 0.03125, 0.0139]) };
  const all = [
    () => ({
      kind: "own",
      ...firm("own"),
      ...hardware,
      upfrontUsd: draw.money(15_000, 60_000),
      monthlyUsd: draw.money(100, 900),
      lifeMonths: draw.pick([6, 36, 60]),
      salvagePct: draw.pick([0, 7.5, 10, 20]),
      paid: draw.pick(["order", "delivery"]),
    }),
    () => ({
      kind: "lease",
      ...firm("lease"),
      ...hardware,
      monthlyUsd: draw.money(900, 2000),
      termMonths: draw.pick([4, 24]),
      upfrontUsd: draw.money(0, 2000),
    }),
    () => ({
      kind: "reserve",
      ...firm("reserve"),
      monthlyUsd: draw.money(1200, 2400),
      termMonths: draw.pick([3, 12, 36]),
    }),
    () => ({ kind: "rent", ...firm("rent"), monthlyUsd: draw.money(1500, 3000), minimumMonths: draw.pick([1, 3, 6]) }),
    () => ({
      kind: "spot",
      name: `${pool}-spot`,
      pool,
      usdPerHour: draw.money(0.5, 2.5),
      max: draw.whole(0, 200),
      availabilityPct: draw.pick([60, 90]),
      lostWorkPct: draw.pick([3, 12.5]),
    }),
  ];
  const onDemand = {
    kind: "onDemand",
    name: `${pool}-on-demand`,
    pool,
    usdPerHour: draw.money(2, 7),
    ...draw.maybe(0.6, "max", () => draw.whole(50, 900)),
  };
  return [...all.filter(() => draw.chance(0.6)).map((make) => make()), onDemand];
}

function randomCohort(draw: Draw, pool: string, start: number): unknown {
  return {
    name: "old",
    pool,
    accelerators: draw.whole(0, 120),
    speed: draw.pick([0.4, 1]),
    block: draw.pick([4, 8]),
    kw: draw.pick([0.5, 0.8]),
    racks: 0.02,
    monthlyUsd: draw.money(200, 1500),
    ...draw.maybe(0.6, "endOfLife", () => monthName(start + draw.whole(0, 20))),
    resaleUsd: draw.money(0, 6000),
    resaleLossPctPerMonth: draw.pick([0, 2, 3.5]),
  };
}

function randomCapital(draw: Draw, months: number, start: number): readonly unknown[] {
  return Array.from({ length: Math.ceil(months / 3) }, (_, quarter) => ({
    from: monthName(start + 3 * quarter),
    to: monthName(start + 3 * quarter + 2),
    usd: draw.money(2e5, 6e6),
  }));
}

export interface WorldShape {
  readonly months: number;
  readonly scenarios: number;
}

/** A demand world: growth, season and spread differ; eight options have prices near those of 2026. */
export function demandWorld(seed: number, { months, scenarios }: WorldShape): PlanDocument {
  const draw = new Draw(seed * 7919);
  const first = draw.between(80, 600);
  const growth = draw.between(0, 0.05);
  const swing = draw.between(0, 0.25);
  const phase = draw.between(0, 12);
  const spread = draw.between(0.04, 0.2);
  const p50 = Array.from(
    { length: months },
    (_, month) => first * (1 + growth) ** month * (1 + swing * Math.sin(((month + phase) * Math.PI) / 6)),
  );
  const scale = draw.between(0.85, 1.15);
  const price = (usd: number): number => Math.round(usd * scale * draw.between(0.92, 1.08) * 100) / 100;
  const pool = "fleet";
  return read({
    kind: "plan",
    name: `world-${seed}`,
    start: "2027-01",
    months,
    scenarios,
    demand: {
      fleet: {
        p50,
        p95: p50.map((value, month) => value * (1 + spread * Math.sqrt((month + 1) / 12))),
        interruptiblePct: draw.pick([0, 10, 25]),
      },
    },
    options: [
      {
        kind: "own",
        name: "h200",
        pool,
        upfrontUsd: price(38_000),
        monthlyUsd: price(520),
        leadTime: { p50: "16w", p95: "36w" },
        block: 32,
        lifeMonths: 48,
        kw: 1.3,
      },
      {
        kind: "own",
        name: "b200",
        pool,
        speed: 2.1,
        upfrontUsd: price(62_000),
        monthlyUsd: price(700),
        leadTime: [
          { line: "accelerators", p50: "20w", p95: "44w" },
          { line: "power", p50: "26w", p95: "50w" },
        ],
        block: 72,
        lifeMonths: 60,
        kw: 1.9,
      },
      {
        kind: "lease",
        name: "lease",
        pool,
        monthlyUsd: price(1650),
        leadTime: { p50: "8w", p95: "16w" },
        block: 32,
        termMonths: 36,
        kw: 1.3,
      },
      { kind: "reserve", name: "reserve-1y", pool, monthlyUsd: price(1900), leadTime: "14d", block: 8, termMonths: 12 },
      {
        kind: "reserve",
        name: "reserve-3y",
        pool,
        monthlyUsd: price(1450),
        leadTime: "30d",
        block: 64,
        termMonths: 36,
      },
      { kind: "rent", name: "market", pool, monthlyUsd: price(2100), leadTime: "14d", block: 16, minimumMonths: 3 },
      { kind: "onDemand", name: "on-demand", pool, usdPerHour: price(4.2), max: 4000 },
      { kind: "spot", name: "spot", pool, usdPerHour: price(1.7), max: 100 },
    ],
    limits: {
      power: [
        { from: "2027-01", max: 900 },
        { from: "2028-03", max: 2400 },
      ],
    },
  });
}

/**
 * A demand world in which capacity on demand is scarce, so that the accepted risk decides how much is bought: a tenth of the first demand is
 * for rent by the hour. A fleet that meets the first months exists, because firm capacity of the first month cannot be ordered.
 */
export function scarceWorld(seed: number, shape: WorldShape): PlanDocument {
  const world = demandWorld(seed, shape);
  const demand = world.demand["fleet"]!;
  const first = (series: typeof demand.p50, month: number): number => Number(Object.values(series)[month]);
  const need = Math.max(first(demand.p95!, 0), first(demand.p95!, 1));
  const most: Readonly<Record<string, number>> = { "on-demand": Math.round(first(demand.p50, 0) / 10), spot: 20 };
  return read({
    ...world,
    name: `scarce-${seed}`,
    limits: {},
    options: world.options.map((option) => ({ ...option, max: most[option.name] ?? option.max })),
    existing: [
      {
        name: "old",
        pool: "fleet",
        accelerators: Math.ceil(need / 8) * 8,
        block: 8,
        kw: 0.8,
        racks: 0,
        monthlyUsd: 600,
        endOfLife: "2028-07",
        resaleUsd: 4000,
        resaleLossPctPerMonth: 3,
      },
    ],
  });
}
