/**
 * Samples that a Prometheus writes, as readings of nodes. All samples of one scrape have one time, but come in several requests:
 * a reading ends when nothing has come for it for some seconds.
 */
import { MappedReading } from "@headroom/metrics";
import type { MappingIndex, WrittenSeries } from "@headroom/metrics";
import { acceleratorSubject } from "@headroom/views";
import type { SubjectSample } from "@headroom/views";
import { nodeNamed } from "./query-samples.ts";

/** Time in ms after the first sample of a reading, after which the reading ends. */
const SETTLE_MS = 2_000;
/** Readings of one target that are open at once. Later ones end the oldest. */
const OPEN_MAX = 4;
/** Targets whose last reading is kept for rates. */
const TARGETS_MAX = 40_000;
/** A sample older than this, in ms, is not taken: the store rolls up in the order of time. */
const AGE_MAX_MS = 600_000;

interface Open {
  readonly sinceMs: number;
  readonly samples: { readonly metric: string; readonly labels: WrittenSeries["labels"]; readonly value: number }[];
}

interface WrittenTarget {
  readonly node: string;
  readonly reading: MappedReading;
  readonly open: Map<number, Open>;
  takenMs: number;
}

export interface NodeSamples {
  readonly node: string;
  readonly samples: readonly SubjectSample[];
}

export interface WriteOutcome {
  readonly sampleCount: number;
  /** Samples that a rule maps and whose label names a node. */
  readonly takenCount: number;
  /** Points of OTLP of kinds that are not taken. Absent: a remote write. */
  readonly rejectedCount?: number;
}

export class WrittenReadings {
  readonly #index: MappingIndex;
  readonly #label: string;
  readonly #targets = new Map<string, WrittenTarget>();
  #forgottenMs = 0;

  constructor(index: MappingIndex, label: string) {
    this.#index = index;
    this.#label = label;
  }

  add(series: readonly WrittenSeries[], nodes: ReadonlySet<string>, nowMs: number): WriteOutcome {
    let [sampleCount, takenCount] = [0, 0];
    for (const { labels, samples } of series) {
      sampleCount += samples.length;
      const metric = labels["__name__"] ?? "";
      if (this.#index.parts(metric) === undefined) continue;
      const node = nodeNamed(labels[this.#label] ?? "", nodes);
      const target = node === null ? null : this.#target(node, labels, nowMs);
      if (target === null) continue;
      for (const { value, atMs } of samples) {
        if (atMs <= target.takenMs || atMs < nowMs - AGE_MAX_MS || atMs > nowMs + AGE_MAX_MS) continue;
        const known = target.open.get(atMs) ?? { sinceMs: nowMs, samples: [] };
        target.open.set(atMs, known);
        known.samples.push({ metric, labels, value });
        takenCount++;
      }
    }
    return { sampleCount, takenCount };
  }

  /** Ends the readings that are complete. */
  take(nowMs: number): readonly NodeSamples[] {
    const taken: NodeSamples[] = [];
    for (const target of this.#targets.values()) {
      if (target.open.size === 0) continue;
      const times = [...target.open.keys()].toSorted((left, right) => left - right);
      for (const [position, atMs] of times.entries()) {
        const open = target.open.get(atMs);
        const isFull = times.length - position > OPEN_MAX;
        if (open === undefined || (!isFull && nowMs - open.sinceMs < SETTLE_MS)) break;
        target.open.delete(atMs);
        target.takenMs = atMs;
        for (const { metric, labels, value } of open.samples) target.reading.add(metric, labels, value);
        const samples: SubjectSample[] = [];
        for (const { subject, values } of target.reading.take(atMs)) {
          if (subject.kind === "replica") continue;
          const name =
            subject.kind === "node" ? `node:${target.node}` : acceleratorSubject(target.node, Number(subject.index));
          samples.push({ subject: name, atMs, values });
        }
        taken.push({ node: target.node, samples });
      }
    }
    return taken;
  }

  #target(node: string, { job = "", instance = "" }: WrittenSeries["labels"], nowMs: number): WrittenTarget | null {
    const key = JSON.stringify([node, job, instance]);
    const known = this.#targets.get(key);
    if (known !== undefined) return known;
    if (this.#targets.size >= TARGETS_MAX) this.#forget(nowMs);
    if (this.#targets.size >= TARGETS_MAX) return null;
    const target = { node, reading: new MappedReading(this.#index), open: new Map<number, Open>(), takenMs: 0 };
    this.#targets.set(key, target);
    return target;
  }

  /** Forgets targets that write nothing any more, such as those of nodes that left: at most once in a while. */
  #forget(nowMs: number): void {
    if (Math.abs(nowMs - this.#forgottenMs) < SETTLE_MS) return;
    this.#forgottenMs = nowMs;
    for (const [key, { open, takenMs }] of this.#targets)
      if (open.size === 0 && takenMs < nowMs - AGE_MAX_MS) this.#targets.delete(key);
  }
}
