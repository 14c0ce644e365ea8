/** `headroom size path`: what changes on the way from a small cluster to a large one, for one model. */
import type { TrainingReport } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { numberTable } from "../plan/plan-text.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { modelChoice } from "./model-options.ts";
import { pretrainingSizer } from "./pretraining.ts";
import { bytesText, given, percentText, positive, quantity, significant } from "./quantities.ts";

export interface PathOptions {
  readonly model?: string;
  readonly accelerator?: string;
  readonly counts?: string;
  readonly tokens?: string;
  readonly price?: string;
  readonly json?: true;
}

const COUNTS_MAX = 12;
const acceleratorsMax = 65_536;
/** A doubling pays while it shortens the run by at least a quarter: half of what it could at best. */
const DOUBLING_PAYS = 0.25;

export interface PathStage {
  readonly accelerators: number;
  readonly nodes: number;
  readonly plan: string;
  /** Tokens per second of an accelerator, failures and restarts counted, over that of the smallest stage. */
  readonly efficiency: number;
  readonly days: number | null;
  readonly networkShare: number;
  readonly switches: number;
  readonly switchLevels: number;
  readonly storage: {
    readonly capacityBytes: number;
    readonly readGbPerS: number;
    readonly writeGbPerS: number;
    readonly clients: number;
  };
  readonly failuresPerDay: number;
  readonly saveSeconds: number;
  readonly spareNodes: number;
  readonly goodputShare: number;
  /** Price of an hour of work of one accelerator at the efficiency of the smallest stage. */
  readonly usdPerUsefulHour: number | null;
  /** Share by which a doubling shortens the run; `null` if no plan fits twice as many. */
  readonly doublingSaves: number | null;
  /** Days between two failures that somebody or something must handle. */
  readonly daysBetweenFailures: number;
  readonly operations: string;
  /** `up`: more accelerators for one run pay. `out`: a further run, or further replicas, pay more. */
  readonly growth: "up" | "out";
}

/** Failures a day from which a person who looks on weekdays is too slow, and from which a person on call is. */
const ON_CALL_FROM = 1 / 7;
const AUTOMATIC_FROM = 1;

function operationsAt(failuresPerDay: number): string {
  if (failuresPerDay < ON_CALL_FROM) return "office hours";
  return failuresPerDay < AUTOMATIC_FROM ? "on call" : "automatic remedies";
}

export type PathAnswer = PathStage | { readonly accelerators: number; readonly reason: string };

export async function runSizePath(context: CommandContext, options: PathOptions): Promise<ExitCode> {
  const stages = await stagesOf(context, options);
  const known = stages.filter((stage): stage is PathStage => !("reason" in stage));
  const stops = known.find(({ growth }) => growth === "out");
  const replica = await replicaOf(context, options);
  if (options.json === true) {
    context.print(
      JSON.stringify(
        { kind: "path", stages, doublingStopsPayingAt: stops?.accelerators ?? null, replicaAccelerators: replica },
        null,
        2,
      ),
    );
  } else {
    context.print(...textOf(context, known));
    context.print(
      "",
      stops === undefined
        ? "A doubling shortens the run by at least a quarter at each of these sizes."
        : `From ${stops.accelerators} accelerators on, a doubling shortens the run by ${percentText(stops.doublingSaves ?? 0)} only: ` +
            "rather grow out, with a second run beside it.",
      ...(replica === null
        ? []
        : [
            `To serve the model, one replica takes ${replica} of these accelerators: ` +
              "more traffic takes more replicas, and a larger replica only shortens the latency.",
          ]),
    );
    for (const stage of stages)
      if ("reason" in stage) context.note(`${stage.accelerators} accelerators: ${stage.reason}`);
  }
  return known.length > 0 ? exitCode.ok : exitCode.unsatisfied;
}

async function stagesOf(context: CommandContext, options: PathOptions): Promise<readonly PathAnswer[]> {
  if (options.accelerator === undefined) throw new CliError("--accelerator is needed, such as H100", exitCode.usage);
  const perf = await import("@headroom/perf");
  const { accelerator } = options;
  const model = await modelChoice(context, options.model);
  const tokens = given(options.tokens, (text) => quantity(text, "--tokens"), undefined);
  const price = given(options.price, (text) => positive(text, "--price"), 0);
  const counts = (options.counts ?? "8,128,1024")
    .split(",")
    .map((text) => wholeNumber(text.trim(), "--counts", { min: 1, max: acceleratorsMax }))
    .toSorted((a, b) => a - b);
  if (counts.length > COUNTS_MAX) throw new CliError(`--counts: at most ${COUNTS_MAX} sizes`, exitCode.usage);
  const sizePretraining = await pretrainingSizer();
  const size = (acceleratorCount: number): TrainingReport | string =>
    sizePretraining({ model, accelerator, acceleratorCount, tokens, pricePerAcceleratorHour: price });
  let first: TrainingReport | undefined;
  return counts.map((accelerators) => {
    const report = size(accelerators);
    if (typeof report === "string") return { accelerators, reason: report };
    first ??= report;
    return stageOf(accelerators, report, { first, twice: size(2 * accelerators), price, perf });
  });
}

