/**
 * Least squares by the Levenberg-Marquardt method (Marquardt, J. SIAM 11(2), 1963) with numeric derivatives. Each
 * parameter is bounded to the range 0 to 1. The method is deterministic.
 */
const roundsMax = 40;

/** The search ends after a round that reduces the sum of squares by less than this share of the sum. */
const gainLeast = 1e-4;

const derivativeStep = 1e-3;
const dampingFirst = 1e-3;
const dampingMax = 1e6;

const sumOfSquares = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value * value, 0);

const inside = (value: number): number => Math.max(0, Math.min(1, value));

type Residuals = (places: readonly number[]) => readonly number[];

/** Numeric derivatives of the residuals, one column for each parameter. */
function jacobian(residuals: Residuals, at: readonly number[], here: readonly number[]): Float64Array[] {
  return at.map((value, index) => {
    const step = value > 0.5 ? -derivativeStep : derivativeStep;
    const there = residuals(at.with(index, value + step));
    return Float64Array.from(here, (residual, row) => ((there[row] ?? 0) - residual) / step);
  });
}

function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += (left[index] ?? 0) * (right[index] ?? 0);
  return sum;
}

/**
 * Solves a system of linear equations with a symmetric positive definite matrix by Cholesky decomposition. `matrix` is
 * overwritten.
 */
function solve(matrix: Float64Array[], right: Float64Array): Float64Array {
  const size = right.length;
  const at = (row: number, column: number): number => matrix[row]?.[column] ?? 0;
  for (let column = 0; column < size; column += 1) {
    for (let row = column; row < size; row += 1) {
      let sum = at(row, column);
      for (let inner = 0; inner < column; inner += 1) sum -= at(row, inner) * at(column, inner);
      const line = matrix[row];
      if (line !== undefined)
        line[column] = row === column ? Math.sqrt(Math.max(1e-300, sum)) : sum / at(column, column);
    }
  }
  const forward = new Float64Array(size);
  for (let row = 0; row < size; row += 1) {
    let sum = right[row] ?? 0;
    for (let inner = 0; inner < row; inner += 1) sum -= at(row, inner) * (forward[inner] ?? 0);
    forward[row] = sum / at(row, row);
  }
  const solution = new Float64Array(size);
  for (let row = size - 1; row >= 0; row -= 1) {
    let sum = forward[row] ?? 0;
    for (let inner = row + 1; inner < size; inner += 1) sum -= at(inner, row) * (solution[inner] ?? 0);
    solution[row] = sum / at(row, row);
  }
  return solution;
}

/** Finds a local minimum of the sum of squared residuals over parameters from 0 to 1. The search begins at `start`. */
export function leastSquares(residuals: Residuals, start: readonly number[]): readonly number[] {
  let places = start.map(inside);
  let here = residuals(places);
  let cost = sumOfSquares(here);
  let damping = dampingFirst;
  for (let round = 0; round < roundsMax; round += 1) {
    const columns = jacobian(residuals, places, here);
    const gradient = columns.map((column) => -dot(column, here));
    // If a parameter is at a bound and the step would exceed the bound, the parameter stays there in this round.
    const isFree = places.map((value, index) => {
      const push = gradient[index] ?? 0;
      return !((value <= 0 && push < 0) || (value >= 1 && push > 0));
    });
    const products = columns.map((left) => columns.map((right) => dot(left, right)));
    const before = cost;
    while (damping < dampingMax) {
      const matrix = products.map((line, row) =>
        Float64Array.from(line, (value, column) => {
          if (row !== column) return isFree[row] === true && isFree[column] === true ? value : 0;
          return value * (1 + damping) + 1e-12;
        }),
      );
      const right = Float64Array.from(gradient, (value, index) => (isFree[index] === true ? value : 0));
      const move = solve(matrix, right);
      const next = places.map((value, index) => inside(value + (move[index] ?? 0)));
      const reached = residuals(next);
      const reachedCost = sumOfSquares(reached);
      if (reachedCost < cost) {
        places = next;
        here = reached;
        cost = reachedCost;
        damping = Math.max(1e-9, damping / 5);
        break;
      }
      damping *= 4;
    }
    if (before - cost <= gainLeast * before) break;
  }
  return places;
}
