/**
 * Energy of a charge, its price and carbon. Measured power of the accelerators counts where it is known, with the rest of the node and
 * the PUE of the price document; for the rest of the time, the power that the document states.
 */
import { MILLI_MS_PER_HOUR, type Charge } from "../bill/charges.ts";
import { MICRO } from "../prices/amounts.ts";
import { gramsAt } from "../prices/grid-intensity.ts";
import type { CapacityPrice, PoolPrice } from "../prices/price-documents.ts";
import type { PowerMeter } from "./power-meter.ts";

export interface Energy {
  readonly kwh: number;
  /** The part of `kwh` from measured power. */
  readonly measuredKwh: number;
  readonly grams: number;
  /** At the price of a kWh; 0 where the price of the capacity has its power in it. */
  readonly microUsd: number;
}

/** Power of one accelerator, as a price document states it. */
interface StatedPower {
  /** At the plug, PUE included. */
  readonly kilowatts: number;
  readonly pue: number;
  /** Its part of the node beside the accelerators. */
  readonly hostKilowatts: number;
  readonly gramsPerKwh: number;
  readonly usdPerKwh: number;
}

const isCapacity = (price: PoolPrice): price is CapacityPrice => !("prices" in price);

/** Several power components are weighted by their energy. `atMs`: the hour whose carbon intensity counts. */
function statedPower(price: PoolPrice, atMs: number): StatedPower {
  if (!isCapacity(price)) {
    const { kilowattsPerAccelerator: kilowatts = 0, gramsPerKwh = 0 } = price;
    return { kilowatts, pue: 1, hostKilowatts: 0, gramsPerKwh: gramsAt(gramsPerKwh, atMs), usdPerKwh: 0 };
  }
  let [plug, plain, host, grams, usd] = [0, 0, 0, 0, 0];
  for (const { kilowatts = 0, pue = 1, gramsPerKwh = 0, perKwh = 0, hostKilowatts = 0 } of price.components) {
    plug += kilowatts * pue;
    plain += kilowatts;
    host += hostKilowatts;
    grams += kilowatts * pue * gramsAt(gramsPerKwh, atMs);
    usd += kilowatts * pue * perKwh;
  }
  const { accelerators } = price;
  const part = (sum: number): number => (plug === 0 ? 0 : sum / plug);
  return {
    kilowatts: plug / accelerators,
    pue: plain === 0 ? 1 : plug / plain,
    hostKilowatts: host / accelerators,
    gramsPerKwh: part(grams),
    usdPerKwh: part(usd),
  };
}

export function chargeEnergy({ row, price, milliMs, fromMs, toMs }: Charge, meter: PowerMeter | null): Energy {
  const stated = statedPower(price, fromMs);
  const hours = milliMs / MILLI_MS_PER_HOUR;
  const { accelerators } = row;
  const measured =
    meter === null || accelerators === undefined || accelerators === ""
      ? { kilowatts: 0, covered: 0 }
      : meter.mean(row.node, accelerators, { fromMs, toMs });
  const measuredKwh = hours * measured.covered * (measured.kilowatts + stated.hostKilowatts) * stated.pue;
  const kwh = measuredKwh + hours * (1 - measured.covered) * stated.kilowatts;
  return { kwh, measuredKwh, grams: kwh * stated.gramsPerKwh, microUsd: kwh * stated.usdPerKwh * MICRO };
}
