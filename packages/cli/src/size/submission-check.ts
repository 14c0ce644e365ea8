/** Checks workloads that name their model before they are submitted, with the performance model. */
import type {
  FleetCorrection,
  Impossible,
  StorageTier,
  SubmissionCheck,
  SubmissionSizing,
  TrainingReport,
} from "@headroom/perf";
import type { HeadroomClient, ModelRequest, WorkloadSpec } from "@headroom/protocol";
import { THROUGHPUT_SIZES_MAX } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { correctionOf, type UsedCorrection } from "./fleet-correction.ts";
import { catalogueFile, jsonFile, modelChoice } from "./model-options.ts";
import { percentText, significant } from "./quantities.ts";

export interface ModelledWorkload {
  readonly spec: WorkloadSpec;
  readonly model?: ModelRequest | undefined;
}

/** The result of a check, in the format of `--json`. */
export interface WorkloadSizing {
  readonly workload: string;
  readonly team: string;
  readonly acceleratorsPerWorker: number;
  readonly isElastic: boolean;
  /** The checks of a workload, one for each accelerator type that it accepts. */
  readonly checks: readonly SubmissionCheck[];
}

/** The checks; empty for workloads that name no model. */
export async function checkModels(
  context: CommandContext,
  client: HeadroomClient,
  workloads: readonly ModelledWorkload[],
): Promise<readonly WorkloadSizing[]> {
  const answers: WorkloadSizing[] = [];
  let used: UsedCorrection | null | undefined;
  for (const { spec, model } of workloads) {
    if (model === undefined) continue;
    const types = spec.acceleratorTypes.length > 0 ? spec.acceleratorTypes : await typesOfFleet(client);
    used ??= await correctionOf(client).catch(() => null);
    answers.push(await sizingOf(context, { spec, model }, types, used?.correction));
  }
  return answers;
}

/** The types of the fleet, if the workload accepts any type. */
async function typesOfFleet(client: HeadroomClient): Promise<readonly string[]> {
  const { pools } = await client.fleet();
  return [...new Set(pools.flatMap(({ acceleratorType }) => acceleratorType ?? []))];
}

/**
 * The workload with `elastic.throughput` for each of its sizes, computed for the first accepted type that has a
 * prediction. Unchanged if the workload states it.
 */
export async function withThroughput(spec: WorkloadSpec, sizing: readonly WorkloadSizing[]): Promise<WorkloadSpec> {
  const { gang } = spec;
  const { minWorkers, workers } = gang;
  const found = sizing.find(({ workload, team }) => workload === spec.name && team === spec.team);
  if (found === undefined || minWorkers === undefined || gang.throughputMilli !== undefined) return spec;
  if (workers > THROUGHPUT_SIZES_MAX) return spec;
  const { throughputOf } = await import("@headroom/perf");
  const asked = { acceleratorsPerWorker: gang.accelerators, workers, minWorkers };
  const curve = found.checks.flatMap((check) => [throughputOf(asked, check) ?? []]).find(({ length }) => length > 0);
  return curve === undefined ? spec : { ...spec, gang: { ...gang, throughputMilli: [...curve] } };
}

async function sizingOf(
  context: CommandContext,
  { spec, model }: Required<ModelledWorkload> & { readonly model: ModelRequest },
  acceleratorTypes: readonly string[],
  correction: FleetCorrection | undefined,
): Promise<WorkloadSizing> {
  const { sizeSubmission } = await import("@headroom/perf");
  const { gang } = spec;
  const minWorkers = gang.minWorkers ?? gang.workers;
  const checks = sizeSubmission({
    training: { ...(await trainingOf(context, model)), correction },
    acceleratorTypes,
    acceleratorsPerWorker: gang.accelerators,
    workers: gang.workers,
    minWorkers,
  });
  const isElastic = minWorkers < gang.workers;
  return { workload: spec.name, team: spec.team, acceleratorsPerWorker: gang.accelerators, isElastic, checks };
}

export async function trainingOf(context: CommandContext, model: ModelRequest): Promise<SubmissionSizing["training"]> {
  const { deliveredShare } = await import("@headroom/perf");
  const tiers = tiersOf(model);
  const writes = tiers.flatMap(({ writeGbPerS }) => writeGbPerS ?? []);
  const { plan } = model;
  return {
    model: await modelChoice(context, model.config ?? model.preset ?? undefined),
    catalogue: await catalogueFile(context, model.catalogue ?? undefined),
    fabric: model.oversubscription === null ? undefined : { leafOversubscription: model.oversubscription },
    nodeNetworkGbPerS: model.nodeNetworkGbPerS ?? undefined,
    sequenceLength: model.sequence,
    globalBatch: model.globalBatch,
    tokens: model.tokens ?? undefined,
    method: model.loraRank === null ? { kind: "full" } : { kind: "lora", rank: model.loraRank },
    format: model.precision ?? undefined,
    stack: model.stack ?? undefined,
    plan: plan === null ? undefined : withoutNulls(plan),
    profile: model.profile === null ? undefined : await jsonFile(context, model.profile),
    pricePerAcceleratorHour: 0,
    restartSeconds: 300,
    scaling: "strong",
    checkpointOverlapped: false,
    // The checkpoint goes to the slowest of the named tiers.
    checkpointGbPerS: writes.length === 0 ? 100 : Math.min(...writes) * deliveredShare,
    tiers,
  };
}

