/** Reads the options of `headroom order`. */
import type { CapacityOrderPhase, OrderArrival, OrderPrice } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";

export interface ArrivalOptions {
  readonly leadTime?: string;
  readonly expected?: string;
}

export interface ShapeOptions {
  readonly accelerators?: string;
  readonly cores?: string;
  readonly memory?: string;
}

/** `5w..8w`, or one value that stands for both ends. */
function rangeOf<Value>(text: string, read: (end: string) => Value): readonly [Value, Value] {
  const [from = "", to = from, ...more] = text.split("..");
  if (more.length > 0) throw new CliError(`expected P50..P95, got ${text}`, exitCode.usage);
  return [read(from), read(to)];
}

export async function arrivalOf({ leadTime, expected }: ArrivalOptions): Promise<OrderArrival | undefined> {
  if (leadTime !== undefined && expected !== undefined)
    throw new CliError("--lead-time and --expected exclude each other", exitCode.usage);
  const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
  if (leadTime !== undefined) {
    const [p50Ms, p95Ms] = rangeOf(leadTime, (end) =>
      orUsage(readDuration(end, { min: 0, max: DURATION_MS_MAX }), "--lead-time"),
    );
    return { kind: "leadTime", p50Ms, p95Ms };
  }
  if (expected === undefined) return undefined;
  const [p50AtMs, p95AtMs] = rangeOf(expected, dateOf);
  return { kind: "dates", p50AtMs, p95AtMs };
}

/** A day (UTC), or an instant with its zone. */
function dateOf(text: string): number {
  const isKnown = /^\d{4}-\d\d-\d\d$/.test(text) || /(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const atMs = isKnown ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(atMs) && atMs >= 0) return atMs;
  throw new CliError(
    `--expected: expected a day (UTC) like 2027-01-15, or 2027-01-15T12:00Z, got ${text}`,
    exitCode.usage,
  );
}

type AmountReading = { readonly ok: true; readonly value: number } | { readonly ok: false; readonly message: string };

function orUsage(reading: AmountReading, option: string): number {
  if (reading.ok) return reading.value;
  throw new CliError(`${option}: ${reading.message}`, exitCode.usage);
}

/** The shape of a node; all of it, or nothing. */
export async function shapeOf({ accelerators, cores, memory }: ShapeOptions) {
  const given = [accelerators, cores, memory].filter((text) => text !== undefined).length;
  if (given === 0) return undefined;
  if (given < 3 || memory === undefined)
    throw new CliError("state --accelerators, --cores and --memory together, or none of them", exitCode.usage);
  const { limits, readMemory } = await import("@headroom/protocol");
  return {
    acceleratorCount: wholeNumber(accelerators ?? "", "--accelerators"),
    coresMilli: wholeNumber(cores ?? "", "--cores") * 1_000,
    memoryMib: orUsage(readMemory(memory, { min: 0, max: limits.MEMORY_MIB_MAX }), "--memory"),
  };
}

export function wholeNumber(text: string, option: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CliError(`${option}: expected a whole number, got ${text}`, exitCode.usage);
}

/** `2400000` is for the whole order, `2.10/h` per accelerator and hour. */
export function priceOf(text: string | undefined): OrderPrice | undefined {
  if (text === undefined) return undefined;
  const [, whole = "", fraction = "", hourly] = /^(\d{1,9})(?:\.(\d{1,6}))?(\/h)?$/.exec(text) ?? [];
  if (whole === "")
    throw new CliError(
      `--price: expected USD like 2400000, or 2.10/h per accelerator and hour, got ${text}`,
      exitCode.usage,
    );
  const microUsd = Number(whole) * 1_000_000 + Number(fraction.padEnd(6, "0"));
  return { microUsd, per: hourly === undefined ? "order" : "acceleratorHour" };
}

export function orderPhaseOf<Phase extends CapacityOrderPhase>(
  text: string | undefined,
  option: string,
  phases: readonly Phase[],
): Phase | undefined {
  if (text === undefined) return undefined;
  const found = phases.find((phase) => phase.toLowerCase() === text.toLowerCase().replace("-", ""));
  if (found !== undefined) return found;
  throw new CliError(
    `${option} must be one of ${phases.join(", ").replace("inService", "in-service")}, got ${text}`,
    exitCode.usage,
  );
}
