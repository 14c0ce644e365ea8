/**
 * Completes training questions in which values are left open that a user may not know: batch, sequence length, and
 * number and type of accelerators.
 */
import { trainingRecipe, type TrainingRecipe } from "../catalogue/recipes.ts";
import { acceleratorOf, leanerPrecisions } from "../training/job.ts";
import { estimateMemory, fitVerdict, leastOptimizerBytes, type FitVerdict } from "../training/memory.ts";
import { estimateStep } from "../training/step.ts";
import { hasLayout, quickPlan, type PlanChoice } from "./plan-choice.ts";
import { isImpossible, knownAccelerators, resolveModel, type Impossible } from "./resolve.ts";
import { sizeTraining, trainingReport, type TrainingReport } from "./training.ts";
import { settingOf, type TrainingSetting, type TrainingSizing } from "./training-setting.ts";

type Chosen = "accelerator" | "acceleratorCount" | "sequenceLength" | "globalBatch";

/** A question in which these fields can be `undefined`. The values of such fields are chosen. */
export type OpenTrainingSizing = Omit<TrainingSizing, Chosen> & {
  readonly [Name in Chosen]?: TrainingSizing[Name] | undefined;
};

/** An answer together with the question that was completed for it. */
export interface CompletedTraining {
  readonly question: TrainingSizing;
  readonly answer: TrainingReport | Impossible;
  /** Source of the batch. `null` if the question states the batch. */
  readonly recipe: TrainingRecipe | null;
}

const acceleratorCountMax = 65_536;
/**
 * Batch of a fine-tuning run, in sequences. Models publish no recipe for fine-tuning, so this is the batch of most
 * published fine-tuning runs.
 */
const finetuneBatch = 64;
const finetuneSource = "the usual batch of fine-tuning";
/**
 * The smallest batch of the recipe's range is chosen whose throughput is lower than the largest by no more than this
 * share.
 */
const batchToleranceShare = 0.02;

/** Completes and answers a question for the named accelerator. */
export function completeTraining(
  open: OpenTrainingSizing & { readonly accelerator: string },
): CompletedTraining | Impossible {
  const model = resolveModel(open.model);
  if (isImpossible(model)) return model;
  const name = typeof open.model === "string" ? open.model : undefined;
  const published = trainingRecipe(name, model, open.sequenceLength);
  const isFull = open.method.kind === "full";
  const recipe: TrainingRecipe = isFull
    ? published
    : { ...published, globalBatch: { usual: finetuneBatch, least: finetuneBatch }, source: finetuneSource };
  const stated = { ...open, sequenceLength: recipe.sequenceLength };
  const { globalBatch } = open;
  if (globalBatch !== undefined) {
    const counted = withCount({ ...stated, globalBatch });
    return { question: counted.question, answer: answerOf(counted), recipe: null };
  }
  const all = batchesOf(recipe).map((batch) => withCount({ ...stated, globalBatch: batch }));
  const best = Math.max(...all.map(({ tokensPerS }) => tokensPerS));
  const chosen = all.findLast(({ tokensPerS }) => tokensPerS > 0 && tokensPerS >= best * (1 - batchToleranceShare));
  const counted = chosen ?? all[0]!;
  return { question: counted.question, answer: answerOf(counted), recipe };
}

/** The usual batch and its halvings, down to the smallest batch of the recipe. The largest comes first. */
function batchesOf({ globalBatch: { usual, least } }: TrainingRecipe): number[] {
  const batches = [usual];
  for (let batch = usual / 2; batch >= least && Number.isInteger(batch); batch /= 2) batches.push(batch);
  return batches;
}

type WithBatch = Omit<TrainingSizing, "acceleratorCount"> & { readonly acceleratorCount?: number | undefined };

/** A complete question, and the throughput of its plan before any correction. The throughput is 0 if no plan fits. */
interface CountedQuestion {
  readonly question: TrainingSizing;
  readonly tokensPerS: number;
  readonly verdict: FitVerdict;
  readonly planned?: { readonly setting: TrainingSetting; readonly choice: PlanChoice };
}

function answerOf({ question, planned }: CountedQuestion): TrainingReport | Impossible {
  return planned === undefined ? sizeTraining(question) : trainingReport(planned.setting, planned.choice);
}

/**
 * Answers a question on the stated number of accelerators. If none is stated, the number is the smallest power of two
 * on which the run fits and is not tight. If the run fits on no such number, the number is the largest power of two
 * over which some plan divides the batch, so that the answer names the memory as the problem.
 */
function withCount(open: WithBatch): CountedQuestion {
  const on = (acceleratorCount: number): TrainingSizing => ({ ...open, acceleratorCount });
  if (open.acceleratorCount !== undefined) return throughputOf(on(open.acceleratorCount));
  for (let count = leastCount(on(1)); count <= acceleratorCountMax; count *= 2) {
    const counted = throughputOf(on(count));
    if (counted.tokensPerS > 0 && counted.verdict === "fits") return counted;
  }
  let count = acceleratorCountMax;
  while (count > 1 && !isDivisible(on(count))) count /= 2;
  return throughputOf(on(count));
}

function throughputOf(question: TrainingSizing): CountedQuestion {
  const none = { question, tokensPerS: 0, verdict: "does not fit" } as const;
  const setting = settingOf(question);
  if (isImpossible(setting)) return none;
  const choice = quickPlan(setting);
  if (choice === undefined) return none;
  const { job, plan } = choice;
  const { seconds } = estimateStep(job, plan, setting.system);
  return {
    question,
    tokensPerS: (job.globalBatch * job.sequenceLength) / seconds,
    verdict: fitVerdict(estimateMemory(job, plan), acceleratorOf(setting.system)),
    planned: { setting, choice },
  };
}

/**
 * The smallest power of two of accelerators that can be enough: on fewer accelerators, the optimizer's state alone
 * exceeds the memory.
 */
function leastCount(question: TrainingSizing): number {
  const setting = settingOf(question);
  if (isImpossible(setting)) return 1;
  const { job, system } = setting;
  const stateBytes = Math.min(
    ...leanerPrecisions(job.precision).map((precision) => leastOptimizerBytes({ ...job, precision })),
  );
  let count = 1;
  while (
    count < acceleratorCountMax &&
    fitVerdict({ peakBytes: stateBytes / count }, acceleratorOf(system)) !== "fits"
  ) {
    count *= 2;
  }
  return count;
}

function isDivisible(question: TrainingSizing): boolean {
  const setting = settingOf(question);
  return isImpossible(setting) || hasLayout(setting);
}

/** Progress of a comparison of accelerator types: the types that are answered, and the next type. */
export interface ComparisonProgress {
  readonly done: number;
  readonly total: number;
  readonly accelerator: string;
}

/**
 * Answers for every accelerator of the catalogue, sorted by tokens per second and accelerator, the highest first. Calls
 * `onType` before each type.
 */
export function compareTraining(
  open: OpenTrainingSizing,
  onType: (progress: ComparisonProgress) => void = () => {},
): readonly CompletedTraining[] | Impossible {
  const known = knownAccelerators(open.catalogue);
  if (isImpossible(known)) return known;
  const completed: CompletedTraining[] = [];
  for (const [done, { name }] of known.entries()) {
    onType({ done, total: known.length, accelerator: name });
    const each = completeTraining({ ...open, accelerator: name });
    if (isImpossible(each)) return each;
    completed.push(each);
  }
  const rate = ({ answer }: CompletedTraining): number =>
    answer.kind === "training" ? answer.tokensPerSPerAccelerator : 0;
  return completed.toSorted((a, b) => rate(b) - rate(a));
}
