/**
 * Series of capacity planning from generators, in two groups. The constants of the forecast may be chosen in view of `known`; the classes
 * of `heldOut` come from other mechanisms and are for measurement alone.
 */
import { drawsOf } from "../futures/draws.ts";

export interface GeneratedSeries {
  readonly class: string;
  readonly name: string;
  readonly stepMs: number;
  readonly values: Float64Array;
}

type Generator = (draw: Draws, length: number) => Float64Array;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MONTH_MS = 30.4375 * DAY_MS;

class Draws {
  readonly uniform: () => number;

  constructor(seed: number) {
    this.uniform = drawsOf(seed);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.uniform();
  }

  /** Box and Muller. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform());
  }

  /** Knuth's product for small means, the normal approximation for large ones. */
  poisson(mean: number): number {
    if (mean > 40) return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()));
    let [count, product] = [0, this.uniform()];
    for (const least = Math.exp(-mean); product > least; product *= this.uniform()) count += 1;
    return count;
  }
}

function wave(index: number, period: number, phase = 0): number {
  return Math.sin((2 * Math.PI * index) / period + phase);
}

/** Values from a state that a step of `next` carries on. */
function iterate(length: number, next: (index: number) => number): Float64Array {
  return Float64Array.from({ length }, (_, index) => next(index));
}

const dayAndWeek: Generator = (draw, length) => {
  const [day, week, noise, phase] = [draw.between(5, 40), draw.between(0, 20), draw.between(2, 15), draw.between(0, 6)];
  let error = 0;
  return iterate(length, (index) => {
    error = 0.6 * error + noise * draw.normal();
    return Math.max(0, 100 + day * wave(index, 24, phase) + week * wave(index, 168, phase) + error);
  });
};

const trendAndDay: Generator = (draw, length) => {
  const [slope, day, noise] = [draw.between(-0.05, 0.2), draw.between(5, 30), draw.between(2, 10)];
  return iterate(length, (index) => Math.max(0, 60 + slope * index + day * wave(index, 24) + noise * draw.normal()));
};

const intermittent: Generator = (draw, length) => {
  const [rate, size] = [draw.between(0.05, 0.4), draw.between(1, 4)];
  return iterate(length, () => (draw.uniform() < rate ? 8 * Math.ceil(draw.exponential(size)) : 0));
};

const levelShifts: Generator = (draw, length) => {
  let level = draw.between(50, 200);
  const noise = draw.between(3, 12);
  return iterate(length, () => {
    if (draw.uniform() < 1 / 150) level = draw.between(30, 300);
    return Math.max(0, level + noise * draw.normal());
  });
};

const randomWalk: Generator = (draw, length) => {
  let value = draw.between(200, 600);
  const step = draw.between(1, 8);
  return iterate(length, () => (value = Math.max(0, value + step * draw.normal())));
};

const bursts: Generator = (draw, length) => {
  let burst = 0;
  return iterate(length, (index) => {
    burst = draw.uniform() < 1 / 60 ? draw.between(50, 300) : burst * 0.85;
    return Math.max(0, 40 + 10 * wave(index, 24) + burst + 5 * draw.normal());
  });
};

const growthByMonth: Generator = (draw, length) => {
  const [growth, year, noise] = [draw.between(0, 0.03), draw.between(0, 0.25), draw.between(0.02, 0.1)];
  return iterate(
    length,
    (index) => 100 * (1 + growth) ** index * Math.exp(year * wave(index, 12) + noise * draw.normal()),
  );
};

/** Jobs arrive by a daily rate and hold accelerators for times with a heavy tail. */
const jobsInService: Generator = (draw, length) => {
  const [rate, longest, night] = [draw.between(1, 6), draw.between(60, 300), draw.between(0.2, 0.9)];
  const held = new Float64Array(length + 400);
  for (let hour = 0; hour < held.length; hour += 1) {
    const isWeekend = Math.floor(hour / 24) % 7 >= 5;
    const arrivals = draw.poisson(rate * (1 + night * wave(hour, 24)) * (isWeekend ? 0.5 : 1));
    for (let job = 0; job < arrivals; job += 1) {
      const hours = Math.min(longest, 1 / Math.max(1e-3, draw.uniform()) ** 0.8);
      const size = 2 ** Math.floor(draw.between(0, 5));
      for (let at = hour; at < Math.min(held.length, hour + hours); at += 1) held[at]! += size;
    }
  }
  return held.slice(400);
};

/** A queue before a fixed capacity: long stretches at zero, and rises that only fade slowly. */
const queueBeforeCapacity: Generator = (draw, length) => {
  const load = draw.between(0.75, 0.98);
  let waiting = 0;
  return iterate(length, (index) => {
    const arriving = draw.poisson(50 * load * (1 + 0.4 * wave(index, 24))) + (draw.uniform() < 0.02 ? 150 : 0);
    return (waiting = Math.max(0, waiting + arriving - 52));
  });
};

