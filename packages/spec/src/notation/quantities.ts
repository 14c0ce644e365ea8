/**
 * Converts amounts between the form that people write (`1h30m`, `900GiB`, `0.5` cores, `2.10 USD/h`) and the integers
 * that the engine stores: milliseconds, MiB, thousandths of a core and micro-dollars. Reading is exact: an amount that
 * is not a whole number of the base unit is refused, never rounded. Reading a written text gives the same amount.
 */
import * as limits from "../limits.ts";
import { read, refuse, shown, type Reading } from "./reading.ts";

export interface Range {
  readonly min: number;
  readonly max: number;
}

const decimalPattern = /^(\d{1,16})(?:\.(\d{1,12}))?$/;

/**
 * The exact product of `text` and `unit`; `undefined`: the product is not a whole number, or `text` is not a decimal.
 */
function scaled(text: string, unit: bigint): bigint | undefined {
  const found = decimalPattern.exec(text);
  if (found === null) return undefined;
  const [, whole = "", fraction = ""] = found;
  const numerator = BigInt(whole + fraction) * unit;
  const denominator = 10n ** BigInt(fraction.length);
  return numerator % denominator === 0n ? numerator / denominator : undefined;
}

function within(amount: bigint, range: Range, write: (value: number) => string): Reading<number> {
  if (amount >= BigInt(range.min) && amount <= BigInt(range.max)) return read(Number(amount));
  return refuse(`must be between ${write(range.min)} and ${write(range.max)}`);
}

const durationUnits = [
  { name: "w", ms: 604_800_000n },
  { name: "d", ms: 86_400_000n },
  { name: "h", ms: 3_600_000n },
  { name: "m", ms: 60_000n },
  { name: "s", ms: 1_000n },
  { name: "ms", ms: 1n },
] as const;
const durationHelp = "write a duration like 500ms, 90s, 12h or 1h30m (units w, d, h, m, s, ms)";
export const durationPattern = "^(\\d+(\\.\\d+)?(w|d|h|ms|m|s))+$";

/** Reads a duration such as `1h30m` as milliseconds. Units come largest first, and each occurs at most once. */
export function readDuration(value: unknown, range: Range): Reading<number> {
  if (typeof value === "number") return refuse(`needs a unit: ${durationHelp}, got ${shown(value)}`);
  if (typeof value !== "string") return refuse(`${durationHelp}, got ${shown(value)}`);
  const text = value.trim();
  const part = /(\d+(?:\.\d+)?)(ms|[wdhms])/y;
  let total = 0n;
  let largestAllowed = 0;
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    const unitIndex = durationUnits.findIndex(({ name }) => name === found?.[2]);
    const unit = durationUnits[unitIndex];
    if (found === null || unit === undefined || unitIndex < largestAllowed) {
      return refuse(`${durationHelp}, got ${shown(value)}`);
    }
    const amount = scaled(found[1] ?? "", unit.ms);
    if (amount === undefined) return refuse(`must be a whole number of milliseconds, got ${shown(value)}`);
    total += amount;
    largestAllowed = unitIndex + 1;
  }
  if (text === "") return refuse(`${durationHelp}, got ${shown(value)}`);
  const reading = within(total, range, writeDuration);
  return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
}

/**
 * Writes milliseconds as a duration such as `1d2h`, with the fewest units that express it exactly. Weeks are read but
 * never written.
 */
export function writeDuration(ms: number): string {
  let rest = BigInt(ms);
  let text = "";
  for (const unit of durationUnits.slice(1)) {
    if (rest >= unit.ms) text += `${rest / unit.ms}${unit.name}`;
    rest %= unit.ms;
  }
  return text === "" ? "0s" : text;
}

const memoryUnits = [
  { name: "TiB", mib: 1_048_576n },
  { name: "GiB", mib: 1_024n },
  { name: "MiB", mib: 1n },
] as const;
const memoryHelp = "write memory like 512MiB, 900GiB or 1.5TiB";
export const memoryPattern = "^\\d+(\\.\\d+)? ?(MiB|GiB|TiB)$";
/** Spellings of units in other systems, with the suggested unit. `GB` is decimal and not a whole number of MiB. */
const memoryLookalikes: ReadonlyMap<string, string> = new Map([
  ["k", "MiB"],
  ["m", "MiB"],
  ["g", "GiB"],
  ["t", "TiB"],
]);

