/** `headroom simulate --serving`: simulates recorded requests on another serving configuration. */
import { setImmediate } from "node:timers/promises";
import type { Distribution, ServingResult, ServingVariant } from "@headroom/sim";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { decimal, settings, wholeNumber } from "../simulate/amount-options.ts";
import { ProgressLine } from "../simulate/progress-line.ts";
import { seedBounds } from "../simulate/trace-source.ts";
import { given, percentText, positiveDuration, significant } from "../size/quantities.ts";
import { servingVariant, variantChoices } from "./serving-variants.ts";
import { loadTraffic } from "./traffic-source.ts";

export interface ServingSimulationOptions {
  readonly serving: string;
  readonly model?: string;
  readonly accelerator?: string;
  readonly replicas?: string;
  readonly weights?: string;
  readonly router?: string;
  readonly variant?: readonly string[];
  readonly slo?: string;
  readonly speed?: string;
  readonly seed?: string;
  readonly skipBroken?: true;
  readonly json?: true;
}

/** JSON output for one variant; see `ServingResult` for its fields. */
export interface ServingSimulationReport extends ServingResult {
  readonly traffic: string;
  readonly broken_rows: number;
  readonly left_out: Readonly<Record<string, number>>;
  readonly wall_s: number;
  readonly requests_per_s: number;
}

/** Number of requests that are simulated between two checks of the clock and of Ctrl-C. */
const requestsPerTurn = 2000;

function sloOf(text: string | undefined): ServingVariant["slo"] {
  const found = text === undefined ? new Map<string, string>() : settings(text, "--slo", ["ttft", "tpot"]);
  return {
    ttftMs: given(found.get("ttft"), (value) => positiveDuration(value, "--slo: ttft"), 1000),
    tpotMs: given(found.get("tpot"), (value) => positiveDuration(value, "--slo: tpot"), 50),
  };
}

export async function runSimulateServing(
  context: CommandContext,
  options: ServingSimulationOptions,
): Promise<ExitCode> {
  const [perf, sim] = await Promise.all([import("@headroom/perf"), import("@headroom/sim")]);
  const { workingDirectory } = context.terminal;
  const seed = given(options.seed, (text) => wholeNumber(text, "--seed", seedBounds), 1);
  const speed = given(options.speed, (text) => decimal(text, "--speed", { min: 0.001, max: 1000 }), 1);
  const slo = sloOf(options.slo);
  const base = {
    model: options.model ?? "llama-3-8b",
    accelerator: options.accelerator ?? "H100",
    replicas: options.replicas ?? "1",
    weights: options.weights ?? "bf16",
    kv: "",
    tensor: "1",
    sequences: "256",
    stepTokens: "8192",
    router: options.router ?? "prefix",
    store: "",
    coldStart: "",
    loadTime: "2700ms",
  };
  const chosen = variantChoices(base, options.variant ?? []);
  const loaded = loadTraffic(sim, options.serving, { workingDirectory, skipBroken: options.skipBroken === true });
  const trace = speed === 1 ? loaded.trace : sim.sped(loaded.trace, speed);
  const isImages = options.serving.startsWith("genai:");
  const setting = { perf, trace, isImages, slo, seed, frontEndMs: perf.frontEndMs };
  const variants = await Promise.all(chosen.map(({ name, choices }) => servingVariant(name, choices, setting)));
  const progress = new ProgressLine(context.terminal.stderr);
  const reports: ServingSimulationReport[] = [];
  for (const variant of variants) {
    const startedAtNs = process.hrtime.bigint();
    const simulation = new sim.ServingSimulation(trace, variant);
    while (!simulation.advance(requestsPerTurn)) {
      progress.show(`${variant.name}: ${Math.floor(simulation.progress * 100)}% of ${trace.requests.length} requests`);
      await setImmediate();
      if (context.terminal.interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
    }
    const result = simulation.result();
    const wallS = Number(process.hrtime.bigint() - startedAtNs) / 1e9;
    reports.push({
      traffic: options.serving,
      broken_rows: loaded.report.brokenCount,
      left_out: loaded.report.leftOut,
      ...result,
      wall_s: Math.round(wallS * 1000) / 1000,
      requests_per_s: Math.round(trace.requests.length / wallS),
    });
  }
  progress.clear();
  if (options.json === true) context.print(JSON.stringify(reports.length === 1 ? reports[0] : reports, null, 2));
  else context.print(...resultLines(context, reports, slo));
  return exitCode.ok;
}

/** Variants side by side, one column each. */
function resultLines(
  { terminal, paint }: CommandContext,
  reports: readonly ServingSimulationReport[],
  slo: ServingVariant["slo"],
): string[] {
  const ms = (value: number): string =>
    value >= 10_000 ? `${significant(value / 1000)} s` : `${significant(value)} ms`;
  const spread = ({ mean, p50, p95, p99 }: Distribution): string => [mean, p50, p95, p99].map(ms).join(" / ");
  const optional = (share: number | undefined): string => (share === undefined ? "" : percentText(share));
  const rows: readonly (readonly [string, (one: ServingSimulationReport) => string])[] = [
    ["router", (one) => one.router],
    ["accelerators", (one) => String(one.accelerators)],
    ["TTFT mean / p50 / p95 / p99", (one) => spread(one.ttft_ms)],
    ["TPOT mean / p50 / p95 / p99", (one) => spread(one.tpot_ms)],
    ["latency mean / p50 / p95 / p99", (one) => spread(one.latency_ms)],
    [`met TTFT ${ms(slo.ttftMs)} and TPOT ${ms(slo.tpotMs)}`, (one) => percentText(one.slo_share)],
    ["accelerator-hours", (one) => significant(one.accelerator_hours)],
    ["output tokens/s", (one) => significant(one.output_tokens_per_s)],
    ["busy", (one) => percentText(one.busy_share)],
    ["prompt tokens found in a cache", (one) => percentText(one.prompt_hit_share)],
    ["pages found in engine caches", (one) => optional(one.page_hit_share)],
    ["pages found in the external store", (one) => optional(one.store_hit_share)],
    ["preemptions", (one) => String(one.preemptions)],
    ["model loads", (one) => (one.adapter_loads > 0 ? String(one.adapter_loads) : "")],
    ["waited for a replica to start", (one) => (one.held > 0 ? String(one.held) : "")],
    ["refused, too long for every cache", (one) => (one.refused > 0 ? String(one.refused) : "")],
  ];
  const shown = rows
    .map(([title, cell]) => [title, ...reports.map(cell)])
    .filter((row) => row.slice(1).some((cell) => cell !== ""));
  const columns = [{ title: "" }, ...reports.map(({ variant }) => ({ title: variant, minWidth: 12 }))];
  const [first] = reports;
  return [
    `${first?.traffic ?? ""}: ${significant(first?.requests ?? 0)} requests${leftOutText(first?.left_out ?? {})}`,
    ...tableLines(columns, shown, terminal.stdout, paint),
  ];
}

/** Rows of the trace that are no part of the simulation, by reason. */
function leftOutText(leftOut: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(leftOut).filter(([, count]) => count > 0);
  return reasons.length === 0 ? "" : `; left out: ${reasons.map(([reason, count]) => `${count} ${reason}`).join(", ")}`;
}
