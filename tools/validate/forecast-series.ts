/** Series from CSV files with the columns time and value, one file for each series; the subfolder is the class. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { InputError } from "./input-error.ts";

export interface Series {
  readonly name: string;
  readonly class: string;
  readonly timesMs: readonly number[];
  readonly values: Float64Array;
  readonly stepMs: number;
}

/** Paths relative to the folder, in the order of their names. */
export function seriesFiles(folder: string): readonly string[] {
  const files = (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => file.endsWith(".csv"))
    .toSorted();
  if (files.length === 0) throw new InputError(`${folder} has no CSV files`);
  return files;
}

export function readSeries(folder: string, name: string): Series {
  const file = path.join(folder, name);
  const [header = "", ...rows] = readFileSync(file, "utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/);
  const names = header.split(",").map((each) => each.trim().toLowerCase());
  const [time, value] = [names.indexOf("time"), names.indexOf("value")];
  if (time < 0 || value < 0) throw new InputError(`${file}: the header must have the columns time and value`);
  const points = rows.flatMap((row, index) => {
    if (row.trim() === "") return [];
    const cells = row.split(",");
    const timeMs = timeOf(cells[time] ?? "");
    const number = Number((cells[value] ?? "").trim() || Number.NaN);
    if (Number.isNaN(timeMs))
      throw new InputError(`${file}, line ${index + 2}: ${JSON.stringify(cells[time])} is not a time`);
    return [{ timeMs, value: number }];
  });
  const last = { value: points.find((point) => Number.isFinite(point.value))?.value ?? 0 };
  // A missing value repeats the one before it.
  const values = Float64Array.from(
    points,
    (point) => (last.value = Number.isFinite(point.value) ? point.value : last.value),
  );
  if (values.length < 12) throw new InputError(`${file}: ${values.length} values are too few; 12 are needed`);
  const timesMs = points.map(({ timeMs }) => timeMs);
  const steps = timesMs.slice(1).map((timeMs, index) => timeMs - (timesMs[index] ?? 0));
  const stepMs = steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? 0;
  if (stepMs <= 0) throw new InputError(`${file}: times must rise`);
  const group = path.dirname(name);
  return { name: name.replace(/\.csv$/, ""), class: group === "." ? "all series" : group, timesMs, values, stepMs };
}

/** ISO 8601, without a zone as UTC; or seconds as a number. */
function timeOf(text: string): number {
  const time = text.trim().replace(" ", "T");
  if (/^-?\d+(?:\.\d+)?$/.test(time) && time.length !== 4) return Number(time) * 1000;
  return Date.parse(/T/.test(time) && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(time) ? `${time}Z` : time);
}
