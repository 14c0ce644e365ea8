/**
 * Fits the constants of the training model to the logarithm of the ratio of predicted to measured step time. The method
 * is iteratively reweighted least squares (Gauss-Newton steps with Levenberg's damping). Every source group has the
 * same weight, and a weak prior pulls each constant to its value before any measurement. The method is deterministic.
 */
import {
  estimateMemory,
  estimateStep,
  memoryConstants,
  memoryConstantValues,
  trainingConstants,
  type MemoryConstants,
  type TrainingConstantName,
  type TrainingConstants,
} from "@headroom/perf";
import { reportedStage, type TrainingRow } from "./training-rows.ts";

const names = Object.keys(trainingConstants) as TrainingConstantName[];

/** Standard deviation of a constant's prior, as a share of the constant's range. */
const priorSpread = 0.35;
/** Weight of the priors relative to the weight of one source group. */
const pullWeight = 0.004;
/** Residuals above this value (10%) count linearly instead of quadratically. */
const linearAbove = 0.06;
const stepCount = 40;

/** Positions of the constants in their ranges, each from 0 to 1. */
type Positions = readonly number[];

export function priorConstants(): TrainingConstants {
  return fromPositions(
    names.map((name) => positionOf(name, trainingConstants[name].prior ?? trainingConstants[name].value)),
  );
}

function positionOf(name: TrainingConstantName, value: number): number {
  const [low, high] = trainingConstants[name].range;
  return (value - low) / (high - low);
}

function fromPositions(positions: Positions): TrainingConstants {
  const entries = names.map((name, index) => {
    const [low, high] = trainingConstants[name].range;
    return [name, low + (high - low) * (positions[index] ?? 0)] as const;
  });
  return Object.fromEntries(entries) as Record<TrainingConstantName, number>;
}

export function logError(row: TrainingRow, constants: TrainingConstants): number {
  return Math.log(estimateStep(row.job, row.plan, row.system, constants).seconds / (row.stepSeconds ?? 1));
}

/** Weights of the rows, with which every source group has the same total weight. */
function groupWeights(rows: readonly TrainingRow[]): readonly number[] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(row.group, (counts.get(row.group) ?? 0) + 1);
  return rows.map((row) => 1 / (counts.get(row.group) ?? 1) / counts.size);
}

function robust(error: number): number {
  return linearAbove * linearAbove * (Math.sqrt(1 + (error / linearAbove) ** 2) - 1);
}

export function fitConstants(rows: readonly TrainingRow[], onStep?: (loss: number) => void): TrainingConstants {
  const weights = groupWeights(rows);
  const prior = names.map((name) => positionOf(name, trainingConstants[name].prior ?? trainingConstants[name].value));
  const residuals = (at: Positions): readonly number[] => {
    const constants = fromPositions(at);
    return rows.map((row) => logError(row, constants));
  };
  const lossOf = (errors: readonly number[], at: Positions): number =>
    errors.reduce((sum, error, index) => sum + (weights[index] ?? 0) * robust(error), 0) +
    (pullWeight *
      linearAbove *
      at.reduce((sum, value, index) => sum + ((value - (prior[index] ?? 0)) / priorSpread) ** 2, 0)) /
      2;
  let at: Positions = prior;
  let errors = residuals(at);
  let loss = lossOf(errors, at);
  let damping = 1e-3;
  for (let step = 0; step < stepCount && damping < 1e6; step += 1) {
    const system = normalEquations({ at, errors, weights, prior }, residuals);
    let isBetter = false;
    while (!isBetter && damping < 1e6) {
      const move = solve(system, damping);
      const next = at.map((value, index) => Math.min(1, Math.max(0, value - (move[index] ?? 0))));
      const nextErrors = residuals(next);
      const nextLoss = lossOf(nextErrors, next);
      isBetter = nextLoss < loss;
      if (isBetter) {
        const gain = loss - nextLoss;
        [at, errors, loss] = [next, nextErrors, nextLoss];
        damping /= 5;
        if (gain < 1e-7) return fromPositions(at);
      } else damping *= 4;
    }
    onStep?.(loss);
  }
  return fromPositions(at);
}

interface Point {
  readonly at: Positions;
  readonly errors: readonly number[];
  readonly weights: readonly number[];
  readonly prior: Positions;
}

interface NormalEquations {
  readonly matrix: readonly (readonly number[])[];
  readonly gradient: readonly number[];
  readonly isFixed: readonly boolean[];
}

