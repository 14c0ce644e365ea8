/**
 * Training questions that leave out values a user may not know: batch, sequence length, number and type of
 * accelerators.
 */
import { trainingRecipe, type TrainingRecipe } from "../catalogue/recipes.ts";
import { isImpossible, knownAccelerators, resolveModel, type Impossible } from "./resolve.ts";
import { sizeTraining, type TrainingReport } from "./training.ts";
import type { TrainingSizing } from "./training-setting.ts";

type Chosen = "accelerator" | "acceleratorCount" | "sequenceLength" | "globalBatch";

/** Fields that are `undefined` are chosen. */
export type OpenTrainingSizing = Omit<TrainingSizing, Chosen> & {
  readonly [Name in Chosen]?: TrainingSizing[Name] | undefined;
};

/** An answer together with the question that was completed for it. */
export interface CompletedTraining {
  readonly question: TrainingSizing;
  readonly answer: TrainingReport | Impossible;
  /** Source of the batch; `null`: the question stated it. */
  readonly recipe: TrainingRecipe | null;
}

const acceleratorCountMax = 65_536;
/** Batch of fine-tuning, for which models publish no recipe: the batch of most published fine-tunings. */
const finetuneBatch = 64;
const finetuneSource = "the usual batch of fine-tuning";
/** The smallest batch of the recipe's range is chosen that loses no more than this share of the throughput. */
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
  if (globalBatch !== undefined) return { ...sizedWithBatch({ ...stated, globalBatch }), recipe: null };
  const all = batchesOf(recipe).map((batch) => sizedWithBatch({ ...stated, globalBatch: batch }));
  const best = Math.max(...all.map(({ answer }) => (answer.kind === "training" ? answer.tokensPerS : 0)));
  const chosen = all.findLast(
    ({ answer }) => answer.kind === "training" && answer.tokensPerS >= best * (1 - batchToleranceShare),
  );
  return { ...(chosen ?? all[0]!), recipe };
}

/** The usual batch and its halvings down to the least one, the largest first. */
function batchesOf({ globalBatch: { usual, least } }: TrainingRecipe): number[] {
  const batches = [usual];
  for (let batch = usual / 2; batch >= least && Number.isInteger(batch); batch /= 2) batches.push(batch);
  return batches;
}

type WithBatch = Omit<TrainingSizing, "acceleratorCount"> & { readonly acceleratorCount?: number | undefined };

/**
 * Answers on the stated number of accelerators, else on the smallest power of two on which the run fits and is not
 * tight.
 */
function sizedWithBatch(open: WithBatch): Omit<CompletedTraining, "recipe"> {
  if (open.acceleratorCount !== undefined) return sized({ ...open, acceleratorCount: open.acceleratorCount });
  let last = sized({ ...open, acceleratorCount: 1 });
  for (let count = 1; count <= acceleratorCountMax; count *= 2) {
    last = sized({ ...open, acceleratorCount: count });
    if (last.answer.kind === "training" && last.answer.memory.verdict === "fits") return last;
  }
  return last;
}

const sized = (question: TrainingSizing): Omit<CompletedTraining, "recipe"> => ({
  question,
  answer: sizeTraining(question),
});

/** Answers for every accelerator of the catalogue, sorted by tokens per second and accelerator, the highest first. */
export function compareTraining(open: OpenTrainingSizing): readonly CompletedTraining[] | Impossible {
  const known = knownAccelerators(open.catalogue);
  if (isImpossible(known)) return known;
  const completed: CompletedTraining[] = [];
  for (const { name } of known) {
    const each = completeTraining({ ...open, accelerator: name });
    if (isImpossible(each)) return each;
    completed.push(each);
  }
  const rate = ({ answer }: CompletedTraining): number =>
    answer.kind === "training" ? answer.tokensPerSPerAccelerator : 0;
  return completed.toSorted((a, b) => rate(b) - rate(a));
}
