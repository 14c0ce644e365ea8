/** `headroom size train` and `headroom size finetune`: plan, time, memory, failures and storage of a training run. */
import type { CompletedTraining, Impossible, OpenTrainingSizing, ParallelPlan, TrainingSizing } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { settings, wholeNumber } from "../simulate/amount-options.ts";
import { usedCorrection } from "./fleet-correction.ts";
import { acceleratorName, catalogueFile, jsonFile, modelChoice, numberFormat } from "./model-options.ts";
import { given, positive, positiveDuration, quantity } from "./quantities.ts";
import { groupedRefusals, refusalSentence, type TypeRefusal } from "./refusals.ts";
import { storageTiers } from "./size-storage.ts";
import { checkSubmission, submitTraining, type TrainingSubmissionOptions } from "./submit-training.ts";
import { comparisonLines, trainingLines } from "./training-text.ts";

export interface TrainingOptions extends TrainingSubmissionOptions {
  readonly model?: string;
  readonly accelerator?: string;
  readonly catalogue?: string;
  readonly gpus?: string;
  readonly gpusPerNode?: string;
  readonly nodeNetwork?: string;
  readonly oversubscription?: string;
  readonly fabric?: string;
  readonly sequence?: string;
  readonly batch?: string;
  readonly tokens?: string;
  readonly precision?: string;
  readonly stack?: string;
  readonly loraRank?: string;
  readonly full?: true;
  readonly plan?: string;
  readonly profile?: string;
  readonly price?: string;
  readonly rate?: string;
  readonly restart?: string;
  readonly scaling?: string;
  readonly alternatives?: true;
  readonly overlapped?: true;
  readonly checkpointRate?: string;
  readonly tier?: readonly string[];
  readonly offer?: readonly string[];
  readonly correction?: string;
  readonly json?: true;
}

export type TrainingKind = "train" | "finetune";

const acceleratorsMax = 1_048_576;
const batchMax = 10_000_000;
const sequenceMax = 100_000_000;

export async function runSizeTraining(
  context: CommandContext,
  options: TrainingOptions,
  kind: TrainingKind,
): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  const used = await usedCorrection(context, options.correction);
  const open = { ...(await questionOf(context, options, kind)), correction: used?.correction };
  const { accelerator } = open;
  checkSubmission(options, accelerator);
  if (accelerator === undefined) refuseUnused(options);
  if (accelerator === undefined) return showComparison(context, await compared(context, open), options.json === true);
  const completed = perf.completeTraining({ ...open, accelerator });
  const answer = "answer" in completed ? completed.answer : completed;
  const isJson = options.json === true;
  if (!("answer" in completed) || answer.kind === "impossible") {
    const { reason, nearest } = answer as Impossible;
    if (isJson) context.print(JSON.stringify(answer, null, 2));
    else context.note(`${reason}. Nearest possible request: ${nearest}.`);
    return exitCode.unsatisfied;
  }
  if (!isJson) context.print(...batchLines(completed), ...(await trainingLines(answer, context, used?.kinds)));
  const { code, result } =
    options.submit === true
      ? await submitTraining(context, { ...completed, answer }, { options, isJson })
      : { code: exitCode.ok, result: {} };
  if (isJson) {
    const recipe = completed.recipe === null ? {} : { recipe: completed.recipe };
    context.print(JSON.stringify({ ...answer, ...recipe, ...result }, null, 2));
  }
  return code;
}

/** The comparison of all types shows no costs and no duration of a run, so these options would have no effect. */
function refuseUnused({ tokens, price }: TrainingOptions): void {
  const unused = [...(tokens === undefined ? [] : ["--tokens"]), ...(price === undefined ? [] : ["--price"])];
  if (unused.length === 0) return;
  const message = `${unused.join(" and ")} ${unused.length === 1 ? "needs" : "need"} --accelerator: the comparison of all types has no costs and no duration.`;
  throw new CliError(
    `${message} Add --accelerator NAME, or leave ${unused.length === 1 ? "it" : "them"} out.`,
    exitCode.usage,
  );
}

