/**
 * The HTML report of simulated runs: one page without scripts, fonts or network access. It follows the reader's choice
 * of dark or light, and repeats the plots as tables.
 */
import { shortDuration } from "../output/amounts.ts";
import { barPlot, escapeHtml, linePlot, seriesMax } from "./plot.ts";
import type { SimulationReport } from "./run-simulate.ts";
import { durationText, summaryRow, summaryTitles } from "./summary.ts";

export function reportPage(reports: readonly SimulationReport[]): string {
  const [first] = reports;
  const heading = first === undefined ? "No run" : `${first.trace} on ${first.gpus} accelerators`;
  const title = `Headroom simulation: ${escapeHtml(heading)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${first === undefined ? "" : sections(reports, first)}
</main>
</body>
</html>
`;
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

function details(content: string): string {
  return `<details><summary>The same as a table</summary>${content}</details>`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th scope="col">${escapeHtml(title)}</th>`).join("");
  const body = rows.map((row) => {
    const cells = row.map((cell, index) =>
      index === 0 ? `<th scope="row">${escapeHtml(cell)}</th>` : `<td>${escapeHtml(cell)}</td>`,
    );
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

function hours(valueS: number | undefined): number | undefined {
  return valueS === undefined ? undefined : valueS / 3600;
}

/**
 * Colours of Okabe and Ito, which people with colour blindness can distinguish. On a dark background they are lighter.
 */
const style = `
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--soft:#d7dce2;--c0:#0072b2;--c1:#b34700;--c2:#00785a;--c3:#a0467f;--c4:#6b5b00;--c5:#444c56}
@media (prefers-color-scheme:dark){:root{--fg:#e6e9ed;--bg:#14171b;--soft:#3a414a;--c0:#56b4e9;--c1:#e69f00;--c2:#2cc69b;--c3:#e39ac4;--c4:#f0e442;--c5:#b5bec9}}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
svg{width:100%;height:auto;display:block}svg text{fill:var(--fg);font:12px system-ui,sans-serif}
.grid{stroke:var(--soft);stroke-width:1}
.line{fill:none!important;stroke-width:2;stroke-linejoin:round}
.s0{fill:var(--c0);stroke:var(--c0)}.s1{fill:var(--c1);stroke:var(--c1);stroke-dasharray:7 3}.s2{fill:var(--c2);stroke:var(--c2);stroke-dasharray:2 3}
.s3{fill:var(--c3);stroke:var(--c3);stroke-dasharray:10 3 2 3}.s4{fill:var(--c4);stroke:var(--c4);stroke-dasharray:4 4}.s5{fill:var(--c5);stroke:var(--c5);stroke-dasharray:1 4}
rect{stroke:none!important}
.legend{list-style:none;display:flex;gap:20px;padding:0;flex-wrap:wrap}.legend svg{display:inline-block;width:28px;height:10px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--soft);white-space:nowrap}th:first-child{text-align:left}
summary{cursor:pointer;padding:4px 0}`;
