/** Values of the subjects of one target, from one reading after the other. */
import { readExposition } from "../formats/exposition.ts";
import type { ExpositionOutcome, Labels } from "../formats/exposition.ts";
import { matches } from "./rules.ts";
import type { MappedValue, Mapping, MappingRule } from "./rules.ts";

/** Label of dcgm-exporter with the index of the accelerator on its node. */
const ACCELERATOR_LABEL = "gpu";
/** Subjects of one target: the accelerators of a node, the node and a replica. */
const SUBJECTS_MAX = 1_026;

interface Part {
  readonly rule: MappingRule;
  readonly value: MappedValue;
  readonly column: number;
}

/** The rules of all mappings by metric. Shared by all targets. */
export class MappingIndex {
  readonly values: readonly MappedValue[];
  readonly #parts = new Map<string, Part[]>();

  constructor(mappings: readonly Mapping[]) {
    const values: MappedValue[] = [];
    for (const mapping of mappings) {
      const columns = new Map<string, number>();
      for (const value of mapping.values) columns.set(value.name, values.push(value) - 1);
      for (const rule of mapping.rules) {
        const column = columns.get(rule.value);
        const value = column === undefined ? undefined : values[column];
        if (column === undefined || value === undefined) continue;
        const parts = this.#parts.get(rule.metric) ?? [];
        parts.push({ rule, value, column });
        this.#parts.set(rule.metric, parts);
      }
    }
    this.values = values;
  }

  parts(metric: string): readonly Part[] | undefined {
    return this.#parts.get(metric);
  }
}

/** A subject within a target. `index`: of the accelerator; "" for the node and the replica. */
export interface LocalSubject {
  readonly kind: MappedValue["subject"];
  readonly index: string;
}

export interface MappedSample {
  readonly subject: LocalSubject;
  readonly values: Readonly<Record<string, number>>;
}

interface Sums {
  readonly subject: LocalSubject;
  /** For each column: the combined parts, their number, the divisor. */
  readonly cells: Float64Array;
}

const CELLS = 3;

export class MappedReading {
  readonly #index: MappingIndex;
  /** Sums of the reading before, for rates. */
  #before = new Map<string, Sums>();
  #beforeMs = 0;
  #now = new Map<string, Sums>();

  constructor(index: MappingIndex) {
    this.#index = index;
  }

  /** Reads a text of the exposition format. */
  readText(text: string): ExpositionOutcome {
    return readExposition(text, {
      wanted: (metric) => this.#index.parts(metric),
      sample: (parts, labels, value) => this.#add(parts, labels, value),
    });
  }

  /** Adds one sample that did not come as text. False: no rule has the metric. */
  add(metric: string, labels: Labels, value: number): boolean {
    const parts = this.#index.parts(metric);
    if (parts !== undefined) this.#add(parts, labels, value);
    return parts !== undefined;
  }

  /** Ends the reading. Rates are missing from the first one. */
  take(atMs: number): readonly MappedSample[] {
    const elapsedS = this.#beforeMs === 0 ? 0 : (atMs - this.#beforeMs) / 1_000;
    const samples: MappedSample[] = [];
    for (const [key, sums] of this.#now) {
      const values = this.#valuesOf(sums.cells, this.#before.get(key)?.cells, elapsedS);
      if (values !== null) samples.push({ subject: sums.subject, values });
    }
    this.#before = this.#now;
    this.#beforeMs = atMs;
    this.#now = new Map();
    return samples;
  }

  /** Forgets a reading that failed halfway. */
  discard(): void {
    this.#now = new Map();
  }

  #add(parts: readonly Part[], labels: Labels, value: number): void {
    if (!Number.isFinite(value)) return;
    for (const { rule, value: mapped, column } of parts) {
      if (!matches(rule, labels)) continue;
      const index = mapped.subject === "accelerator" ? labels[ACCELERATOR_LABEL] : "";
      if (index === undefined || (mapped.subject === "accelerator" && !/^\d{1,4}$/.test(index))) continue;
      const cells = this.#cellsOf(mapped.subject, index);
      if (cells === null) continue;
      const at = column * CELLS;
      const part = value * (rule.part ?? 1);
      const [old = 0, count = 0] = [cells[at], cells[at + 1]];
      if (rule.isDivisor === true) cells[at + 2]! += part;
      else {
        cells[at] =
          mapped.combine === "last" || count === 0 ? part : mapped.combine === "max" ? Math.max(old, part) : old + part;
        cells[at + 1] = count + 1;
      }
    }
  }

  #cellsOf(kind: LocalSubject["kind"], index: string): Float64Array | null {
    const key = `${kind} ${index}`;
    const known = this.#now.get(key);
    if (known !== undefined) return known.cells;
    if (this.#now.size >= SUBJECTS_MAX) return null;
    const subject = this.#before.get(key)?.subject ?? { kind, index };
    const cells = new Float64Array(this.#index.values.length * CELLS);
    this.#now.set(key, { subject, cells });
    return cells;
  }

  #valuesOf(now: Float64Array, before: Float64Array | undefined, elapsedS: number): MappedSample["values"] | null {
    const values: Record<string, number> = {};
    let isEmpty = true;
    for (const [column, value] of this.#index.values.entries()) {
      const at = column * CELLS;
      const count = now[at + 1] ?? 0;
      if (count === 0) continue;
      const combined = value.isRate ? increase(now, before, at, elapsedS) : (now[at] ?? 0);
      if (combined === null) continue;
      const mean = value.combine === "mean" ? combined / count : combined;
      values[value.name] = value.offset + value.factor * mean;
      isEmpty = false;
    }
    return isEmpty ? null : values;
  }
}

/** Increase of a counter for each second, or for each unit of its divisor. `null`: it is not known. */
function increase(now: Float64Array, before: Float64Array | undefined, at: number, elapsedS: number): number | null {
  const parts = before?.[at + 1] ?? 0;
  // If a part came or went, the two sums are not of the same counters.
  if (before === undefined || parts === 0 || parts !== now[at + 1] || elapsedS <= 0) return null;
  const grown = (cell: number): number | null => {
    const [new_ = 0, old = 0] = [now[cell], before[cell]];
    if (new_ >= old) return new_ - old;
    // One counter that went back counts from zero; which of several did is not known.
    return parts === 1 ? new_ : null;
  };
  const amount = grown(at);
  if (amount === null || (now[at + 2] ?? 0) === 0) return amount === null ? null : amount / elapsedS;
  const units = grown(at + 2);
  return units === null || units === 0 ? null : amount / units;
}