/** States the batch and where it comes from, if the question did not state one. */
function batchLines({ question, recipe }: CompletedTraining): string[] {
  if (recipe === null) return [];
  const { acceleratorCount, globalBatch, sequenceLength } = question;
  return [
    `On ${plural(acceleratorCount, "accelerator")} with ${globalBatch} sequences of ${sequenceLength} tokens in a step (${recipe.source}).`,
    "",
  ];
}

/** Answers for all accelerators, with progress on stderr. */
async function compared(
  context: CommandContext,
  open: OpenTrainingSizing,
): Promise<readonly CompletedTraining[] | Impossible> {
  const { compareTraining } = await import("@headroom/perf");
  const { ProgressLine } = await import("../simulate/progress-line.ts");
  const line = new ProgressLine(context.terminal.stderr);
  const all = compareTraining(open, ({ done, total, accelerator }) =>
    line.show(`${done} of ${total} accelerator types compared, next ${accelerator}`),
  );
  line.clear();
  return all;
}

/** Answers for all accelerators of the catalogue, side by side. */
async function showComparison(
  context: CommandContext,
  compared: readonly CompletedTraining[] | Impossible,
  isJson: boolean,
): Promise<ExitCode> {
  if (!Array.isArray(compared)) {
    const { reason, nearest } = compared as Impossible;
    context.note(`${reason}. Nearest possible request: ${nearest}.`);
    return exitCode.unsatisfied;
  }
  const all = compared as readonly CompletedTraining[];
  if (isJson) {
    const items = all.map(({ question, answer, recipe }) => ({ accelerator: question.accelerator, recipe, answer }));
    context.print(JSON.stringify({ kind: "trainingByAccelerator", items }, null, 2));
  } else {
    const [first, ...others] = groupedRefusals(all.flatMap(refusalOf));
    if (first?.accelerators.length === all.length && first.nearest !== undefined) context.note(refusalSentence(first));
    else context.print(...(await comparisonLines(all, first === undefined ? [] : [first, ...others], context)));
  }
  return all.some(({ answer }) => answer.kind === "training") ? exitCode.ok : exitCode.unsatisfied;
}

function refusalOf({ question, answer }: CompletedTraining): readonly TypeRefusal[] {
  if (answer.kind === "training") return [];
  return [{ accelerator: question.accelerator, reason: answer.reason, nearest: answer.nearest }];
}

async function questionOf(
  context: CommandContext,
  options: TrainingOptions,
  kind: TrainingKind,
): Promise<OpenTrainingSizing> {
  const count = (text: string, what: string, max: number): number => wholeNumber(text, what, { min: 1, max });
  const oversubscription = given(options.oversubscription, (text) => positive(text, "--oversubscription"), undefined);
  const profile = options.profile === undefined ? undefined : await jsonFile(context, options.profile);
  return {
    model: await modelChoice(context, options.model),
    accelerator:
      options.accelerator === undefined && profile === undefined
        ? undefined
        : await acceleratorName(options.accelerator, profile),
    catalogue: await catalogueFile(context, options.catalogue),
    acceleratorCount: given(options.gpus, (text) => count(text, "--gpus", acceleratorsMax), undefined),
    acceleratorsPerNode: given(options.gpusPerNode, (text) => count(text, "--gpus-per-node", 1024), undefined),
    nodeNetworkGbPerS: await nodeNetwork(options.nodeNetwork),
    fabric: oversubscription === undefined ? undefined : { leafOversubscription: oversubscription },
    fabricName: options.fabric,
    sequenceLength: given(options.sequence, (text) => count(text, "--sequence", sequenceMax), undefined),
    globalBatch: given(options.batch, (text) => count(text, "--batch", batchMax), undefined),
    tokens: given(options.tokens, (text) => quantity(text, "--tokens"), undefined),
    method: methodOf(options, kind),
    format: options.precision === undefined ? undefined : await numberFormat(options.precision, "--precision"),
    stack: stackOf(options.stack),
    plan: given(options.plan, planOf, undefined),
    profile,
    pricePerAcceleratorHour: given(options.price, (text) => positive(text, "--price"), 0),
    perThousandNodeDays: given(options.rate, (text) => positive(text, "--rate"), undefined),
    restartSeconds: given(options.restart, (text) => positiveDuration(text, "--restart") / 1000, 300),
    scaling: scalingKind(options.scaling),
    alternatives: options.alternatives === true,
    checkpointOverlapped: options.overlapped === true,
    checkpointGbPerS: given(options.checkpointRate, (text) => positive(text, "--checkpoint-rate"), 100),
    tiers: await storageTiers(options),
  };
}

