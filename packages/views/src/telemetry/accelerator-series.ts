/** The readings of one accelerator over time, rolled up by age in the same way as reports of attempts. */
import type { AcceleratorHistory, AcceleratorReading } from "@headroom/protocol";
import { Series, pointsBetween } from "./series.ts";
import type { StoredSeries } from "./series.ts";
import type { MetricsRange } from "./attempt-series.ts";

/** The values of one accelerator at one time. */
export type ReadingValues = Omit<AcceleratorReading, "index" | "fault">;

const names = [
  "busyMilli",
  "memoryUsedMib",
  "memoryTotalMib",
  "temperatureC",
  "powerMilliwatts",
  "errorCount",
] as const satisfies readonly (keyof ReadingValues)[];

export class AcceleratorSeries {
  readonly #series: Series;

  constructor(stored?: StoredSeries) {
    this.#series = new Series(stored);
  }

  /** Throws an error if `toText` did not write the text. */
  static fromText(text: string): AcceleratorSeries {
    return new AcceleratorSeries(JSON.parse(text) as StoredSeries);
  }

  add(atMs: number, values: ReadingValues): void {
    const known = names.flatMap((name) => (values[name] === null ? [] : [[name, values[name]] as const]));
    this.#series.add(atMs, 0, Object.fromEntries(known));
  }

  toText(): string {
    return JSON.stringify(this.#series.stored());
  }

  view(index: number, { fromMs, toMs, points: max }: MetricsRange): AcceleratorHistory {
    const columns = names.map((name) => [name, this.#series.names.indexOf(name)] as const);
    return {
      index,
      points: pointsBetween(this.#series, { fromMs, toMs, max }).map(({ atMs, count, values }) => {
        const read = columns.map(([name, column]) => [name, rounded(values[column] ?? null)] as const);
        return { atMs, readings: count, ...(Object.fromEntries(read) as unknown as ReadingValues) };
      }),
    };
  }
}

const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value * 10) / 10);
