/** Parses quantities in options of `size`: counts with a suffix, bytes with a unit, plain decimals. */
import { CliError, exitCode } from "../cli-error.ts";
import { duration } from "../simulate/amount-options.ts";

const countUnits: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 };
const byteUnits: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  PiB: 2 ** 50,
};

function scaled(text: string, units: Readonly<Record<string, number>>): number {
  const match = /^([0-9]{1,15}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?) ?([A-Za-z]*)$/.exec(text);
  if (match === null) return Number.NaN;
  return Number(match[1]) * (units[match[2] ?? ""] ?? Number.NaN);
}

/** `8.03B`, `15T`, `512`. */
export function quantity(text: string, what: string): number {
  const value = scaled(text, countUnits);
  if (value > 0) return value;
  throw new CliError(
    `${what}: expected a number such as 512, 8.03B or 15T, got ${JSON.stringify(text)}`,
    exitCode.usage,
  );
}

/** `105GiB`, `20GB`, `146600628`. */
export function byteQuantity(text: string, what: string): number {
  const value = scaled(text, byteUnits);
  if (value > 0) return value;
  throw new CliError(`${what}: expected bytes such as 105GiB or 20GB, got ${JSON.stringify(text)}`, exitCode.usage);
}

/** `0.323`, `50`: a positive number. */
export function positive(text: string, what: string): number {
  const value = scaled(text, { "": 1 });
  if (value > 0) return value;
  throw new CliError(`${what}: expected a positive number, got ${JSON.stringify(text)}`, exitCode.usage);
}

/** A positive duration in milliseconds. */
export function positiveDuration(text: string, what: string): number {
  const ms = duration(text, what);
  if (ms > 0) return ms;
  throw new CliError(`${what}: expected a duration above 0, got ${JSON.stringify(text)}`, exitCode.usage);
}

/** The parsed option, or its default. */
export function given<Value, Default>(
  text: string | undefined,
  read: (text: string) => Value,
  otherwise: Default,
): Value | Default {
  return text === undefined ? otherwise : read(text);
}

/** Formats an amount with three significant digits. */
export function significant(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let index = 0;
  let value = bytes;
  while (value >= 1000 && index < units.length - 1) {
    value /= 1000;
    index += 1;
  }
  return `${significant(value)} ${units[index] ?? ""}`;
}

export function percentText(share: number): string {
  return `${significant(share * 100)}%`;
}
