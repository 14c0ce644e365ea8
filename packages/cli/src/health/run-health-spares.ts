/** `headroom health spares`: sizes the spare nodes of a fleet from its recorded faults. */
import type { FaultEvent, SparesForecast } from "@headroom/health";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileText } from "../input/file-chunks.ts";
import { pairLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface HealthSparesOptions {
  readonly fitDays?: string;
  readonly json?: true;
}

/** A million events. */
const FILE_BYTES_MAX = 256 << 20;
const EVENTS_MAX = 1_000_000;

export async function runHealthSpares(
  context: CommandContext,
  file: string,
  options: HealthSparesOptions,
): Promise<ExitCode> {
  const fitDays = daysOf(options.fitDays);
  const events = readEvents(await fileText(context, file, FILE_BYTES_MAX), printable(file));
  const { faultIntervals, forecastSpares, observedP99 } = await import("@headroom/health");
  const times = events.map(({ atDays }) => atDays);
  const [first, last] = times.reduce(
    ([low, high], at) => [Math.min(low, at), Math.max(high, at)],
    [Infinity, -Infinity],
  );
  const origin = originOf(first, last);
  if (!events.some(({ atDays, isStart }) => isStart && atDays < origin + fitDays))
    throw new CliError(
      `${printable(file)}: no fault starts in the first ${fitDays} days; choose more with --fit-days`,
      exitCode.usage,
    );
  const intervals = faultIntervals(events);
  const end = Math.max(last, origin + fitDays);
  const restDays = end - origin - fitDays;
  const answer: SparesAnswer = {
    forecast: forecastSpares(intervals, origin, fitDays),
    origin,
    fitDays,
    restDays,
    actual: restDays > 0 ? observedP99(intervals, origin + fitDays, end) : null,
  };
  if (options.json === true) context.print(JSON.stringify(answerJson(answer), null, 2));
  else context.print(...pairLines(answerPairs(answer), context.paint));
  return exitCode.ok;
}

interface SparesAnswer {
  readonly forecast: SparesForecast;
  readonly origin: number;
  readonly fitDays: number;
  readonly restDays: number;
  readonly actual: number | null;
}

function daysOf(text: string | undefined): number {
  const days = text === undefined ? 0 : Number(text);
  if (days > 0 && days <= 36_500) return days;
  throw new CliError("--fit-days: expected the number of days to fit, such as 90", exitCode.usage);
}

/** Days count from 0, or, in the later part of a longer trace, from the day of its first event. */
function originOf(first: number, last: number): number {
  return first > (last - first) / 10 ? Math.floor(first) : 0;
}

function readEvents(text: string, shown: string): readonly FaultEvent[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(`${shown}: no JSON: ${error instanceof Error ? printable(error.message) : ""}`, exitCode.usage);
  }
  if (!Array.isArray(value) || value.length === 0)
    throw new CliError(`${shown}: expected an array of fault events`, exitCode.usage);
  if (value.length > EVENTS_MAX) throw new CliError(`${shown}: more than ${EVENTS_MAX} events`, exitCode.usage);
  return value.map((event: unknown, index) => readEvent(event, `${shown}: event ${index + 1}`));
}

function readEvent(event: unknown, where: string): FaultEvent {
  const fields = typeof event === "object" && event !== null ? (event as Readonly<Record<string, unknown>>) : {};
  const { node_id: nodeId, event_time: atDays, event_type: type, fault_type: kind } = fields;
  if (typeof nodeId !== "string" || nodeId === "")
    throw new CliError(`${where}: node_id: expected a name`, exitCode.usage);
  if (typeof atDays !== "number" || !Number.isFinite(atDays) || atDays < 0)
    throw new CliError(`${where}: event_time: expected a number of days`, exitCode.usage);
  if (type !== "fault_start" && type !== "fault_end")
    throw new CliError(`${where}: event_type: expected fault_start or fault_end`, exitCode.usage);
  return { nodeId, kind: JSON.stringify(kind ?? null), isStart: type === "fault_start", atDays };
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function answerJson({ forecast, origin, fitDays, restDays, actual }: SparesAnswer): object {
  const { model, observed } = forecast;
  return {
    p99_concurrent: forecast.p99Concurrent,
    spares: forecast.spares,
    mean_plus_3_sigma: rounded(observed.mean + 3 * observed.sigma),
    fit: {
      from_day: origin,
      days: fitDays,
      fault_count: model.faultCount,
      faults_per_day: rounded(model.faultsPerDay),
      burstiness: rounded(model.burstiness),
      repair_days_mean: model.repairDays === null ? null : rounded(model.repairDays.mean),
      repair_days_median: model.repairDays === null ? null : rounded(model.repairDays.median),
      repair_days_p90: model.repairDays === null ? null : rounded(model.repairDays.p90),
      observed_p99: observed.p99,
      observed_mean: rounded(observed.mean),
      observed_sigma: rounded(observed.sigma),
      block_days: rounded(model.blockDays),
    },
    rest: actual === null ? null : { days: rounded(restDays), actual_p99_concurrent: actual },
  };
}

function answerPairs({
  forecast,
  origin,
  fitDays,
  restDays,
  actual,
}: SparesAnswer): readonly (readonly [string, string])[] {
  const { model, observed } = forecast;
  const naive = observed.mean + 3 * observed.sigma;
  const share =
    naive === 0 ? "" : `, ${Math.round((100 * forecast.spares) / naive)}% of mean + 3 sigma (${naive.toFixed(1)})`;
  return [
    ["concurrent faults", `${forecast.p99Concurrent} at the 99th percentile of time`],
    ["spares", `${forecast.spares} nodes${share}`],
    [
      "fitted",
      `days ${origin} to ${origin + fitDays}: ${model.faultCount} faults, ${model.faultsPerDay.toFixed(2)} a day`,
    ],
    ["burstiness", `${model.burstiness.toFixed(1)} (1: faults are independent)`],
    ...(model.repairDays === null
      ? []
      : [
          [
            "repair",
            `median ${model.repairDays.median.toFixed(2)} days, mean ${model.repairDays.mean.toFixed(2)}, p90 ${model.repairDays.p90.toFixed(2)}`,
          ] as const,
        ]),
    ...(actual === null
      ? []
      : [["the rest", `${actual} at the 99th percentile of ${restDays.toFixed(1)} days`] as const]),
  ];
}
