/**
 * Means of the last hour or so of each value of nodes and accelerators, kept in memory for comparisons with peers: the plain mean during the
 * first hour, then a mean with weights that fall by e in an hour. Counters are kept as their growth in an hour. Values that depend on load, such
 * as temperatures, are averaged over the samples in which the accelerator works, without the first after each pause. After a start the means begin again.
 */
import { BUSY_MILLI_MIN, isCounter, isOfEvents, isUnderLoad } from "@headroom/health";
import type { SubjectSample } from "@headroom/views";

const SPAN_MS = 3_600_000;
/** Samples of a subject from which on its means count. */
const SAMPLES_MIN = 8;
/** Age in ms of the newest sample up to which a subject counts. */
const FRESH_MS = 600_000;
const SUBJECTS_MAX = 100_000;
const NAMES_MAX = 96;
const COMPARED = /^(?:accelerator|node):/;

/** Means by name, without a copy of them. */
type MeanValues = Pick<ReadonlyMap<string, number>, "get" | "keys">;

interface Mean {
  mean: number;
  last: number;
  samples: number;
  /** Time that the mean covers, without pauses. */
  coveredMs: number;
  atMs: number;
}

interface Means {
  readonly values: Map<string, Mean>;
  samples: number;
  newestMs: number;
  isBusy: boolean;
  /** The first sample after the last pause, in which values under load may still be rising. */
  resumedMs: number;
}

export class RecentMeans {
  readonly #subjects = new Map<string, Means>();

  add(samples: readonly SubjectSample[]): void {
    for (const { subject, atMs, values } of samples) {
      if (!COMPARED.test(subject)) continue;
      let own = this.#subjects.get(subject);
      if (own === undefined) {
        if (this.#subjects.size >= SUBJECTS_MAX) continue;
        own = { values: new Map(), samples: 0, newestMs: 0, isBusy: true, resumedMs: Number.NEGATIVE_INFINITY };
        this.#subjects.set(subject, own);
      }
      own.samples++;
      own.newestMs = Math.max(own.newestMs, atMs);
      const busyMilli = values["busyMilli"];
      if (busyMilli !== undefined) {
        const isBusy = busyMilli >= BUSY_MILLI_MIN;
        if (isBusy && !own.isBusy) own.resumedMs = atMs;
        own.isBusy = isBusy;
      }
      const isWorking = own.isBusy && atMs > own.resumedMs;
      for (const name in values)
        if (isWorking || !isUnderLoad(name)) this.#addValue(own, name, { value: values[name] ?? Number.NaN, atMs });
    }
  }

  /** Subjects with enough samples, the newest of which is recent. */
  *fresh(nowMs: number): Generator<{ readonly subject: string; readonly values: MeanValues }> {
    for (const [subject, { values, samples, newestMs }] of this.#subjects)
      if (samples >= SAMPLES_MIN && nowMs - newestMs <= FRESH_MS)
        yield {
          subject,
          values: { keys: () => values.keys(), get: (name) => meanOf(values.get(name), name, newestMs) },
        };
  }

  /** Forgets subjects without a sample for two spans. */
  trim(nowMs: number): void {
    for (const [subject, { newestMs }] of this.#subjects)
      if (nowMs - newestMs > 2 * SPAN_MS) this.#subjects.delete(subject);
  }

  #addValue(
    { values, resumedMs }: Means,
    name: string,
    { value, atMs }: { readonly value: number; readonly atMs: number },
  ): void {
    if (!Number.isFinite(value)) return;
    const known = values.get(name);
    const ofEvents = isOfEvents(name);
    if (known === undefined) {
      if (values.size < NAMES_MAX)
        values.set(name, { mean: ofEvents ? 0 : value, last: value, samples: 1, coveredMs: 0, atMs });
      return;
    }
    // The first value after a pause stands for no more time than the others, or it would decide the mean.
    const passedMs = atMs - (isUnderLoad(name) ? Math.max(known.atMs, resumedMs) : known.atMs);
    if (passedMs <= 0) return;
    known.coveredMs += passedMs;
    // A counter that fell began again.
    const figure = isCounter(name) ? (Math.max(0, value - known.last) * SPAN_MS) / passedMs : value;
    const lasting = 1 - Math.exp(-passedMs / SPAN_MS);
    // One event in the first minutes is one in an hour, not thirty: what counts events had none before its first sample.
    const weight = ofEvents ? lasting : Math.max(lasting, passedMs / (known.coveredMs + passedMs));
    known.mean += weight * (figure - known.mean);
    known.last = value;
    known.samples++;
    known.atMs = atMs;
  }
}

/** An accelerator that has hardly worked, or not in the last hour, has no value under load. */
function meanOf(value: Mean | undefined, name: string, newestMs: number): number | undefined {
  if (value === undefined || !isUnderLoad(name)) return value?.mean;
  return value.samples >= SAMPLES_MIN && newestMs - value.atMs <= SPAN_MS ? value.mean : undefined;
}
