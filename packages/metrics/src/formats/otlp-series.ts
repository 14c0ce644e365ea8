/** Gathers points of OTLP metrics as series of remote write, within bounds. */
import type { Labels } from "./exposition.ts";
import type { WrittenSeries } from "./remote-write.ts";

export interface OtlpMetrics {
  readonly series: readonly WrittenSeries[];
  /** Points of kinds that are not taken. */
  readonly rejectedCount: number;
}

export interface Point {
  /** Attributes of the point as labels. */
  readonly labels: Labels;
  readonly atMs: number;
  readonly value: number;
  /** False: the point says that there is no value. */
  readonly isRecorded: boolean;
}

const LABELS_MAX = 64;
/** Points and attributes of a request. */
const PARTS_MAX = 1_000_000;
const SERIES_MAX = 100_000;

/** Names of Prometheus: other characters become `_`. */
const promText = (name: string): string => name.replaceAll(/[^A-Za-z0-9_:]/g, "_");

export const OtlpLimits = {
  /** Throws if there are too many. */
  setLabel(labels: Record<string, string>, key: string, text: string): void {
    const name = promText(key);
    // A label with the name of the metric would replace it.
    if (name === "" || name === "__name__") return;
    labels[name] = text;
    if (Object.keys(labels).length > LABELS_MAX) throw new RangeError("too many attributes");
  },
};

export class OtlpSeries {
  readonly #series: WrittenSeries[] = [];
  #resource: Labels = {};
  #parts = 0;
  #rejectedCount = 0;

  get taken(): OtlpMetrics {
    return { series: this.#series, rejectedCount: this.#rejectedCount };
  }

  /** Counts a point or an attribute. Throws if there are too many. */
  count(): void {
    if (++this.#parts > PARTS_MAX) throw new RangeError("too many points and attributes");
  }

  /** The resource of the metrics that follow. Its service is the job and the instance, as in Prometheus. */
  setResource(labels: Labels): void {
    const { service_name: name, service_namespace: namespace, service_instance_id: instance } = labels;
    this.#resource = {
      ...labels,
      ...(name === undefined ? {} : { job: namespace === undefined ? name : `${namespace}/${name}` }),
      ...(instance === undefined ? {} : { instance }),
    };
  }

  reject(count: number): void {
    this.#rejectedCount += count;
  }

  add(name: string, isCounter: boolean, points: readonly Point[]): void {
    const text = promText(name);
    const metric = isCounter && !text.endsWith("_total") ? `${text}_total` : text;
    for (const { labels, atMs, value, isRecorded } of points) {
      if (!isRecorded) continue;
      if (metric === "" || atMs <= 0 || Number.isNaN(value)) {
        this.#rejectedCount++;
        continue;
      }
      if (this.#series.length >= SERIES_MAX) throw new RangeError("too many points");
      this.#series.push({
        labels: { ...this.#resource, ...labels, __name__: metric },
        samples: [{ value, atMs }],
      });
    }
  }
}
