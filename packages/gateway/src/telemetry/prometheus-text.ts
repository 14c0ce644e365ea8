/** Prometheus text format. */

/** A family of series. Each line is the labels, or nothing, with the value. */
export function family(type: "counter" | "gauge", name: string, help: string, lines: readonly string[]): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.map((line) => `${name}${line}\n`).join("")}`;
}

export function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
