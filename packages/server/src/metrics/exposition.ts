/** Prometheus' text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/. */

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  /** Appended to the family's name: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

export const EXPOSITION_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function expose(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of families) {
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
    for (const { labels = {}, suffix = "", value } of samples) {
      lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
