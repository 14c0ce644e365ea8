/**
 * Series over time with titles on the axes. The chart shows the values at the pointer, or at the time chosen with the
 * arrow keys.
 */
import { useState } from "react";
import type { PointerEvent, ReactElement } from "react";
import { clockText } from "../format/moment.ts";

export type ChartTone = "run" | "good" | "wait" | "stop" | "accent" | "bad" | "idle";

export interface TimeSeries {
  readonly name: string;
  readonly values: readonly number[];
  readonly tone: ChartTone;
  /** True: the series are areas, stacked in their order. False: lines. */
  readonly kind: "area" | "line";
  /** Whether the line is dashed, so that colour is not the only difference between lines. */
  readonly isDashed?: boolean;
}

interface TimeChartProps {
  readonly label: string;
  /** Title of the vertical axis with the unit. */
  readonly unit: string;
  readonly atMs: readonly number[];
  readonly series: readonly TimeSeries[];
  /** Smallest value at which the vertical axis can end. */
  readonly max?: number;
  /** Largest value of the scale. Lines above it are cut off at the top, and the unit says so. */
  readonly ceiling?: number;
  readonly text: (value: number) => string;
  /** Label of the newest time, shown instead of the time. */
  readonly endLabel?: string;
  /** Text of a time; default: day and clock. */
  readonly timeText?: (atMs: number) => string;
}

const fills: Readonly<Record<ChartTone, string>> = {
  run: "fill-run",
  good: "fill-good",
  wait: "fill-wait",
  stop: "fill-stop",
  accent: "fill-accent",
  bad: "fill-bad",
  idle: "fill-idle",
};
const strokes: Readonly<Record<ChartTone, string>> = {
  run: "stroke-run",
  good: "stroke-good",
  wait: "stroke-wait",
  stop: "stroke-stop",
  accent: "stroke-accent",
  bad: "stroke-bad",
  idle: "stroke-idle",
};

const WIDTH = 1_000;
const HEIGHT = 200;

/** Stacked areas, lines, the end of the vertical axis, and whether lines are cut off there. */
function layoutOf(series: readonly TimeSeries[], max: number, ceiling: number | undefined) {
  const areas = stacked(series.filter(({ kind }) => kind === "area"));
  const lines = series.filter(({ kind }) => kind === "line");
  const highest = Math.max(0, ...lines.flatMap(({ values }) => [...values]));
  const isCut = ceiling !== undefined && highest > ceiling;
  const top = niceMax(Math.max(1, max, ...(areas.at(-1)?.tops ?? []), isCut ? ceiling : highest));
  return { areas, lines, top, isCut };
}

export function TimeChart({
  label,
  unit,
  atMs,
  series,
  max = 0,
  ceiling,
  text,
  endLabel,
  timeText = clockText,
}: TimeChartProps): ReactElement {
  const [chosen, setChosen] = useState<number | null>(null);
  const last = atMs.length - 1;
  const index = chosen === null ? last : Math.min(chosen, last);
  const { areas, lines, top, isCut } = layoutOf(series, max, ceiling);
  const span = Math.max(1, (atMs[last] ?? 0) - (atMs[0] ?? 0));
  const axisUnit = isCut ? `${unit}; higher values are cut off` : unit;
  const axis = { fromMs: atMs[0] ?? 0, spanMs: span, timeText, unit: axisUnit };
  const point = (event: PointerEvent<HTMLDivElement>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const wantedMs = (atMs[0] ?? 0) + (span * (event.clientX - left)) / Math.max(1, width);
    setChosen(nearest(atMs, wantedMs));
  };
  const reading = series.map(({ name, values }) => `${name} ${text(values[index] ?? 0)}`).join(", ");
  return (
    <figure className="px-4 pt-3 pb-3">
      <Reading
        time={chosen === null && endLabel !== undefined ? endLabel : timeText(atMs[index] ?? 0)}
        series={series}
        index={index}
        text={text}
      />
      <div className="flex gap-2">
        <div
          aria-hidden="true"
          className="flex h-40 w-10 shrink-0 flex-col justify-between text-right text-2xs text-ink-3"
        >
          <span>{text(top)}</span>
          <span>{text(top / 2)}</span>
          <span>{text(0)}</span>
        </div>
        <div className="relative h-40 min-w-0 flex-1" onPointerMove={point} onPointerLeave={() => setChosen(null)}>
          <Plot
            label={`${label}. ${series.map(({ name, values }) => `${name}: ${range(values, { text, endLabel: endLabel ?? "now" })}`).join("; ")}.`}
            scale={{ atMs, top }}
            areas={areas}
            lines={lines}
            chosen={chosen === null ? null : index}
          />
          {atMs.length < 2 ? null : (
            <input
              type="range"
              aria-label={`${label}: time`}
              aria-valuetext={`${timeText(atMs[index] ?? 0)}: ${reading}`}
              min={0}
              max={last}
              value={index}
              onChange={({ target }) => setChosen(Number(target.value))}
              onBlur={() => setChosen(null)}
              className="absolute inset-0 size-full cursor-crosshair rounded-sm opacity-0 focus-visible:opacity-20"
            />
          )}
        </div>
      </div>
      <TimeAxis {...axis} />
    </figure>
  );
}

