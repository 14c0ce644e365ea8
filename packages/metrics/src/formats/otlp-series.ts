/** Gathers points of OTLP metrics as series of remote write, within bounds. */
import type { Labels } from "./exposition.ts";
import type { WrittenSeries } from "./remote-write.ts";

export interface OtlpMetrics {
  readonly series: readonly WrittenSeries[];
  /** Points of kinds that are not taken, without a value, or with two attributes of one label. */
  readonly rejectedCount: number;
}

export interface Point {
  readonly labels: OtlpLabels;
  readonly atMs: number;
  readonly value: number;
  /** False: the point says that there is no value. */
  readonly isRecorded: boolean;
}

const LABELS_MAX = 64;
/** Resources, scopes, metrics, points and attributes of a request. */
const PARTS_MAX = 1_000_000;
/** Labels of all series of a request: each series has those of its resource. */
const SERIES_LABELS_MAX = 2_000_000;
const SERIES_MAX = 100_000;

/** Names of Prometheus: other characters become `_`. */
const promText = (name: string): string => name.replaceAll(/[^A-Za-z0-9_:]/g, "_");

/** Attributes of a point or a resource as labels. */
export class OtlpLabels {
  readonly labels: Record<string, string> = {};
  #count = 0;
  #isAmbiguous = false;

  /** Whether two attributes have the same label: which one is meant is not known. */
  get isAmbiguous(): boolean {
    return this.#isAmbiguous;
  }

  get count(): number {
    return this.#count;
  }

  /** Throws if there are too many. */
  set(key: string, text: string): void {
    const name = promText(key);
    // A label with the name of the metric would replace it.
    if (name === "" || name === "__name__" || name === "__proto__") return;
    if (Object.hasOwn(this.labels, name)) this.#isAmbiguous = true;
    else if (++this.#count > LABELS_MAX) throw new RangeError("too many attributes");
    else this.labels[name] = text;
  }
}

export class OtlpSeries {
  readonly #series: WrittenSeries[] = [];
  /** Labels that only a resource can set. */
  readonly #identity: ReadonlySet<string>;
  #resource = new OtlpLabels();
  #parts = 0;
  #labelCount = 0;
  #rejectedCount = 0;

  /** `nodeLabel`: the label that names the node. */
  constructor(nodeLabel: string) {
    this.#identity = new Set([nodeLabel, "job", "instance"]);
  }

  get taken(): OtlpMetrics {
    return { series: this.#series, rejectedCount: this.#rejectedCount };
  }

  /** Counts a resource, scope, metric, point or attribute. Throws if there are too many. */
  count(): void {
    if (++this.#parts > PARTS_MAX) throw new RangeError("too many points and attributes");
  }

  /** The resource of the metrics that follow. Its service is the job and the instance, as in Prometheus. */
  setResource(resource: OtlpLabels): void {
    const { labels } = resource;
    const { service_name: name, service_namespace: namespace, service_instance_id: instance } = labels;
    if (name !== undefined) labels["job"] = namespace === undefined ? name : `${namespace}/${name}`;
    if (instance !== undefined) labels["instance"] = instance;
    this.#resource = resource;
  }

  reject(count: number): void {
    this.#rejectedCount += count;
  }

  add(name: string, isCounter: boolean, points: readonly Point[]): void {
    const text = promText(name);
    const metric = isCounter && !text.endsWith("_total") ? `${text}_total` : text;
    for (const { labels, atMs, value, isRecorded } of points) {
      if (!isRecorded) continue;
      const isAmbiguous = labels.isAmbiguous || this.#resource.isAmbiguous;
      if (isAmbiguous || metric === "" || atMs <= 0 || Number.isNaN(value)) {
        this.#rejectedCount++;
        continue;
      }
      this.#labelCount += labels.count + this.#resource.count;
      if (this.#series.length >= SERIES_MAX || this.#labelCount > SERIES_LABELS_MAX)
        throw new RangeError("too many points");
      this.#series.push({ labels: { ...this.#labelsOf(labels), __name__: metric }, samples: [{ value, atMs }] });
    }
  }

  /** A collector sets the attributes of a resource; those of a point are of the program that is measured, so they replace none. */
  #labelsOf({ labels }: OtlpLabels): Labels {
    const own = Object.entries(labels).filter(([name]) => !this.#identity.has(name));
    return { ...Object.fromEntries(own), ...this.#resource.labels };
  }
}
