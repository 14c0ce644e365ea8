/**
 * A month of usage rows with prices, idle time, fractions and MIG slices: how long billing takes, how much memory, and
 * whether every hour of every price reconciles with its cost. `npm run bench -- reconcile [ROWS]`.
 */
import { charges, cutRow, demoMonth, hourCost, HourlyRows, type CapacityPrice } from "../src/index.ts";

const wanted = Number(process.argv[2] ?? 1_000_000);
/** Rows of an hour or less that one scale of the demo gives. */
const ROWS_PER_SCALE = 71_000;

const { rows, book, fromMs, toMs } = demoMonth(1, Math.ceil(wanted / ROWS_PER_SCALE));
const list = [];
for (const row of rows) for (const part of cutRow(row, "hour")) if (list.length < wanted) list.push(part);

const started = process.cpuUsage();
const hourly = new HourlyRows();
for (const row of list) hourly.add(row);
const sums = new Map<string, number>();
let chargeCount = 0;
for (const { price, hourMs, microUsd } of charges(hourly, book, { fromMs, toMs })) {
  chargeCount++;
  const key = `${price.name} ${hourMs}`;
  sums.set(key, (sums.get(key) ?? 0) + microUsd);
}
const { user, system } = process.cpuUsage(started);
let differenceMicroUsd = 0;
let hours = 0;
const capacity = [...book.byPool.values()].flat().filter((price): price is CapacityPrice => !("prices" in price));
for (const price of capacity)
  for (let hourMs = fromMs; hourMs < toMs; hourMs += 3_600_000) {
    hours++;
    differenceMicroUsd += Math.abs((sums.get(`${price.name} ${hourMs}`) ?? 0) - hourCost(price, hourMs));
  }
process.stdout.write(
  `${JSON.stringify({
    case: "usage rows billed and reconciled",
    rows: list.length,
    charges: chargeCount,
    hours,
    differenceUsd: differenceMicroUsd / 1_000_000,
    cpuSeconds: (user + system) / 1_000_000,
    peakMib: Math.round(process.resourceUsage().maxRSS / 1_024),
  })}\n`,
);