/** Campaigns: a stretch of heavy use, then a stretch of light use. */
const campaigns: Generator = (draw, length) => {
  let isBusy = draw.uniform() < 0.5;
  const [busy, idle, stay] = [draw.between(200, 500), draw.between(10, 80), draw.between(40, 200)];
  let value = isBusy ? busy : idle;
  return iterate(length, () => {
    if (draw.uniform() < 1 / stay) isBusy = !isBusy;
    value += 0.3 * ((isBusy ? busy : idle) - value);
    return Math.max(0, value * (1 + 0.06 * draw.normal()));
  });
};

/** Traffic whose spread grows with its level: office hours, quiet weekends, slow growth. */
const officeTraffic: Generator = (draw, length) => {
  const [peak, growth] = [draw.between(100, 5000), draw.between(0, 8e-4)];
  return iterate(length, (index) => {
    const hour = index % 24;
    const isWorkday = Math.floor(index / 24) % 7 < 5;
    const shape = hour >= 8 && hour <= 19 ? 1 - Math.abs(hour - 13.5) / 12 : 0.15;
    return draw.poisson(peak * shape * (isWorkday ? 1 : 0.35) * Math.exp(growth * index + 0.08 * draw.normal()));
  });
};

/** A period that no calendar suggests: a pipeline every 17 steps. */
const pipelineRuns: Generator = (draw, length) => {
  const [period, width] = [Math.round(draw.between(9, 40)), draw.between(0.1, 0.4)];
  return iterate(length, (index) => {
    const phase = (index % period) / period;
    return Math.max(0, 20 + (phase < width ? draw.between(80, 120) : 0) + 6 * draw.normal());
  });
};

/** Calm and restless stretches of the same level. */
const changingSpread: Generator = (draw, length) => {
  let [spread, deviation] = [5, 0];
  return iterate(length, (index) => {
    spread = Math.min(40, Math.max(1, spread * Math.exp(0.08 * draw.normal())));
    deviation = 0.7 * deviation + spread * draw.normal();
    return Math.max(0, 150 + 15 * wave(index, 24) + deviation);
  });
};

/** Adoption of a service by month: slow, then fast, then full; with the year and with launches. */
const adoptionByMonth: Generator = (draw, length) => {
  const [middle, pace, year] = [draw.between(0.3, 1.2) * length, draw.between(6, 20), draw.between(0, 0.15)];
  let level = 0;
  return iterate(length, (index) => {
    if (draw.uniform() < 1 / 40) level += draw.between(10, 60);
    const adopted = 800 / (1 + Math.exp((middle - index) / pace));
    return (40 + adopted + level) * Math.exp(year * wave(index, 12) + 0.05 * draw.normal());
  });
};

/** Orders of a fleet by month: mostly none. */
const ordersByMonth: Generator = (draw, length) => {
  const rate = draw.between(0.3, 0.8);
  return iterate(length, (index) =>
    draw.uniform() < rate ? draw.poisson(30 * (1 + index / length)) * Math.exp(0.4 * draw.normal()) : 0,
  );
};

interface GeneratedClass {
  readonly name: string;
  readonly generator: Generator;
  readonly stepMs: number;
  readonly length: number;
}

function hourly(name: string, generator: Generator): GeneratedClass {
  return { name, generator, stepMs: HOUR_MS, length: 700 };
}

function monthly(name: string, generator: Generator): GeneratedClass {
  return { name, generator, stepMs: MONTH_MS, length: 96 };
}

const groups = {
  known: [
    hourly("day-and-week", dayAndWeek),
    hourly("trend-and-day", trendAndDay),
    hourly("intermittent", intermittent),
    hourly("level-shifts", levelShifts),
    hourly("random-walk", randomWalk),
    hourly("bursts", bursts),
    monthly("growth-by-month", growthByMonth),
  ],
  heldOut: [
    hourly("jobs-in-service", jobsInService),
    hourly("queue-before-capacity", queueBeforeCapacity),
    hourly("campaigns", campaigns),
    hourly("office-traffic", officeTraffic),
    hourly("pipeline-runs", pipelineRuns),
    hourly("changing-spread", changingSpread),
    monthly("adoption-by-month", adoptionByMonth),
    monthly("orders-by-month", ordersByMonth),
  ],
} as const;

export type SeriesGroup = keyof typeof groups;

/** `count` series of each class. */
export function generatedSeries(group: SeriesGroup, count: number, seed: number): readonly GeneratedSeries[] {
  return groups[group].flatMap(({ name, generator, stepMs, length }, index) =>
    Array.from({ length: count }, (_, number) => {
      const draw = new Draws(seed * 1_000_003 + index * 1009 + number);
      return { class: name, name: `${name}/${number + 1}`, stepMs, values: generator(draw, length) };
    }),
  );
}
