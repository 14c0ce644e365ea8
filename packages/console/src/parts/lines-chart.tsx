/** Lines over time with a text summary. Lines differ by their dashes, not by colour alone. */
import type { ReactElement } from "react";
import { clockText } from "../format/moment.ts";

export interface ChartLine {
  readonly name: string;
  readonly values: readonly number[];
  readonly look: keyof typeof looks;
}

interface LinesChartProps {
  readonly label: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly lines: readonly ChartLine[];
  readonly text: (value: number) => string;
}

const looks = {
  before: "stroke-ink-3 [stroke-dasharray:5_4]",
  control: "stroke-stop [stroke-dasharray:2_3]",
  after: "stroke-run",
} as const;

const WIDTH = 600;
const HEIGHT = 150;

export function LinesChart({ label, fromMs, toMs, lines, text }: LinesChartProps): ReactElement {
  const most = Math.max(1, ...lines.flatMap(({ values }) => values));
  const sentence = lines.map((line) => `${line.name}: ${spread(line.values, text)}`).join("; ");
  return (
    <figure className="px-4 py-3">
      <div className="flex items-start gap-2">
        <div
          aria-hidden="true"
          className="flex h-36 w-14 flex-col justify-between text-right font-mono text-xs text-ink-3"
        >
          <span>{text(most)}</span>
          <span>{text(0)}</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label}. ${sentence}.`}
          className="h-36 min-w-0 flex-1 border-b border-l border-line"
        >
          {lines.map(({ name, values, look }) => (
            <polyline
              key={name}
              points={points(values, most)}
              vectorEffect="non-scaling-stroke"
              className={`fill-none ${looks[look]}`}
              strokeWidth="1.75"
            />
          ))}
        </svg>
      </div>
      <div aria-hidden="true" className="mt-1 ml-16 flex justify-between text-xs text-ink-3">
        <span>{clockText(fromMs)}</span>
        <span>{clockText(toMs)}</span>
      </div>
      <figcaption className="mt-2 ml-16 flex flex-wrap gap-x-5 gap-y-1 text-xs text-ink-2">
        {lines.map(({ name, look }) => (
          <span key={name} className="flex items-center gap-2">
            <svg aria-hidden="true" viewBox="0 0 24 6" className="h-1.5 w-6">
              <line x1="0" y1="3" x2="24" y2="3" strokeWidth="2" className={looks[look]} />
            </svg>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Steps: a value holds until the next. */
function points(values: readonly number[], most: number): string {
  const x = (index: number): number => (WIDTH * index) / Math.max(1, values.length - 1);
  const y = (value: number): number => HEIGHT - 2 - ((HEIGHT - 6) * value) / most;
  return values
    .flatMap((value, index) => {
      const at = `${x(index)},${y(value)}`;
      const before = values[index - 1];
      return before === undefined ? [at] : [`${x(index)},${y(before)}`, at];
    })
    .join(" ");
}

function spread(values: readonly number[], text: (value: number) => string): string {
  if (values.length === 0) return "nothing";
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return `${text(Math.min(...values))} to ${text(Math.max(...values))}, ${text(Math.round(mean))} on average`;
}
