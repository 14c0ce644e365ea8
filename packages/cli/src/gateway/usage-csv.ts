/** `headroom gateway usage --csv`: one row for each UTC day, team, key and model. */
import type { UsageTotal } from "@headroom/gateway";

const fields = [
  "day",
  "team",
  "key",
  "model",
  "requests",
  "aborted",
  "failed",
  "promptTokens",
  "cachedTokens",
  "completionTokens",
] as const satisfies readonly (keyof UsageTotal)[];

export function csvLines(totals: readonly UsageTotal[], usd: (nanoUsd: number) => string): readonly string[] {
  const rows = totals.map((total) => [...fields.map((field) => cell(String(total[field]))), usd(total.nanoUsd)]);
  return [[...fields, "usd"], ...rows].map((row) => row.join(","));
}

/** RFC 4180. Names in gateway.yaml begin with a letter or digit, so that no cell is a formula for a spreadsheet. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
