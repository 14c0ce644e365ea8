/**
 * Spot prices and availability like those that have been published: up and down times with heavy tails, zones that fail together at
 * times, prices that change by regimes, with a daily pattern.
 */
import type { SpotRow } from "../spot-series.ts";

export interface SpotWorld {
  readonly seed: number;
  readonly hours: number;
  readonly stepHours: number;
  readonly zones: number;
  readonly upHours: number;
  readonly downHours: number;
  readonly spotRatio: number;
  readonly onDemandUsdPerHour: number;
  /** Spread of the logarithm of prices. */
  readonly priceSpread: number;
}

export function generatedSpotRows(world: SpotWorld): SpotRow[] {
  const draw = seeded(world.seed);
  const rows: SpotRow[] = [];
  const shared = upDown(world, draw, 3);
  for (let zone = 0; zone < world.zones; zone += 1) {
    const own = upDown(world, draw, 1);
    let level = normal(draw) * world.priceSpread;
    for (let step = 0; step * world.stepHours < world.hours; step += 1) {
      if (draw() < world.stepHours / 24) level = 0.6 * level + normal(draw) * world.priceSpread * 0.8;
      const daily = 0.5 * world.priceSpread * Math.sin((2 * Math.PI * step * world.stepHours) / 24);
      const price = world.onDemandUsdPerHour * world.spotRatio * Math.exp(level + daily);
      rows.push({
        timeMs: Math.round(step * world.stepHours * 3_600_000),
        zone: `zone-${zone + 1}`,
        spotUsdPerHour: Math.min(price, world.onDemandUsdPerHour * 0.98),
        onDemandUsdPerHour: world.onDemandUsdPerHour,
        isAvailable: own[step]! && shared[step]!,
      });
    }
  }
  return rows;
}

/** Alternating up and down times, Weibull with shape 0.7; `rarer` scales both the time between outages and keeps their length. */
function upDown(world: SpotWorld, draw: () => number, rarer: number): boolean[] {
  const states: boolean[] = [];
  let isUp = draw() < (world.upHours * rarer) / (world.upHours * rarer + world.downHours);
  const shape = 0.7;
  const mean = 1.2658; // Gamma(1 + 1/0.7)
  while (states.length * world.stepHours < world.hours) {
    const scale = (isUp ? world.upHours * rarer : world.downHours) / mean;
    const steps = Math.max(1, Math.round((scale * (-Math.log(1 - draw())) ** (1 / shape)) / world.stepHours));
    for (let step = 0; step < steps; step += 1) states.push(isUp);
    isUp = !isUp;
  }
  return states;
}

function seeded(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

function normal(draw: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}
