/** Parses numbers, durations and rates in options of `simulate`. Each error names the expected form. */
import { CliError, exitCode } from "../cli-error.ts";

function usage(message: string): CliError {
  return new CliError(message, exitCode.usage);
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export function wholeNumber(text: string, what: string, { min, max }: Bounds): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw usage(`${what}: expected a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`);
  }
  return value;
}

/** Parses a number in plain decimals, such as `1.2`. */
export function decimal(text: string, what: string, { min, max }: Bounds): number {
  const value = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw usage(`${what}: expected a number from ${min} to ${max}, got ${JSON.stringify(text)}`);
  }
  return value;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Upper bound: ten years. */
const durationMaxMs = 315_360_000_000;

/** `90s`, `2h`, `30d`. */
export function duration(text: string, what: string): number {
  const match = /^([0-9]{1,12})(ms|s|m|h|d)$/.exec(text);
  const value = match === null ? Number.NaN : Number(match[1]) * (unitMs[match[2] ?? ""] ?? Number.NaN);
  if (!(value <= durationMaxMs)) {
    throw usage(`${what}: expected a duration such as 90s, 2h or 30d, at most 3650d, got ${JSON.stringify(text)}`);
  }
  return value;
}

/** Parses a share such as `1%` or `0.25%` to basis points. */
export function rate(text: string, what: string): number {
  const match = /^([0-9]{1,3}(?:\.[0-9]{1,2})?)%$/.exec(text);
  const value = match === null ? Number.NaN : Math.round(Number(match[1]) * 100);
  if (!(value <= 10_000)) {
    throw usage(`${what}: expected a share such as 1% or 0.25%, got ${JSON.stringify(text)}`);
  }
  return value;
}

/** Parses `key=value,key=value`. Each of the known keys may occur once. */
export function settings(text: string, what: string, known: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key = "", ...rest] = part.split("=");
    if (!known.includes(key) || rest.length !== 1 || rest[0] === "") {
      throw usage(`${what}: expected ${known.map((name) => `${name}=…`).join(", ")}, got ${JSON.stringify(part)}`);
    }
    if (found.has(key)) throw usage(`${what}: ${key} is given twice`);
    found.set(key, rest[0] ?? "");
  }
  return found;
}
