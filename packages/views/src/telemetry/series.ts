/**
 * A series about one attempt, rolled up by age: the newest points as they were reported, older ones in buckets that are four times
 * as wide for every 64 points further back. Its size is bounded whatever the length of the run, and every span of the run stays
 * covered until it is older than the widest level reaches (96 days).
 */

export interface SeriesPoint {
  /** Time of the newest report in the bucket, ms. */
  readonly atMs: number;
  /** Reports in the bucket. */
  readonly count: number;
  /** Step of the newest report; 0 in a series without steps. */
  readonly step: number;
  /** Means by column of `Series.names`; `null`: no report had it. */
  readonly values: readonly (number | null)[];
}

/** How a series is stored: `points` by level, finest first, each `[atMs, count, step, ...values]`. */
export interface StoredSeries {
  readonly names: readonly string[];
  readonly points: readonly (readonly (readonly (number | null)[])[])[];
}

const FINEST_MS = 2_000;
const WIDENING = 4;
const LEVELS = 9;
const POINTS_PER_LEVEL = 64;
/** Further names of a program that makes up new ones are not stored. */
const NAMES_MAX = 16;

/** The most points that a series can have. */
export const SERIES_POINTS_MAX: number = LEVELS * POINTS_PER_LEVEL;

export class Series {
  readonly #names: string[];
  readonly #levels: SeriesPoint[][];

  constructor({ names, points }: StoredSeries = { names: [], points: [] }) {
    this.#names = [...names];
    this.#levels = points.map((level) =>
      level.map(([atMs, count, step, ...values]) => ({ atMs, count, step, values }) as SeriesPoint),
    );
  }

  get names(): readonly string[] {
    return this.#names;
  }

  add(atMs: number, step: number, values: Readonly<Record<string, number>>): void {
    for (const name of Object.keys(values))
      if (!this.#names.includes(name) && this.#names.length < NAMES_MAX) this.#names.push(name);
    const row = this.#names.map((name) => {
      const value = values[name];
      return value === undefined || !Number.isFinite(value) ? null : value;
    });
    this.#put(0, { atMs, count: 1, step, values: row });
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

/** `later` was reported after `earlier`. */
function merged(earlier: SeriesPoint, later: SeriesPoint): SeriesPoint {
  const length = Math.max(earlier.values.length, later.values.length);
  const count = earlier.count + later.count;
  const values = Array.from({ length }, (_, column) => {
    const [left, right] = [earlier.values[column] ?? null, later.values[column] ?? null];
    return left === null || right === null ? (left ?? right) : (left * earlier.count + right * later.count) / count;
  });
  return { atMs: later.atMs, count, step: later.step, values };
}

/** At most `max` points of the span, neighbours merged where there are more. */
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
