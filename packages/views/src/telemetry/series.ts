/**
 * A series of one attempt, rolled up by age. The newest points stay as they were reported; older ones are merged into
 * buckets, which are four times as wide for every 64 points further back. So the size is limited, whatever the length
 * of the run, and every period of the run is covered until it is older than the widest level reaches (96 days).
 */

export interface SeriesPoint {
  /** Time in ms of the newest report in the bucket. */
  readonly atMs: number;
  /** Number of reports in the bucket. */
  readonly count: number;
  /** Step of the newest report; 0 in a series without steps. */
  readonly step: number;
  /** Means by column of `Series.names`; `null`: no report had a value. */
  readonly values: readonly (number | null)[];
}

/** The form in which a series is stored. `points` are by level, finest first, each `[atMs, count, step, ...values]`. */
export interface StoredSeries {
  readonly names: readonly string[];
  readonly points: readonly (readonly (readonly (number | null)[])[])[];
}

const FINEST_MS = 2_000;
const WIDENING = 4;
const LEVELS = 9;
const POINTS_PER_LEVEL = 64;
/** Default for the maximum number of names. If a program makes up new names all the time, later ones are not stored. */
const NAMES_MAX = 16;

/** Maximum number of points of a series. */
export const SERIES_POINTS_MAX: number = LEVELS * POINTS_PER_LEVEL;

export class Series {
  readonly #names: string[];
  readonly #levels: SeriesPoint[][];
  readonly #namesMax: number;

  constructor({ names, points }: StoredSeries = { names: [], points: [] }, namesMax: number = NAMES_MAX) {
    this.#namesMax = namesMax;
    this.#names = [...names];
    this.#levels = points.map((level) =>
      level.map(([atMs, count, step, ...values]) => ({ atMs, count, step, values }) as SeriesPoint),
    );
  }

  get names(): readonly string[] {
    return this.#names;
  }

  add(atMs: number, step: number, values: Readonly<Record<string, number>>): void {
    this.#put(0, { atMs, count: 1, step, values: this.#rowOf(values) });
  }

  /** Adds values of earlier times, which were read afterwards: the series is rolled up again with them. */
  addPast(past: readonly { readonly atMs: number; readonly values: Readonly<Record<string, number>> }[]): void {
    const rows = past.map(({ atMs, values }) => ({ atMs, count: 1, step: 0, values: this.#rowOf(values) }));
    const all = [...this.points(), ...rows].toSorted((left, right) => left.atMs - right.atMs);
    this.#levels.length = 0;
    for (const point of all) this.#put(0, point);
  }

  /** Time in ms of the newest value of this name, or of any name; `null`: there is none. */
  newestMs(name?: string): number | null {
    const column = name === undefined ? null : this.#names.indexOf(name);
    const found = this.points().findLast(({ values }) => column === null || (values[column] ?? null) !== null);
    return found?.atMs ?? null;
  }

  #rowOf(values: Readonly<Record<string, number>>): readonly (number | null)[] {
    for (const name of Object.keys(values))
      if (!this.#names.includes(name) && this.#names.length < this.#namesMax) this.#names.push(name);
    return this.#names.map((name) => {
      const value = values[name];
      return value === undefined || !Number.isFinite(value) ? null : value;
    });
  }

  /** Oldest first. */
  points(): readonly SeriesPoint[] {
    return this.#levels.toReversed().flat();
  }

  stored(): StoredSeries {
    const points = this.#levels.map((level) =>
      level.map(({ atMs, count, step, values }) => [atMs, count, step, ...values]),
    );
    return { names: [...this.#names], points };
  }

  #put(level: number, point: SeriesPoint): void {
    const points = (this.#levels[level] ??= []);
    const width = FINEST_MS * WIDENING ** level;
    const last = points.at(-1);
    if (last !== undefined && Math.floor(last.atMs / width) === Math.floor(point.atMs / width))
      points[points.length - 1] = merged(last, point);
    else points.push(point);
    if (points.length <= POINTS_PER_LEVEL) return;
    const oldest = points.shift();
    if (oldest !== undefined && level + 1 < LEVELS) this.#put(level + 1, oldest);
  }
}

/** Merges two points; `later` was reported after `earlier`. */
function merged(earlier: SeriesPoint, later: SeriesPoint): SeriesPoint {
  const length = Math.max(earlier.values.length, later.values.length);
  const count = earlier.count + later.count;
  const values = Array.from({ length }, (_, column) => {
    const [left, right] = [earlier.values[column] ?? null, later.values[column] ?? null];
    return left === null || right === null ? (left ?? right) : (left * earlier.count + right * later.count) / count;
  });
  return { atMs: later.atMs, count, step: later.step, values };
}

/** At most `max` points of the period. If there are more, neighbours are merged. */
export function pointsBetween(
  series: Series,
  {
    fromMs = 0,
    toMs = Number.MAX_SAFE_INTEGER,
    max,
  }: { readonly fromMs?: number | undefined; readonly toMs?: number | undefined; readonly max: number },
): readonly SeriesPoint[] {
  const points = series.points().filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  if (points.length <= max) return points;
  const size = Math.ceil(points.length / max);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) =>
    points.slice(index * size, (index + 1) * size).reduce(merged),
  );
}
