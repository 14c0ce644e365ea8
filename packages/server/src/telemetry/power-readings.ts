/**
 * Measured power of accelerators from the telemetry store, for reports of energy. The file is only read, whether a control plane uses
 * it or not; readings of the last minutes may not be written yet.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PowerMeter } from "@headroom/usage";
import type { PowerPoint } from "@headroom/usage";
import { acceleratorSubject } from "@headroom/views";
import { storedSeries } from "./series-rows.ts";

/** Accelerators whose readings are kept: a report of a range asks for the same ones in every hour. */
const KEPT_MAX = 20_000;
const POWER = "powerMilliwatts";

export interface MeasuredPowerSource {
  /** `null`: there is no telemetry store that can be read. */
  readonly meter: PowerMeter | null;
  /** `null`: there is none. */
  readonly problem: string | null;
  close(): void;
}

/** `fromMs`: earlier readings are left out. */
export function openPowerReadings(home: string, fromMs: number): MeasuredPowerSource {
  const file = path.join(home, "telemetry.db");
  const nothing = { meter: null, close: () => undefined };
  if (!existsSync(file)) return { ...nothing, problem: null };
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    const find = database.prepare("SELECT series, packed FROM series WHERE subject = ?");
    const kept = new Map<string, readonly PowerPoint[] | null>();
    const meter = new PowerMeter((node, index) => {
      const subject = acceleratorSubject(node, index);
      const known = kept.get(subject);
      if (known !== undefined) return known;
      const row = find.get(subject);
      const points = row === undefined ? null : pointsIn(storedSeries(row), fromMs);
      if (kept.size < KEPT_MAX) kept.set(subject, points);
      return points;
    });
    return { meter, problem: null, close: () => database.close() };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { ...nothing, problem: `telemetry.db cannot be read, so that energy is not measured: ${problem}` };
  }
}

/** Oldest first. Readings after the clock was set back are left out until it has passed the newest one: their time is covered. */
function pointsIn(series: ReturnType<typeof storedSeries>, fromMs: number): readonly PowerPoint[] {
  const column = series.names.indexOf(POWER);
  if (column === -1) return [];
  let newestMs = Number.NEGATIVE_INFINITY;
  return series.points().flatMap(({ atMs, count, values }) => {
    const milliwatts = values[column] ?? null;
    if (milliwatts === null || atMs < fromMs || atMs <= newestMs) return [];
    newestMs = atMs;
    return [{ atMs, readings: count, milliwatts }];
  });
}
