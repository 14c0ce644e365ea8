/** Prices and availability of one accelerator type in several zones over time, piecewise constant between rows. */
export interface SpotRow {
  readonly timeMs: number;
  readonly zone: string;
  readonly spotUsdPerHour: number;
  readonly onDemandUsdPerHour: number;
  readonly isAvailable: boolean;
}

/**
 * Rows on one time axis. `spot[zone][step]` is the price in USD per hour, or infinity where spot capacity cannot be had or costs at
 * least as much as on-demand capacity. A zone without a row at a step keeps the values of its last row.
 */
export interface SpotSeries {
  readonly zones: readonly string[];
  /** Start of each step, in hours after the first row. */
  readonly startHours: Float64Array;
  readonly spot: readonly Float64Array[];
  /** The cheapest on-demand price of each step, in USD per hour. */
  readonly onDemand: Float64Array;
}

export function spotSeries(rows: readonly SpotRow[]): SpotSeries {
  const zones = [...new Set(rows.map(({ zone }) => zone))].toSorted();
  const times = [...new Set(rows.map(({ timeMs }) => timeMs))].toSorted((a, b) => a - b);
  const stepOf = new Map(times.map((timeMs, step) => [timeMs, step]));
  const zoneOf = new Map(zones.map((zone, index) => [zone, index]));
  const spot = zones.map(() => new Float64Array(times.length).fill(Number.NaN));
  const onDemandOfZone = zones.map(() => new Float64Array(times.length).fill(Number.NaN));
  for (const row of rows) {
    const zone = zoneOf.get(row.zone) ?? 0;
    const step = stepOf.get(row.timeMs) ?? 0;
    const isUsable = row.isAvailable && row.spotUsdPerHour > 0 && row.spotUsdPerHour < row.onDemandUsdPerHour;
    spot[zone]![step] = isUsable ? row.spotUsdPerHour : Number.POSITIVE_INFINITY;
    onDemandOfZone[zone]![step] = row.onDemandUsdPerHour;
  }
  for (const prices of [...spot, ...onDemandOfZone]) fillForward(prices);
  const onDemand = new Float64Array(times.length);
  for (let step = 0; step < times.length; step += 1) {
    onDemand[step] = Math.min(...onDemandOfZone.map((prices) => prices[step]!));
  }
  const firstMs = times[0] ?? 0;
  return { zones, startHours: Float64Array.from(times, (timeMs) => (timeMs - firstMs) / 3_600_000), spot, onDemand };
}

/** Copies the last known value to steps without one. Steps before the first value cannot be bought. */
function fillForward(prices: Float64Array): void {
  let last = Number.POSITIVE_INFINITY;
  for (let step = 0; step < prices.length; step += 1) {
    if (Number.isNaN(prices[step]!)) prices[step] = last;
    else last = prices[step]!;
  }
}
