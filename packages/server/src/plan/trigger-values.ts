/**
 * Values that triggers are evaluated on, for 30 days, in `trigger-values.json` of the state directory: a trigger can ask that a value
 * holds for days, also over restarts. A slot of ten minutes keeps its least, largest and last value, so that no short dip is
 * forgotten. They are no part of the journal, because no decision reads them.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { triggerMeasures } from "@headroom/plan";
import type { TriggerMeasure } from "@headroom/plan";
import { z } from "zod";
import type { DriverLog } from "../driver/driver-log.ts";

const FILE = "trigger-values.json";
const HOUR_MS = 3_600_000;
const SLOT_MS = 600_000;
const KEPT_MS = 30 * 24 * HOUR_MS;
/** Nobody looked for longer than this: the values before it say nothing about how long a value has held since. */
const GAP_MS = 2 * HOUR_MS;

const range = z.strictObject({ min: z.number(), max: z.number(), last: z.number() });
const slot = z.strictObject({
  fromMs: z.number(),
  toMs: z.number(),
  values: z.partialRecord(z.enum(triggerMeasures), range),
});
const file = z.strictObject({ slots: z.array(slot).max(2 * (KEPT_MS / SLOT_MS)) });
type Slot = z.output<typeof slot>;

interface Point {
  readonly hour: number;
  readonly value: number;
}

export class TriggerValues {
  readonly #home: string;
  #slots: readonly Slot[];

  /** A file that cannot be read is put aside: the values begin again, and active triggers go on until a value ends them. */
  constructor(home: string, log: Pick<DriverLog, "warn">) {
    this.#home = home;
    this.#slots = slotsBefore(path.join(home, FILE), log);
  }

  get isEmpty(): boolean {
    return this.#slots.length === 0;
  }

  /** Takes the values of an instant. Later ones are dropped, because the clock was set back. Throws if they cannot be saved. */
  add(atMs: number, values: Partial<Record<TriggerMeasure, number>>): void {
    const past = this.#slots.filter(({ fromMs, toMs }) => fromMs <= atMs && toMs <= atMs && toMs > atMs - KEPT_MS);
    const newest = past.at(-1);
    const isSame = newest !== undefined && Math.floor(newest.fromMs / SLOT_MS) === Math.floor(atMs / SLOT_MS);
    const before = isSame ? newest.values : {};
    const merged: Slot["values"] = { ...before };
    for (const measure of triggerMeasures) {
      const value = values[measure];
      if (value === undefined) continue;
      const known = before[measure] ?? { min: value, max: value };
      merged[measure] = { min: Math.min(known.min, value), max: Math.max(known.max, value), last: value };
    }
    const own = { fromMs: isSame ? newest.fromMs : atMs, toMs: atMs, values: merged };
    this.#slots = [...(isSame ? past.slice(0, -1) : past), own];
    if (!isSame) this.#save();
  }

  /** Values of a measure, oldest first, since the last gap. */
  series(measure: TriggerMeasure): readonly Point[] {
    const found: Slot[] = [];
    for (const each of this.#slots.toReversed()) {
      if (each.values[measure] === undefined) continue;
      if (found.length > 0 && found.at(-1)!.fromMs - each.toMs > GAP_MS) break;
      found.push(each);
    }
    return found.toReversed().flatMap(({ fromMs, toMs, values }) => {
      const { min, max, last } = values[measure]!;
      const end = toMs / HOUR_MS;
      const own = [
        { hour: fromMs / HOUR_MS, value: min },
        { hour: end, value: max },
        { hour: end, value: last },
      ];
      return min === max ? own.slice(-1) : own;
    });
  }

  #save(): void {
    const target = path.join(this.#home, FILE);
    const draft = `${target}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ slots: this.#slots })}\n`, { mode: 0o600 });
    renameSync(draft, target);
  }
}

function slotsBefore(target: string, log: Pick<DriverLog, "warn">): readonly Slot[] {
  if (!existsSync(target)) return [];
  try {
    return file.parse(JSON.parse(readFileSync(target, "utf8"))).slots;
  } catch {
    const aside = `${target}.unreadable`;
    renameSync(target, aside);
    log.warn(`The values of scaling triggers were not readable and begin again. The file is now ${aside}`);
    return [];
  }
}
