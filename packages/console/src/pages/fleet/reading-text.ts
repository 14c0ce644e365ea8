/** Readings of accelerators as text; `–` stands for a value that the tool does not report. */
import type { AcceleratorReading, NodeReadings } from "@headroom/protocol";
import { memoryText, plural } from "@headroom/views";

type Values = Pick<
  AcceleratorReading,
  "busyMilli" | "memoryUsedMib" | "memoryTotalMib" | "temperatureC" | "powerMilliwatts" | "errorCount"
>;

export const utilizationText = ({ busyMilli }: Pick<Values, "busyMilli">): string =>
  busyMilli === null ? "–" : `${Math.round(busyMilli / 10)}%`;

/** An amount of memory such as `61 of 80 GiB`. The unit is written once if both amounts have the same unit. */
export function memoryUseText({ memoryUsedMib, memoryTotalMib }: Values): string {
  if (memoryUsedMib === null) return "–";
  const used = memoryText(Math.round(memoryUsedMib));
  return memoryTotalMib === null ? used : `${used} of ${memoryText(Math.round(memoryTotalMib))}`;
}

export const temperatureText = ({ temperatureC }: Values): string =>
  temperatureC === null ? "–" : `${Math.round(temperatureC)} °C`;

export const powerText = ({ powerMilliwatts }: Values): string =>
  powerMilliwatts === null ? "–" : `${Math.round(powerMilliwatts / 1000)} W`;

export const errorsText = ({ errorCount }: Values): string =>
  errorCount === null ? "–" : String(Math.round(errorCount));

/** Readings such as `97% busy, 61 GiB of 80 GiB, 65 °C, 640 W`. Unknown values are left out. */
export function readingSentence(reading: AcceleratorReading): string {
  const parts = [
    reading.busyMilli === null ? "" : `${utilizationText(reading)} busy`,
    reading.memoryUsedMib === null ? "" : memoryUseText(reading),
    reading.temperatureC === null ? "" : temperatureText(reading),
    reading.powerMilliwatts === null ? "" : powerText(reading),
    (reading.errorCount ?? 0) === 0 ? "" : plural(Math.round(reading.errorCount ?? 0), "memory error"),
    reading.fault === null ? "" : `fault: ${reading.fault}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "no telemetry" : parts.join(", ");
}

/** A node's readings in one cell of a table, such as `94% busy, 67 °C at most`. */
export function nodeReadingText(read: NodeReadings | undefined): string {
  if (read === undefined || read.atMs === null || read.source === null) return "–";
  if (read.problem !== null) return read.problem;
  const busy = read.accelerators.flatMap(({ busyMilli }) => busyMilli ?? []);
  const hottest = Math.max(...read.accelerators.flatMap(({ temperatureC }) => temperatureC ?? []));
  const errors = read.accelerators.reduce((sum, { errorCount }) => sum + (errorCount ?? 0), 0);
  const faulty = read.accelerators.filter(({ fault }) => fault !== null).length;
  const parts = [
    busy.length === 0 ? "" : `${Math.round(busy.reduce((sum, milli) => sum + milli, 0) / busy.length / 10)}% busy`,
    Number.isFinite(hottest) ? `${Math.round(hottest)} °C` : "",
    errors === 0 ? "" : plural(Math.round(errors), "memory error"),
    faulty === 0 ? "" : `${faulty} faulty`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "–" : parts.join(", ");
}
