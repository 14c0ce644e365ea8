/**
 * The HTML report of simulated runs: one page without scripts, fonts or network access. It follows the reader's choice
 * of dark or light, and repeats the plots as tables.
 */
import { shortDuration } from "../output/amounts.ts";
import { details, escapeHtml, htmlPage, table } from "../output/html-page.ts";
import { barPlot, linePlot, seriesMax } from "./plot.ts";
import type { SimulationReport } from "./run-simulate.ts";
import { durationText, summaryRow, summaryTitles } from "./summary.ts";

export function reportPage(reports: readonly SimulationReport[]): string {
  const [first] = reports;
  const heading = first === undefined ? "No run" : `${first.trace} on ${first.gpus} accelerators`;
  const title = `Headroom simulation: ${heading}`;
  return htmlPage(title, first === undefined ? "" : sections(reports, first));
}

function sections(reports: readonly SimulationReport[], first: SimulationReport): string {
  const hasMore = reports.length > 1;
  return [
    summaryTable(reports),
    leftOut(first),
    hasMore ? legend(reports) : "",
    waitSection(reports),
    timeSection(reports, {
      id: "utilisation",
      title: "Utilisation over time",
      values: ({ series }) => series.utilisation,
      max: 1,
      format: (share) => `${Math.round(share * 100)}%`,
    }),
    timeSection(reports, {
      id: "queue",
      title: "Waiting jobs over time",
      values: ({ series }) => series.waiting,
      max: Math.max(1, ...reports.flatMap(({ series }) => series.waiting)),
      format: (jobs) => String(Math.round(jobs)),
    }),
  ].join("\n");
}

function summaryTable(reports: readonly SimulationReport[]): string {
  const digests = reports.map(({ policy, digest }) => `<li>${escapeHtml(policy)}: digest <code>${digest}</code></li>`);
  return `<section aria-labelledby="summary"><h2 id="summary">Summary</h2>${table(summaryTitles, reports.map(summaryRow))}
<p>The same trace, policy and seed give the same digest on every machine:</p><ul>${digests.join("")}</ul></section>`;
}

function leftOut(report: SimulationReport): string {
  const parts = Object.entries(report.left_out).map(([reason, count]) => `${count} ${reason}`);
  if (report.broken_rows > 0) parts.unshift(`${report.broken_rows} broken`);
  return parts.length === 0 ? "" : `<p>Rows of the trace that were left out: ${escapeHtml(parts.join(", "))}.</p>`;
}

function legend(reports: readonly SimulationReport[]): string {
  const items = reports.map(({ policy }, series) => {
    const swatch = `<svg viewBox="0 0 28 10" aria-hidden="true"><path class="s${series % seriesMax} line" d="M0 5L28 5"/></svg>`;
    return `<li>${swatch} ${escapeHtml(policy)}</li>`;
  });
  return `<ul class="legend" aria-label="Policies in the plots">${items.join("")}</ul>`;
}

function waitSection(reports: readonly SimulationReport[]): string {
  const sizes = [...new Set(reports.flatMap((report) => report.wait_by_gang.map(({ gpus }) => gpus)))].toSorted(
    (a, b) => a - b,
  );
  const waitOf = (report: SimulationReport, size: number) => report.wait_by_gang.find(({ gpus }) => gpus === size);
  const plot = barPlot({
    title: "Mean wait by gang size",
    groups: sizes.map(String),
    groupsLabel: "number of accelerators of the job; mean wait in hours",
    series: reports.map((report) => ({
      name: report.policy,
      values: sizes.map((size) => hours(waitOf(report, size)?.mean_wait_s)),
    })),
    format: (value) => `${Math.round(value * 100) / 100} h`,
  });
  const titles = ["Policy", "Accelerators", "Jobs", "Mean wait", "Median", "90th percentile", "Longest"];
  const rows = reports.flatMap((report) =>
    report.wait_by_gang.map((wait) => [
      report.policy,
      String(wait.gpus),
      String(wait.jobs),
      ...[wait.mean_wait_s, wait.median_wait_s, wait.p90_wait_s, wait.max_wait_s].map(durationText),
    ]),
  );
  return `<section aria-labelledby="wait"><h2 id="wait">Wait by gang size</h2>${plot}${details(table(titles, rows))}</section>`;
}

interface TimePlot {
  readonly id: string;
  readonly title: string;
  readonly values: (report: SimulationReport) => readonly number[];
  readonly max: number;
  readonly format: (value: number) => string;
}

/** Number of rows of a table; each row covers an equal part of the run. */
const tableParts = 24;

function timeSection(reports: readonly SimulationReport[], { id, title, values, max, format }: TimePlot): string {
  const series = reports.map((report) => ({
    name: report.policy,
    stepHours: report.series.step_s / 3600,
    values: values(report),
  }));
  const rows = reports.flatMap((report) => {
    const list = values(report);
    const stride = Math.max(1, Math.ceil(list.length / tableParts));
    return list.flatMap((value, index) =>
      index % stride === 0 ? [[report.policy, shortDuration(index * report.series.step_s * 1000), format(value)]] : [],
    );
  });
  const plot = linePlot({ title, series, max, format });
  const data = details(table(["Policy", "Since the first submission", title], rows));
  return `<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${plot}${data}</section>`;
}

function hours(valueS: number | undefined): number | undefined {
  return valueS === undefined ? undefined : valueS / 3600;
}