/** Bandwidth in GB/s, stated as a number or as the name of a known server. */
async function nodeNetwork(text: string | undefined): Promise<number | undefined> {
  if (text === undefined) return undefined;
  const { findLink, links } = await import("@headroom/perf");
  if (/^[0-9.]/.test(text)) return positive(text, "--node-network");
  const link = findLink(text);
  if (link?.kind === "server") return link.gbPerS;
  const servers = links.filter(({ kind }) => kind === "server").map(({ name }) => name);
  throw new CliError(`--node-network: expected GB/s or one of ${servers.join(", ")}`, exitCode.usage);
}

/** Default rank of adapters: the value of most published recipes. */
const usualRank = 16;

function methodOf({ full, loraRank }: TrainingOptions, kind: TrainingKind): TrainingSizing["method"] {
  if (kind === "train" || full === true) return { kind: "full" };
  const rank = given(loraRank, (text) => wholeNumber(text, "--lora-rank", { min: 1, max: 65_536 }), usualRank);
  return { kind: "lora", rank };
}

function stackOf(text: string | undefined): TrainingSizing["stack"] {
  if (text === undefined) return undefined;
  if (text === "fused" || text === "eager" || text === "compiled") return text;
  throw new CliError("--stack: expected fused, eager or compiled", exitCode.usage);
}

function scalingKind(text = "strong"): TrainingSizing["scaling"] {
  if (text === "strong" || text === "weak") return text;
  throw new CliError("--scaling: expected strong or weak", exitCode.usage);
}

const planKeys = ["tp", "pp", "cp", "dp", "ep", "vpp", "mb", "zero", "recompute"];
const recomputations = ["none", "selective", "partial", "full"] as const;

/**
 * A plan such as `tp=8,pp=16,vpp=2,mb=1,zero=1,recompute=selective`. An entry left out follows from others or takes its
 * default.
 */
function planOf(text: string): Partial<ParallelPlan> {
  const found = settings(text, "--plan", planKeys);
  const width = (key: string): number | undefined =>
    given(found.get(key), (value) => wholeNumber(value, `--plan: ${key}`, { min: 1, max: acceleratorsMax }), undefined);
  const zero = found.get("zero");
  const zeroStage = ([0, 1, 2, 3] as const).find((stage) => String(stage) === zero);
  const recompute = found.get("recompute");
  const recomputation = recomputations.find((known) => known === recompute);
  if (zero !== undefined && zeroStage === undefined) throw new CliError("--plan: zero is 0, 1, 2 or 3", exitCode.usage);
  if (recompute !== undefined && recomputation === undefined) {
    throw new CliError(`--plan: recompute is ${recomputations.join(", ")}`, exitCode.usage);
  }
  const all = {
    tensor: width("tp"),
    pipeline: width("pp"),
    context: width("cp"),
    data: width("dp"),
    expert: width("ep"),
    virtualStages: width("vpp"),
    microBatch: width("mb"),
    zeroStage,
    recomputation,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