/** Reads memory such as `900GiB` as MiB. */
export function readMemory(value: unknown, range: Range): Reading<number> {
  if (typeof value === "number") return refuse(`needs a unit: ${memoryHelp}, got ${shown(value)}`);
  if (typeof value !== "string") return refuse(`${memoryHelp}, got ${shown(value)}`);
  const found = /^(\S+?)\s?([A-Za-z]+)$/.exec(value.trim());
  const unit = memoryUnits.find(({ name }) => name === found?.[2]);
  if (found === null || unit === undefined) {
    const meant = memoryLookalikes.get((found?.[2] ?? "").charAt(0).toLowerCase());
    const hint = meant === undefined ? "" : ` (units are powers of two: MiB, GiB, TiB; did you mean ${meant}?)`;
    return refuse(`${memoryHelp}, got ${shown(value)}${hint}`);
  }
  const amount = scaled(found[1] ?? "", unit.mib);
  if (amount === undefined) {
    const isDecimal = decimalPattern.test(found[1] ?? "");
    return refuse(`${isDecimal ? "must be a whole number of MiB" : memoryHelp}, got ${shown(value)}`);
  }
  const reading = within(amount, range, writeMemory);
  return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
}

/** Writes MiB in the largest unit that needs no fraction. */
export function writeMemory(mib: number): string {
  const amount = BigInt(mib);
  const unit = memoryUnits.find((each) => amount >= each.mib && amount % each.mib === 0n);
  return unit === undefined ? "0MiB" : `${amount / unit.mib}${unit.name}`;
}

interface Thousandths {
  /** Allowed range, in thousandths. */
  readonly range: Range;
  /** Completes the message "thousandths of …". */
  readonly noun: string;
  /** The message for a value that is not a decimal. */
  readonly help?: string;
}

/** Reads `0.5`, a number or its text, as thousandths. */
export function readThousandths(
  value: unknown,
  { range, noun, help = "write a number like 0.5" }: Thousandths,
): Reading<number> {
  // If the written text has at most 15 digits, it equals the shortest text of the double.
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return refuse(`${help}, got ${shown(value)}`);
  if (text.startsWith("-")) return refuse(`must be between ${range.min / 1000} and ${range.max / 1000}, got ${text}`);
  const amount = scaled(text, 1_000n);
  if (amount !== undefined) {
    const reading = within(amount, range, (milli) => String(milli / 1000));
    return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
  }
  const isDecimal = decimalPattern.test(text);
  return refuse(`${isDecimal ? `must be a whole number of thousandths of ${noun}` : help}, got ${shown(value)}`);
}

/** Reads a number of cores such as `0.5` as thousandths of a core. */
export function readCores(value: unknown, range: Range): Reading<number> {
  return readThousandths(value, { range, noun: "a core", help: "write cores as a number like 4 or 0.5" });
}

export function writeCores(coresMilli: number): number {
  return coresMilli / 1000;
}

const priceHelp = "write a price like 2.10 USD/h";
export const pricePattern = "^\\d+(\\.\\d{1,6})? USD/h$";
const energyPriceHelp = "write a price like 0.08 USD/kWh";
export const energyPricePattern = "^-?\\d+(\\.\\d{1,6})? USD/kWh$";
const carbonHelp = "write carbon like 120 g/kWh";
export const carbonPattern = "^\\d+ g/kWh$";

/** Reads a price such as `2.10 USD/h` as micro-dollars per hour. */
export function readPrice(value: unknown, range: Range): Reading<number> {
  const found = typeof value === "string" ? /^(\S+)\s*USD\/h$/.exec(value.trim()) : null;
  return readMicroUsd(value, found, { range, help: priceHelp, write: writePrice });
}

const spendingHelp = "must be an amount and a period, such as 50 USD/day or 900 USD/month";

interface Spending {
  readonly microUsd: number;
  readonly period: "day" | "month";
}

/** Reads money for each day or month, such as `50 USD/day`. */
export function readSpending(value: unknown): Reading<Spending> {
  const found = typeof value === "string" ? /^(\S+)\s*USD\s*\/\s*(day|month)$/.exec(value.trim()) : null;
  const range = { min: 1, max: limits.BUDGET_MICRO_USD_MAX };
  const write = (microUsd: number): string => writeSpending({ microUsd, period: "day" });
  const amount = readMicroUsd(value, found, { range, help: spendingHelp, write });
  return amount.ok ? read({ microUsd: amount.value, period: found?.[2] === "month" ? "month" : "day" }) : amount;
}

