/**
 * Fields as `nvidia-smi --help-query-gpu` lists them. Columns are found by the titles in the header, so that output of
 * a release with fewer or more columns can still be read.
 */
import { DEVICES_MAX, deviceReading } from "./reading.ts";
import type { Column, DeviceReading } from "./reading.ts";

const MILLI = 1000;
const PERCENT = 10;

const COLUMNS: Readonly<Record<string, Column>> = {
  "utilization.gpu": { name: "busyMilli", factor: PERCENT },
  "memory.used": { name: "memoryUsedMib", factor: 1 },
  "memory.total": { name: "memoryTotalMib", factor: 1 },
  "temperature.gpu": { name: "temperatureC", factor: 1 },
  "power.draw": { name: "powerMilliwatts", factor: MILLI },
  "ecc.errors.uncorrected.volatile.total": { name: "errorCount", factor: 1 },
};

export const nvidiaSmiArguments: readonly string[] = [
  `--query-gpu=index,${Object.keys(COLUMNS).join(",")}`,
  "--format=csv,nounits",
];

/**
 * The output is a header such as `index, utilization.gpu [%], …`, then one line for each card. Other lines are skipped.
 */
export function parseNvidiaReadings(text: string): readonly DeviceReading[] {
  let titles: readonly string[] | null = null;
  const found = new Map<number, DeviceReading>();
  for (const line of text.split("\n")) {
    const cells = line.split(",").map((cell) => cell.trim());
    if (titles === null) {
      if (cells[0] === "index") titles = cells.map((cell) => cell.replace(/ \[.*\]$/, ""));
      continue;
    }
    const index = /^\d{1,4}$/.test(cells[0] ?? "") ? Number(cells[0]) : null;
    if (index === null || cells.length !== titles.length || found.has(index) || found.size >= DEVICES_MAX) continue;
    const known = titles.flatMap((title, position) => {
      const column = COLUMNS[title];
      return column === undefined ? [] : [{ column, title, text: cells[position] ?? "" }];
    });
    found.set(index, deviceReading(index, known));
  }
  return [...found.values()];
}