interface ReadingProps {
  readonly time: string;
  readonly series: readonly TimeSeries[];
  readonly index: number;
  readonly text: (value: number) => string;
}

function Reading({ time, series, index, text }: ReadingProps): ReactElement {
  return (
    <figcaption className="mb-2 flex flex-wrap items-baseline gap-x-4 gap-y-1 text-xs text-ink-2">
      <span className="text-ink-3">{time}</span>
      {series.map(({ name, values, tone, kind, isDashed = false }) => (
        <span key={name} className="flex items-center gap-1.5">
          <svg aria-hidden="true" viewBox="0 0 16 8" className="h-2 w-4">
            {kind === "area" ? (
              <rect width="16" height="8" rx="1.5" className={`${fills[tone]} opacity-70`} />
            ) : (
              <line
                x1="0"
                y1="4"
                x2="16"
                y2="4"
                strokeWidth="2"
                strokeDasharray={isDashed ? "4 3" : undefined}
                className={strokes[tone]}
              />
            )}
          </svg>
          {name}
          <span className="font-medium text-ink">{text(values[index] ?? 0)}</span>
        </span>
      ))}
    </figcaption>
  );
}

interface PlotProps {
  readonly label: string;
  readonly scale: { readonly atMs: readonly number[]; readonly top: number };
  readonly areas: readonly Stacked[];
  readonly lines: readonly TimeSeries[];
  readonly chosen: number | null;
}

function Plot({ label, scale: { atMs, top }, areas, lines, chosen }: PlotProps): ReactElement {
  const fromMs = atMs[0] ?? 0;
  const span = Math.max(1, (atMs.at(-1) ?? 0) - fromMs);
  const x = (at: number): number => (WIDTH * ((atMs[at] ?? 0) - fromMs)) / span;
  const y = (value: number): number => HEIGHT - (HEIGHT * value) / top;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      className="size-full border-b border-l border-line"
    >
      <line
        x1="0"
        x2={WIDTH}
        y1={HEIGHT / 2}
        y2={HEIGHT / 2}
        vectorEffect="non-scaling-stroke"
        className="stroke-line"
      />
      {areas.map(({ name, tone, bottoms, tops }) => (
        <polygon
          key={name}
          className={`${fills[tone]} opacity-70`}
          points={[
            ...tops.map((value, at) => `${x(at)},${y(value)}`),
            ...bottoms.map((value, at) => `${x(at)},${y(value)}`).toReversed(),
          ].join(" ")}
        />
      ))}
      {lines.map(({ name, values, tone, isDashed = false }) => (
        <polyline
          key={name}
          points={values.map((value, at) => `${x(at)},${y(Math.min(value, top))}`).join(" ")}
          vectorEffect="non-scaling-stroke"
          strokeWidth="2"
          strokeDasharray={isDashed ? "5 4" : undefined}
          className={`fill-none ${strokes[tone]}`}
        />
      ))}
      {chosen === null ? null : (
        <line
          x1={x(chosen)}
          x2={x(chosen)}
          y1="0"
          y2={HEIGHT}
          vectorEffect="non-scaling-stroke"
          className="stroke-ink-2"
        />
      )}
    </svg>
  );
}

function TimeAxis({
  fromMs,
  spanMs,
  timeText,
  unit,
}: {
  readonly fromMs: number;
  readonly spanMs: number;
  readonly timeText: (atMs: number) => string;
  readonly unit: string;
}): ReactElement {
  return (
    <div aria-hidden="true" className="mt-1 ml-12 text-2xs text-ink-3">
      <p className="flex justify-between">
        {[0, 0.5, 1].map((share) => (
          <span key={share} className={share === 0.5 ? "hidden sm:inline" : ""}>
            {timeText(fromMs + spanMs * share)}
          </span>
        ))}
      </p>
      <p className="mt-0.5 flex justify-between">
        <span>Vertical: {unit}</span>
        <span>Horizontal: time</span>
      </p>
    </div>
  );
}

interface Stacked extends TimeSeries {
  readonly bottoms: readonly number[];
  readonly tops: readonly number[];
}

function stacked(series: readonly TimeSeries[]): readonly Stacked[] {
  let below: readonly number[] = series[0]?.values.map(() => 0) ?? [];
  return series.map((each) => {
    const bottoms = below;
    below = each.values.map((value, at) => value + (bottoms[at] ?? 0));
    return { ...each, bottoms, tops: below };
  });
}

/** Upper end of the axis: 1, 2 or 5 times a power of ten, so that half of it is also a round number. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 6, 8, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value;
}

function nearest(atMs: readonly number[], wantedMs: number): number {
  let best = 0;
  for (const [index, each] of atMs.entries())
    if (Math.abs(each - wantedMs) < Math.abs((atMs[best] ?? 0) - wantedMs)) best = index;
  return best;
}

function range(
  values: readonly number[],
  { text, endLabel }: Required<Pick<TimeChartProps, "text" | "endLabel">>,
): string {
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return "nothing";
  return `${text(Math.min(...values))} to ${text(Math.max(...values))}, ${endLabel.toLowerCase()} ${text(last)}`;
}