export const writeSpending = ({ microUsd, period }: Spending): string => `${dollars(microUsd)} USD/${period}`;

const energyPriceRange = { min: limits.MICRO_USD_PER_KWH_MIN, max: limits.MICRO_USD_PER_KWH_MAX };

/**
 * Reads a price such as `0.08 USD/kWh` as micro-dollars per kilowatt-hour. With a negative price, the consumer is paid.
 */
export function readEnergyPrice(value: unknown): Reading<number> {
  const found = typeof value === "string" ? /^-?(\S+)\s*USD\/kWh$/.exec(value.trim()) : null;
  const sign = found?.[0].startsWith("-") === true ? -1n : 1n;
  return readMicroUsd(value, found, { range: energyPriceRange, help: energyPriceHelp, write: writeEnergyPrice, sign });
}

/** Reads an intensity such as `120 g/kWh` as grams of carbon dioxide per kilowatt-hour. */
export function readCarbon(value: unknown, range: Range): Reading<number> {
  const found = typeof value === "string" ? /^(\d{1,9})\s*g\/kWh$/.exec(value.trim()) : null;
  if (found === null) return refuse(`${carbonHelp}, got ${shown(value)}`);
  const reading = within(BigInt(found[1] ?? "0"), range, writeCarbon);
  return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
}

export const writeCarbon = (gramsPerKwh: number): string => `${gramsPerKwh} g/kWh`;

const wattsHelp = "write power like 700W, 40kW or 1.2MW";
export const wattsPattern = "^\\d+(\\.\\d+)? ?(W|kW|MW)$";
const wattUnits = [
  { name: "MW", watts: 1_000_000n },
  { name: "kW", watts: 1_000n },
  { name: "W", watts: 1n },
] as const;

/** Reads power such as `40kW` as watts. */
export function readWatts(value: unknown, range: Range): Reading<number> {
  const found = typeof value === "string" ? /^(\S+?)\s?([kM]?W)$/.exec(value.trim()) : null;
  const unit = wattUnits.find(({ name }) => name === found?.[2]);
  if (found === null || unit === undefined) return refuse(`${wattsHelp}, got ${shown(value)}`);
  const amount = scaled(found[1] ?? "", unit.watts);
  if (amount === undefined) {
    const isDecimal = decimalPattern.test(found[1] ?? "");
    return refuse(`${isDecimal ? "must be a whole number of watts" : wattsHelp}, got ${shown(value)}`);
  }
  const reading = within(amount, range, writeWatts);
  return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
}

/** Writes watts in the largest unit that needs no more than three decimals. */
export function writeWatts(watts: number): string {
  const unit = wattUnits.find((each) => watts >= Number(each.watts) && (BigInt(watts) * 1000n) % each.watts === 0n);
  return unit === undefined ? `${watts}W` : `${watts / Number(unit.watts)}${unit.name}`;
}

interface MicroUsd {
  readonly range: Range;
  readonly help: string;
  readonly write: (microUsd: number) => string;
  readonly sign?: 1n | -1n;
}

function readMicroUsd(
  value: unknown,
  found: RegExpExecArray | null,
  { range, help, write, sign = 1n }: MicroUsd,
): Reading<number> {
  if (found === null) return refuse(`${help}, got ${shown(value)}`);
  const amount = scaled(found[1] ?? "", 1_000_000n);
  if (amount === undefined) {
    const isDecimal = decimalPattern.test(found[1] ?? "");
    return refuse(`${isDecimal ? "must be a whole number of micro-dollars" : help}, got ${shown(value)}`);
  }
  const reading = within(sign * amount, range, write);
  return reading.ok ? reading : refuse(`${reading.message}, got ${shown(value)}`);
}

export const writePrice = (microUsdPerHour: number): string => `${dollars(microUsdPerHour)} USD/h`;
export const writeEnergyPrice = (microUsdPerKwh: number): string => `${dollars(microUsdPerKwh)} USD/kWh`;

function dollars(microUsd: number): string {
  const amount = BigInt(Math.abs(microUsd));
  const fraction = (amount % 1_000_000n)
    .toString()
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${microUsd < 0 ? "-" : ""}${amount / 1_000_000n}.${fraction}`;
}
