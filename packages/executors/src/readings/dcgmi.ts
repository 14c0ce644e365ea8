/**
 * `dcgmi dmon` prints columns in the order of the requested fields. The numbers of the fields are those of DCGM's API
 * reference, "Field Identifiers". The share of time in which the graphics engine is active (1001) is also known for a
 * card that MIG divides.
 */
import { DEVICES_MAX, deviceReading } from "./reading.ts";
import type { Column, DeviceReading } from "./reading.ts";

const MILLI = 1000;
const PERCENT = 10;

const FIELDS: readonly { readonly id: number; readonly title: string; readonly column: Column }[] = [
  { id: 203, title: "DCGM_FI_DEV_GPU_UTIL", column: { name: "busyMilli", factor: PERCENT } },
  { id: 252, title: "DCGM_FI_DEV_FB_USED", column: { name: "memoryUsedMib", factor: 1 } },
  { id: 250, title: "DCGM_FI_DEV_FB_TOTAL", column: { name: "memoryTotalMib", factor: 1 } },
  { id: 150, title: "DCGM_FI_DEV_GPU_TEMP", column: { name: "temperatureC", factor: 1 } },
  { id: 155, title: "DCGM_FI_DEV_POWER_USAGE", column: { name: "powerMilliwatts", factor: MILLI } },
  { id: 311, title: "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", column: { name: "errorCount", factor: 1 } },
  { id: 1001, title: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", column: { name: "busyMilli", factor: MILLI } },
];

export const dcgmiArguments: readonly string[] = ["dmon", "-e", FIELDS.map(({ id }) => id).join(","), "-c", "1"];

/** Rows such as `GPU 0 37 1024 81559 41 120.5 0 0.372`, with `N/A` for a missing value. */
export function parseDcgmiReadings(text: string): readonly DeviceReading[] {
  const found = new Map<number, DeviceReading>();
  for (const line of text.split("\n")) {
    const match = /^\s*GPU (\d{1,4})\s+(\S.*?)\s*$/.exec(line);
    const cells = match?.[2]?.split(/\s+/) ?? [];
    if (match === null || cells.length !== FIELDS.length || found.size >= DEVICES_MAX) continue;
    const index = Number(match[1]);
    if (found.has(index)) continue;
    const known = FIELDS.map(({ title, column }, position) => ({ column, title, text: cells[position] ?? "" }));
    found.set(index, deviceReading(index, known));
  }
  return [...found.values()];
}