/** Accelerators of one replica that serves the model at usual latencies; `null`: none fits, or nothing is known of it. */
async function replicaOf(
  context: CommandContext,
  { model: name, accelerator = "" }: PathOptions,
): Promise<number | null> {
  const { sizeServing } = await import("@headroom/perf");
  const answer = sizeServing({
    model: await modelChoice(context, name),
    accelerator,
    weights: "bf16",
    promptTokens: 1_000,
    outputTokens: 300,
    prefixHitShare: 0,
    requestsPerS: 0.01,
    ttftMs: 1_000,
    tpotMs: 50,
    share: 0.95,
    pricePerAcceleratorHour: 0,
    weightsGbPerS: 5,
  });
  return answer.kind === "serving" ? (answer.plans[0]?.acceleratorCount ?? null) : null;
}

/** Tokens per second of the whole run, with failures. */
function usefulRate({ tokensPerS, failures }: TrainingReport): number {
  return tokensPerS * failures.goodputShare;
}

function stageOf(
  accelerators: number,
  report: TrainingReport,
  {
    first,
    twice,
    price,
    perf,
  }: { first: TrainingReport; twice: TrainingReport | string; price: number; perf: typeof import("@headroom/perf") },
): PathStage {
  const each = (one: TrainingReport): number => one.tokensPerSPerAccelerator * one.failures.goodputShare;
  const efficiency = each(report) / each(first);
  const { demand } = report.storage;
  const counts = perf.fabricCounts(perf.fabricRequest({ nodeCount: Math.max(2, report.nodeCount) }));
  const isOneNode = report.nodeCount < 2;
  const doublingSaves = typeof twice === "string" ? null : 1 - usefulRate(report) / usefulRate(twice);
  const { failuresPerDay } = report.failures;
  return {
    accelerators,
    nodes: report.nodeCount,
    plan: perf.describePlan(report.plan),
    efficiency,
    days: report.run?.days ?? null,
    networkShare: report.network.networkShare,
    switches: isOneNode || counts.kind !== "counts" ? 0 : counts.switchCount,
    switchLevels: isOneNode || counts.kind !== "counts" ? 0 : counts.levels.length,
    storage: {
      capacityBytes: demand.capacityBytes,
      readGbPerS: demand.readGbPerS,
      writeGbPerS: demand.writeGbPerS,
      clients: demand.clientCount,
    },
    failuresPerDay,
    saveSeconds: report.failures.chosen.intervalSeconds,
    spareNodes: report.failures.spares.spareCount,
    goodputShare: report.failures.goodputShare,
    usdPerUsefulHour: price === 0 ? null : price / efficiency,
    doublingSaves,
    daysBetweenFailures: 1 / failuresPerDay,
    operations: operationsAt(failuresPerDay),
    growth: doublingSaves === null || doublingSaves < DOUBLING_PAYS ? "out" : "up",
  };
}

/** One column for each size, so that changes are read along a row. */
function textOf(context: CommandContext, stages: readonly PathStage[]): readonly string[] {
  const row = (name: string, value: (stage: PathStage) => string): string[] => [name, ...stages.map(value)];
  const rows = [
    row("nodes", ({ nodes }) => String(nodes)),
    row("parallelism", ({ plan }) => plan.split(", micro-batch")[0] ?? plan),
    row("work of an accelerator", ({ efficiency }) => percentText(efficiency)),
    row("days of the run", ({ days }) => (days === null ? "" : significant(days))),
    row("waiting for the network", ({ networkShare }) => percentText(networkShare)),
    row("switches, levels", ({ switches, switchLevels }) => `${switches}, ${switchLevels}`),
    row("storage capacity", ({ storage }) => bytesText(storage.capacityBytes)),
    row(
      "storage read, write GB/s",
      ({ storage }) => `${significant(storage.readGbPerS)}, ${significant(storage.writeGbPerS)}`,
    ),
    row("storage clients", ({ storage }) => String(storage.clients)),
    row("failures a day", ({ failuresPerDay }) => significant(failuresPerDay)),
    row("days between failures", ({ daysBetweenFailures }) => significant(daysBetweenFailures)),
    row("operations", ({ operations }) => operations),
    row("minutes between checkpoints", ({ saveSeconds }) => significant(saveSeconds / 60)),
    row("spare nodes", ({ spareNodes }) => String(spareNodes)),
    row("goodput", ({ goodputShare }) => percentText(goodputShare)),
    row("$ per useful hour", ({ usdPerUsefulHour }) => (usdPerUsefulHour === null ? "" : usdPerUsefulHour.toFixed(2))),
    row("grow", ({ growth }) => growth),
    row("a doubling saves", ({ doublingSaves }) => (doublingSaves === null ? "" : percentText(doublingSaves))),
  ];
  return numberTable(context, ["accelerators", ...stages.map(({ accelerators }) => String(accelerators))], rows);
}
