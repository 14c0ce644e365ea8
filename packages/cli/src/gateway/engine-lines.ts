/** The presets of inference engines as text: one block for each engine. */
import type { EnginePreset } from "@headroom/gateway";

const drains = {
  finishesStreams: "running streams end after SIGTERM",
  dropsStreams: "the engine must be idle before SIGTERM, which breaks streams or has no effect",
} as const;

export function engineLines(presets: Readonly<Record<string, EnginePreset>>): string[] {
  return Object.entries(presets).flatMap(([name, { start, probe, drain, metrics }]) => {
    const gauges = [...metrics.waiting, ...metrics.running, ...metrics.kvUsage].map(({ metric, label, value }) =>
      label === undefined ? metric : `${metric}{${label}="${value ?? ""}"}`,
    );
    const place = `${metrics.port === undefined ? "" : `port ${metrics.port} `}${metrics.path}`;
    return [
      name,
      `  start    ${start.command}`,
      `  probe    GET ${probe.path}`,
      `  drain    ${drains[drain.onSigterm]} (${drain.source})`,
      `  metrics  ${place}: ${gauges.join(", ")}`,
    ];
  });
}
