/**
 * Values that triggers are evaluated on, for 30 days, in `trigger-values.json` of the state directory: a trigger can ask that a value
 * holds for days, also over restarts. They are no part of the journal, because no decision reads them.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { triggerMeasures } from "@headroom/plan";
import type { TriggerMeasure } from "@headroom/plan";
import { z } from "zod";

const FILE = "trigger-values.json";
const HOUR_MS = 3_600_000;
/** The newest value replaces the one before it until this time has passed. */
const KEPT_EVERY_MS = 600_000;
const KEPT_MS = 30 * 24 * HOUR_MS;
/** Nobody looked for longer than this: the values before it say nothing about how long a value has held since. */
const GAP_MS = 2 * HOUR_MS;

const sample = z.strictObject({ atMs: z.number(), values: z.partialRecord(z.enum(triggerMeasures), z.number()) });
const file = z.strictObject({ samples: z.array(sample).max(2 * (KEPT_MS / KEPT_EVERY_MS)) });
type Sample = z.output<typeof sample>;

interface Point {
  readonly hour: number;
  readonly value: number;
}

export class TriggerValues {
  readonly #home: string;
  #samples: readonly Sample[];

  /** A file that cannot be read is an empty one: the values begin again, and active triggers go on until a value ends them. */
  constructor(home: string) {
    this.#home = home;
    this.#samples = samplesBefore(home);
  }

  get isEmpty(): boolean {
    return this.#samples.length === 0;
  }

  /** Takes the values of an instant. Later ones are dropped, because the clock was set back. Throws if they cannot be saved. */
  add(atMs: number, values: Partial<Record<TriggerMeasure, number>>): void {
    const past = this.#samples.filter((each) => each.atMs < atMs && each.atMs > atMs - KEPT_MS);
    const [before, newest] = past.slice(-2);
    const isReplaced = newest !== undefined && before !== undefined && newest.atMs - before.atMs < KEPT_EVERY_MS;
    this.#samples = [...(isReplaced ? past.slice(0, -1) : past), { atMs, values }];
    if (!isReplaced) this.#save();
  }

  /** Values of a measure, oldest first, since the last gap. */
  series(measure: TriggerMeasure): readonly Point[] {
    const points: Point[] = [];
    let beforeMs = Number.POSITIVE_INFINITY;
    for (const { atMs, values } of this.#samples.toReversed()) {
      if (beforeMs - atMs > GAP_MS && points.length > 0) break;
      const value = values[measure];
      if (value !== undefined) {
        points.push({ hour: atMs / HOUR_MS, value });
        beforeMs = atMs;
      }
    }
    return points.toReversed();
  }

  #save(): void {
    const target = path.join(this.#home, FILE);
    const draft = `${target}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ samples: this.#samples })}\n`, { mode: 0o600 });
    renameSync(draft, target);
  }
}

function samplesBefore(home: string): readonly Sample[] {
  try {
    return file.parse(JSON.parse(readFileSync(path.join(home, FILE), "utf8"))).samples;
  } catch {
    return [];
  }
}
