/**
 * Reads `rocm-smi --json`, which prints one object for each card. The names of its fields differ from release to
 * release. It contains no memory errors.
 */
import { z } from "zod";
import { DEVICES_MAX, deviceReading } from "./reading.ts";
import type { Column, DeviceReading } from "./reading.ts";

const MILLI = 1000;
const PERCENT = 10;
const MIB_OF_BYTE = 1 / (1024 * 1024);

/**
 * Possible names of the temperature field. The first one that has a value is used: the junction is the hottest place of
 * a card; older cards have only the edge.
 */
const FIELDS: readonly { readonly title: RegExp; readonly column: Column }[] = [
  { title: /^gpu use \(%\)$/i, column: { name: "busyMilli", factor: PERCENT } },
  { title: /^vram total used memory \(b\)$/i, column: { name: "memoryUsedMib", factor: MIB_OF_BYTE } },
  { title: /^vram total memory \(b\)$/i, column: { name: "memoryTotalMib", factor: MIB_OF_BYTE } },
  { title: /^temperature \(sensor junction\) \(c\)$/i, column: { name: "temperatureC", factor: 1 } },
  { title: /^temperature \(sensor edge\) \(c\)$/i, column: { name: "temperatureC", factor: 1 } },
  {
    title: /^(?:current socket|average) graphics package power \(w\)$/i,
    column: { name: "powerMilliwatts", factor: MILLI },
  },
];

export const rocmSmiArguments: readonly string[] = [
  "--showuse",
  "--showmeminfo",
  "vram",
  "--showtemp",
  "--showpower",
  "--json",
];

const answer = z.record(z.string(), z.record(z.string(), z.unknown()));

/** Warnings can stand before and after the JSON. */
export function parseRocmReadings(text: string): readonly DeviceReading[] {
  const parsed = answer.safeParse(jsonOf(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)));
  if (!parsed.success) return [];
  const cards = Object.entries(parsed.data).flatMap(([key, fields]) => {
    const index = /^card(\d{1,4})$/.exec(key)?.[1];
    return index === undefined ? [] : [{ index: Number(index), fields: Object.entries(fields) }];
  });
  const readings = cards.slice(0, DEVICES_MAX).map(({ index, fields }) => {
    const known = FIELDS.flatMap(({ title, column }) =>
      fields.flatMap(([name, value]) =>
        title.test(name) && (typeof value === "string" || typeof value === "number")
          ? [{ column, title: name, text: String(value) }]
          : [],
      ),
    );
    return deviceReading(index, known);
  });
  return readings.toSorted((a, b) => a.deviceIndex - b.deviceIndex);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
