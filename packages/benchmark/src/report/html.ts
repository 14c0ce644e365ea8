import { rowsOf, type BenchmarkReport, type CaseReport, type Row } from "./report.ts";
import { columns } from "./text.ts";

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2530;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 2rem}th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #d9dee4}
th:first-child,td:first-child{text-align:left}h2{margin:2rem 0 0}p{margin:.2rem 0}.wide{overflow-x:auto}svg{max-width:100%;height:auto}.note{color:#55606c}
@media (prefers-color-scheme:dark){body{color:#dfe5ec;background:#14191f}th,td{border-color:#39424d}.note{color:#9aa6b2}}`;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function table(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const cells = (row: readonly string[], tag: string): string =>
    `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  return `<div class="wide"><table><thead>${cells(head, "th")}</thead><tbody>${body.map((row) => cells(row, "td")).join("")}</tbody></table></div>`;
}

/** One bar for each target. It shows the figure that the case compares. */
function bars(report: CaseReport, rows: readonly Row[]): string {
  const isRate = report.compares === "requests per second";
  const values = rows.map((row) => (isRate ? row.requestsPerSecond : row.p99Us));
  const largest = Math.max(...values, 1);
  const lines = rows.map((row, index) => {
    const width = Math.round((400 * (values[index] as number)) / largest);
    const y = index * 22;
    const label = `${Math.round(values[index] as number)} ${isRate ? "/s" : "µs p99"}`;
    return `<text x="0" y="${y + 14}" fill="currentColor">${escaped(row.target)}</text><rect x="150" y="${y + 2}" width="${width}" height="16" fill="#3b82c4"/><text x="${156 + width}" y="${y + 14}" fill="currentColor">${label}</text>`;
  });
  const height = rows.length * 22;
  return `<svg role="img" aria-label="${escaped(report.description)}" width="700" height="${height}" viewBox="0 0 700 ${height}" font-size="13">${lines.join("")}</svg>`;
}

function caseSection(report: CaseReport): string {
  const rows = rowsOf(report);
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))];
  return `<h2>${escaped(report.name)}</h2><p>${escaped(report.description)}</p>${bars(report, rows)}${table(cells)}`;
}

/** Figures of a busy machine are worth little, so the page states how busy it was. */
function whenText({ startedAt, loadAverage, rounds, secondsPerRun }: BenchmarkReport): string {
  const count = `${rounds} ${rounds === 1 ? "round" : "rounds"} of ${secondsPerRun} s`;
  return `${startedAt.slice(0, 16).replace("T", " ")} UTC, load average ${loadAverage.toFixed(1)} before it; ${count}.`;
}

/** The report as one HTML page without scripts or outside resources. */
export function htmlReport(report: BenchmarkReport): string {
  const { machine, cores } = report;
  const pinning =
    cores === undefined
      ? "processes are not pinned to cores"
      : `target on core ${cores.target}, load and upstream on core ${cores.load}`;
  const frontier =
    report.frontier.length === 0
      ? ""
      : `<h2>frontier</h2><p>Highest rate (requests/s) whose p99 stays within the bound; 400-byte requests, open loop.</p>${table(
          [
            ["target", ...(report.frontier[0]?.bounds ?? []).map(({ boundMs }) => `${boundMs} ms`)],
            ...report.frontier.map((each) => [
              each.target,
              ...each.bounds.map((b) => Math.round(b.requestsPerSecond).toString()),
            ]),
          ],
        )}`;
  const targets = report.targets.map(({ name, description }) => `<li>${escaped(name)}: ${escaped(description)}</li>`);
  const missing = report.missing.map(({ name, reason }) => `<li>${escaped(name)} left out: ${escaped(reason)}</li>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Gateway benchmark</title><style>${style}</style></head><body><h1>Gateway benchmark</h1><p class="note">${escaped(machine.processor)}, ${machine.coreCount} cores, Node ${escaped(machine.node)}; ${pinning}; ${escaped(report.sockets)} sockets. ${whenText(report)} Medians over rounds; ratios are taken within a round. Where load or upstream limit a run, compare the requests per second of the target's CPU time.</p><ul>${targets.join("")}${missing.join("")}</ul>${report.cases.map(caseSection).join("")}${frontier}</body></html>\n`;
}
