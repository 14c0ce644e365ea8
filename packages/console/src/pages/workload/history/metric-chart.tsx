/** A metric over the steps, drawn by uPlot. Only this file imports uPlot. */
import { useEffect, useRef } from "react";
import type { ReactElement } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { metricText } from "@headroom/views";
import { tokenColours, useThemeName } from "../../../theme/token-colours.ts";

interface MetricChartProps {
  readonly metric: string;
  readonly steps: readonly number[];
  readonly values: readonly number[];
  readonly width: number;
}

const HEIGHT = 220;
/** Maximum number of reports drawn as points: a line would suggest values between them. */
const FEW_POINTS = 40;

export function MetricChart({ metric, steps, values, width }: MetricChartProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot>(null);
  const theme = useThemeName();
  const data = useRef<UPlot.AlignedData>([[], []]);
  // Runs before the effect that draws, so that a new chart starts with the newest data.
  useEffect(() => {
    data.current = [[...steps], [...values]];
    chart.current?.setData(data.current);
  }, [steps, values]);
  useEffect(() => {
    if (host.current === null || width === 0) return undefined;
    const plot = new UPlot(optionsFor(host.current, metric, width), data.current, host.current);
    chart.current = plot;
    return () => {
      chart.current = null;
      plot.destroy();
    };
  }, [metric, theme, width]);
  return <div ref={host} role="img" aria-label={summary(metric, steps, values)} style={{ height: HEIGHT }} />;
}

function summary(metric: string, steps: readonly number[], values: readonly number[]): string {
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return `${metric}: no report yet`;
  const lowest = values.reduce((least, value) => Math.min(least, value), first);
  return `${metric} from ${metricText(first)} at step ${steps[0] ?? 0} to ${metricText(last)} at step ${steps.at(-1) ?? 0}; lowest ${metricText(lowest)}.`;
}

function optionsFor(host: Element, metric: string, width: number): UPlot.Options {
  const colour = tokenColours(host, ["accent", "line", "ink-3"]);
  const font = `11px ${getComputedStyle(host).fontFamily}`;
  const axis: UPlot.Axis = {
    stroke: colour["ink-3"],
    font,
    grid: { stroke: colour.line, width: 1 },
    ticks: { stroke: colour.line, width: 1, size: 4 },
    values: (_, splits) => splits.map((split) => (split == null ? "" : metricText(split))),
  };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false } },
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { size: 7 } },
    axes: [
      { ...axis, size: 26, gap: 4 },
      { ...axis, size: 56 },
    ],
    series: [
      { label: "step" },
      {
        label: metric,
        stroke: colour.accent,
        width: 1.75,
        points: { show: (plot) => plot.data[0].length <= FEW_POINTS },
      },
    ],
    hooks: { setCursor: [showReading] },
    padding: [14, 16, 0, 0],
  };
}

/** Shows the value under the pointer in the corner of the plot, instead of a legend below. */
function showReading(plot: UPlot): void {
  const { idx } = plot.cursor;
  const [steps, values] = plot.data;
  const step = idx == null ? undefined : steps[idx];
  const value = idx == null ? undefined : values?.[idx];
  let reading = plot.root.querySelector<HTMLElement>("[data-reading]");
  if (reading === null) {
    reading = document.createElement("div");
    reading.dataset["reading"] = "";
    reading.className = "pointer-events-none absolute top-0 right-4 text-xs text-ink-2";
    plot.root.append(reading);
    plot.root.style.position = "relative";
  }
  reading.textContent = step === undefined || value == null ? "" : `step ${step}: ${metricText(value)}`;
}