function normalEquations(point: Point, residuals: (at: Positions) => readonly number[]): NormalEquations {
  const { at, errors, weights, prior } = point;
  const width = 1e-3;
  const columns = names.map((_, index) => {
    const side = (at[index] ?? 0) > 0.5 ? -width : width;
    const moved = residuals(at.map((value, other) => (other === index ? value + side : value)));
    return moved.map((error, row) => (error - (errors[row] ?? 0)) / side);
  });
  const rowWeights = errors.map((error, row) => (weights[row] ?? 0) / Math.sqrt(1 + (error / linearAbove) ** 2));
  const pull = (pullWeight * linearAbove) / priorSpread ** 2;
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, row) => sum + value * (b[row] ?? 0) * (rowWeights[row] ?? 0), 0);
  const gradient = columns.map(
    (column, index) => dot(column, errors) + pull * ((at[index] ?? 0) - (prior[index] ?? 0)),
  );
  const isFixed = at.map(
    (value, index) => (value <= 0 && (gradient[index] ?? 0) > 0) || (value >= 1 && (gradient[index] ?? 0) < 0),
  );
  const matrix = columns.map((column, i) => columns.map((other, j) => dot(column, other) + (i === j ? pull : 0)));
  return { matrix, gradient, isFixed };
}

/**
 * Solves the normal equations by Gauss-Jordan elimination with partial pivoting. Constants at an end of their range are
 * left out.
 */
function solve({ matrix, gradient, isFixed }: NormalEquations, damping: number): readonly number[] {
  const free = names.map((_, index) => index).filter((index) => isFixed[index] !== true);
  const rows = free.map((i) => [
    ...free.map((j) => (matrix[i]?.[j] ?? 0) * (i === j ? 1 + damping : 1) + (i === j ? damping * 1e-4 : 0)),
    gradient[i] ?? 0,
  ]);
  for (let column = 0; column < rows.length; column += 1) {
    let best = column;
    for (let row = column + 1; row < rows.length; row += 1) {
      if (Math.abs(rows[row]?.[column] ?? 0) > Math.abs(rows[best]?.[column] ?? 0)) best = row;
    }
    [rows[column], rows[best]] = [rows[best] ?? [], rows[column] ?? []];
    eliminate(rows, column);
  }
  const move = names.map(() => 0);
  for (const [index, name] of free.entries()) move[name] = (rows[index]?.at(-1) ?? 0) / (rows[index]?.[index] ?? 1);
  return move;
}

function eliminate(rows: number[][], column: number): void {
  const pivot = rows[column] ?? [];
  for (const [index, row] of rows.entries()) {
    if (index === column) continue;
    const factor = (row[column] ?? 0) / (pivot[column] ?? 1);
    if (factor !== 0) for (let k = column; k < row.length; k += 1) row[k] = (row[k] ?? 0) - factor * (pivot[k] ?? 0);
  }
}

/**
 * Mean absolute error of the peak memory plus half of the median absolute error. The only memory constant that depends
 * on peaks alone is fitted by minimising it.
 */
function memoryLoss(rows: readonly TrainingRow[], constants: MemoryConstants): number {
  const errors = rows
    .map(
      ({ job, plan, memoryGib = 1 }) =>
        reportedStage(job, estimateMemory(job, plan, constants)).bytes / 2 ** 30 / memoryGib - 1,
    )
    .map(Math.abs)
    .toSorted((a, b) => a - b);
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return mean + (errors[Math.floor(errors.length / 2)] ?? 0) / 2;
}

/** Fits the constant `runtimeGib` of the memory model. It tries a grid of 41 values over the constant's range. */
export function fitMemory(rows: readonly TrainingRow[]): Pick<MemoryConstants, "runtimeGib"> | undefined {
  if (rows.length === 0) return undefined;
  const [low, high] = memoryConstants.runtimeGib.range;
  const grid = Array.from({ length: 41 }, (_, index) => low + ((high - low) * index) / 40);
  let best: { readonly loss: number; readonly runtimeGib: number } | undefined;
  for (const runtimeGib of grid) {
    const loss = memoryLoss(rows, { ...memoryConstantValues(), runtimeGib });
    if (best === undefined || loss < best.loss) best = { loss, runtimeGib };
  }
  return best === undefined ? undefined : { runtimeGib: best.runtimeGib };
}
