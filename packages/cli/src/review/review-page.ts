/** A review as one HTML page with plots. The same review gives the same bytes. */
import type { Review } from "@headroom/usage";
import { details, escapeHtml, htmlPage, table } from "../output/html-page.ts";
import { barPlot } from "../simulate/plot.ts";
import { reviewSections, reviewTitle, usdText, type ReviewSection } from "./review-sections.ts";

export function reviewPage(review: Review): string {
  const sections = reviewSections(review).map((section, index) =>
    index === 0 ? `${sectionHtml(section)}${demandPlot(review)}` : sectionHtml(section),
  );
  return htmlPage(reviewTitle(review), [...sections, causesPlot(review)].join("\n"));
}

function sectionHtml({ title, lines, table: data }: ReviewSection): string {
  const items = lines.map((line) => `<li>${escapeHtml(line)}</li>`).join("");
  const list = lines.length === 0 ? "" : `<ul>${items}</ul>`;
  const rows = data === undefined || data.rows.length === 0 ? "" : table(data.titles, data.rows);
  return `<section><h2>${escapeHtml(title)}</h2>${list}${rows}</section>`;
}

function demandPlot({ months }: Review): string {
  const value = (each: number | null | undefined): number | undefined => each ?? undefined;
  return barPlot({
    title: "Accelerators by month",
    groups: months.map(({ month }) => month),
    groupsLabel: "demand, forecast of demand, planned demand, capacity in service",
    series: [
      { name: "demand", values: months.map(({ demand }) => value(demand)) },
      { name: "forecast", values: months.map(({ forecast }) => value(forecast?.mean)) },
      { name: "planned demand", values: months.map(({ plan }) => value(plan?.p50)) },
      { name: "capacity in service", values: months.map(({ capacity }) => value(capacity)) },
    ],
    format: (each) => String(Math.round(10 * each) / 10),
  });
}

const CAUSES_SHOWN = 8;

function causesPlot({ failures: { byCause } }: Review): string {
  const shown = byCause.filter(({ usd }) => usd > 0).slice(0, CAUSES_SHOWN);
  if (shown.length === 0) return "";
  const plot = barPlot({
    title: "Cost of failed, evicted and lost work",
    groups: shown.map(({ cause }) => cause),
    groupsLabel: "cause; dollars",
    series: [{ name: "cost", values: shown.map(({ usd }) => usd) }],
    format: usdText,
  });
  return `<section><h2>Cost of failed, evicted and lost work</h2>${plot}${details(
    table(
      ["Cause", "Cost"],
      shown.map(({ cause, usd }) => [cause, usdText(usd)]),
    ),
  )}</section>`;
}
