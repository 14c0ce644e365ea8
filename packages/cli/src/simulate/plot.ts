/**
 * Plots as SVG without scripts: grouped bars, and step lines over time. Series differ by colour and pattern, every mark
 * has a tooltip with its value, and the page repeats all values in tables.
 */
import { escapeHtml } from "../output/html-page.ts";

export interface PlotSeries {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

export interface BarPlot {
  readonly title: string;
  readonly groups: readonly string[];
  readonly groupsLabel: string;
  readonly series: readonly PlotSeries[];
  readonly format: (value: number) => string;
}

export interface LineSeries {
  readonly name: string;
  /** Values of the bars in hours. */
  readonly stepHours: number;
  readonly values: readonly number[];
}

export interface LinePlot {
  readonly title: string;
  readonly series: readonly LineSeries[];
  readonly max: number;
  readonly format: (value: number) => string;
}

const width = 860;
const height = 300;
const margin = { left: 70, right: 10, top: 10, bottom: 42 };
const innerWidth = width - margin.left - margin.right;
const innerHeight = height - margin.top - margin.bottom;

/** Maximum number of series that readers can tell apart. The stylesheet has a colour and a dash for each. */
export const seriesMax = 6;

export function barPlot(plot: BarPlot): string {
  const max = niceMax(Math.max(0, ...plot.series.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const groupWidth = innerWidth / Math.max(1, plot.groups.length);
  const barWidth = Math.min(40, (groupWidth * 0.8) / Math.max(1, plot.series.length));
  const bars = plot.series.flatMap(({ name, values }, series) =>
    values.map((value, group) => {
      if (value === undefined) return "";
      const barHeight = max === 0 ? 0 : (innerHeight * value) / max;
      const x = margin.left + groupWidth * (group + 0.5) + barWidth * (series - plot.series.length / 2);
      const y = margin.top + innerHeight - barHeight;
      const label = `${name}, ${plot.groups[group] ?? ""}: ${plot.format(value)}`;
      return `<rect class="s${series % seriesMax}" x="${fixed(x)}" y="${fixed(y)}" width="${fixed(barWidth * 0.92)}" height="${fixed(barHeight)}"><title>${escapeHtml(label)}</title></rect>`;
    }),
  );
  const names = plot.groups.map((name, group) => {
    const x = margin.left + groupWidth * (group + 0.5);
    return `<text x="${fixed(x)}" y="${height - 24}" text-anchor="middle">${escapeHtml(name)}</text>`;
  });
  return frame(plot.title, [...grid(max, plot.format), ...bars, ...names, axisLabel(plot.groupsLabel)]);
}

export function linePlot(plot: LinePlot): string {
  const hours = Math.max(0, ...plot.series.map(({ values, stepHours }) => values.length * stepHours));
  const max = niceMax(plot.max);
  const lines = plot.series.map(({ name, values, stepHours }, series) => {
    let path = "";
    for (const [index, value] of values.entries()) {
      const x0 = margin.left + (hours === 0 ? 0 : (innerWidth * index * stepHours) / hours);
      const x1 = margin.left + (hours === 0 ? 0 : (innerWidth * (index + 1) * stepHours) / hours);
      const y = margin.top + innerHeight - (max === 0 ? 0 : (innerHeight * Math.min(value, max)) / max);
      path += `${path === "" ? "M" : "L"}${fixed(x0)} ${fixed(y)}L${fixed(x1)} ${fixed(y)}`;
    }
    return `<path class="s${series % seriesMax} line" d="${path}"><title>${escapeHtml(name)}</title></path>`;
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const x = margin.left + innerWidth * share;
    const anchor = share === 1 ? "end" : "middle";
    return `<text x="${fixed(x)}" y="${height - 24}" text-anchor="${anchor}">${hoursText(hours * share)}</text>`;
  });
  return frame(plot.title, [...grid(max, plot.format), ...lines, ...ticks, axisLabel("since the first submission")]);
}

function frame(title: string, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">${parts.join("")}</svg>`;
}

function grid(max: number, format: (value: number) => string): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = margin.top + innerHeight * (1 - share);
    return (
      `<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${fixed(y)}" y2="${fixed(y)}"/>` +
      `<text x="${margin.left - 8}" y="${fixed(y + 4)}" text-anchor="end">${escapeHtml(format(max * share))}</text>`
    );
  });
}

function axisLabel(text: string): string {
  return `<text x="${margin.left + innerWidth / 2}" y="${height - 6}" text-anchor="middle" class="label">${escapeHtml(text)}</text>`;
}

/**
 * The smallest number of the form 1, 2, 4, 5 or 8 times a power of ten that is not below the value. Quarters of it are
 * also round.
 */
function niceMax(value: number): number {
  if (!(value > 0)) return 1;
  let unit = 1;
  while (unit * 10 <= value) unit *= 10;
  while (unit > value) unit /= 10;
  const step = [1, 2, 4, 5, 8, 10].find((each) => each * unit >= value) ?? 10;
  return step * unit;
}

function hoursText(hours: number): string {
  return hours >= 96 ? `${Math.round(hours / 24)} d` : `${Math.round(hours * 10) / 10} h`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}