type StatedPlan = NonNullable<SubmissionSizing["training"]["plan"]>;

function withoutNulls(plan: Readonly<Record<string, unknown>>): StatedPlan {
  return Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== null));
}

function tiersOf({ storage }: ModelRequest): StorageTier[] {
  return (storage ?? []).map((tier, index, all) => ({
    name: tier.name ?? (all.length === 1 ? "storage" : `storage ${index + 1}`),
    capacityBytes: tier.capacityBytes ?? undefined,
    readGbPerS: tier.readGbPerS ?? undefined,
    writeGbPerS: tier.writeGbPerS ?? undefined,
    operationsPerS: tier.operationsPerS ?? undefined,
    clientCount: tier.clientCount ?? undefined,
    source: "as stated",
  }));
}

/** A gang may get any of its accepted types, so it is rejected if one of them cannot run it. */
export function refuseImpossible(sizing: readonly WorkloadSizing[], isForced: boolean): void {
  if (isForced) return;
  const lines = sizing.flatMap(({ workload, checks }) =>
    checks.flatMap(({ acceleratorType, answer }) =>
      answer.kind === "impossible" ? [`${workload} on ${acceleratorType}: ${refusalText(answer)}`] : [],
    ),
  );
  if (lines.length === 0) return;
  throw new CliError(
    ["nothing was submitted; pass --force to submit it anyway", ...lines].join("\n"),
    exitCode.unsatisfied,
  );
}

const refusalText = ({ reason, nearest }: Impossible): string =>
  printable(`${reason}. Nearest possible request: ${nearest}`);

export async function showModels(
  sizing: readonly WorkloadSizing[],
  say: (line: string) => void,
  context: CommandContext,
): Promise<void> {
  const { describePlan } = await import("@headroom/perf");
  for (const one of sizing) {
    for (const line of modelLines(one, describePlan, context)) say(line);
  }
}

type DescribePlan = (plan: TrainingReport["plan"]) => string;

function modelLines(sizing: WorkloadSizing, describePlan: DescribePlan, context: CommandContext): string[] {
  const { workload, checks, isElastic, acceleratorsPerWorker } = sizing;
  const { paint } = context;
  const lines: string[] = [];
  if (checks.length === 0)
    lines.push(`${workload}: not checked, because no accelerator type is named and the fleet has none`);
  for (const { acceleratorType, answer } of checks) {
    const title = `${workload} on ${acceleratorType}`;
    switch (answer.kind) {
      case "unchecked":
        lines.push(`${title}: not checked, ${printable(answer.reason)}`);
        break;
      case "impossible":
        lines.push(`${paint("red", title)}: ${refusalText(answer)}`);
        break;
      case "training": {
        lines.push(`${title}: ${printable(answer.model.name)}`, ...reportLines(answer, describePlan));
        if (isElastic) lines.push(...curveLines(answer, acceleratorsPerWorker, context));
        lines.push(...answer.warnings.map((warning) => `  ${paint("yellow", "warning:")} ${warning}`));
        break;
      }
    }
  }
  return lines;
}

const gib = 2 ** 30;

function reportLines({ memory, plan, step, ...report }: TrainingReport, describePlan: DescribePlan): string[] {
  const { demand } = report.storage;
  return [
    `  memory   ${significant(memory.peakBytes / gib)} of ${significant(memory.availableBytes / gib)} GiB: ${memory.verdict}`,
    `  plan     ${describePlan(plan)}${report.chosen.length > 0 ? ` (chosen: ${report.chosen.join(", ")})` : " (given)"}`,
    `  step     ${significant(step.seconds)} s (80%: ${significant(step.interval.lowSeconds)} to ` +
      `${significant(step.interval.highSeconds)}), ${significant(report.tokensPerS)} tokens/s`,
    ...(report.correction.typeRunCount === 0
      ? []
      : [`  fleet    its own runs correct the step by a factor of ${report.correction.factor.toFixed(3)}`]),
    ...(report.run === undefined ? [] : [`  run      ${significant(report.run.days)} days with failures`]),
    `  network  ${percentText(report.network.networkShare)} of the time`,
    `  storage  reads ${significant(demand.readGbPerS)} GB/s at a start, writes ${significant(demand.writeGbPerS)} GB/s`,
  ];
}

/** Predicted throughput of an elastic gang at each of its sizes. */
function curveLines(report: TrainingReport, perWorker: number, { terminal, paint }: CommandContext): string[] {
  const { points, wall } = report.scaling;
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const columns = [right("  WORKERS"), right("STEP"), right("TOKENS/S"), right("EFFICIENCY")];
  const rows = points.map(({ acceleratorCount, stepSeconds, tokensPerS, efficiency }) => [
    String(acceleratorCount / perWorker),
    `${significant(stepSeconds)} s`,
    significant(tokensPerS),
    percentText(efficiency),
  ]);
  const verdict =
    wall === undefined
      ? "  every doubling up to this size is worth its accelerators"
      : `  from ${wall.acceleratorCount / perWorker} workers on, doubling makes it only ${significant(wall.gainPerDoubling)} times as fast: ${wall.scarce}`;
  return [...tableLines(columns, rows, terminal.stdout, paint), verdict];
}
