/**
 * A linear model that is built row by row and solved by HiGHS. Bounds and rows belong to named constraints of the document, so that a
 * constraint can be left out when the reason for an impossible plan is sought.
 */
import * as highsModule from "highs";
import type { Highs } from "highs";

export type Solver = Highs;

/**
 * A solver with memory of its own. Its heap only grows, so a process that plans for long takes a fresh one now and then. The package
 * declares its default export in the form of CommonJS, and Node gives its ES module.
 */
export function loadSolver(): Promise<Solver> {
  return (highsModule.default as unknown as typeof highsModule.default.default)();
}

const INFINITY = Number.POSITIVE_INFINITY;

export interface ColumnBounds {
  readonly upper?: number;
  readonly isInteger?: boolean;
}

export interface LinearSolution {
  readonly kind: "solved";
  readonly values: Float64Array;
  readonly objective: number;
  /** Proven distance to the optimum, relative. */
  readonly gap: number;
}

export type SolveOutcome =
  | LinearSolution
  | { readonly kind: "infeasible" }
  | { readonly kind: "unsolved"; readonly status: string };

export interface SolveLimits {
  readonly relativeGap: number;
  readonly seconds: number;
}

export class LinearModel {
  readonly #cost: number[] = [];
  readonly #upper: number[] = [];
  readonly #isInteger: boolean[] = [];
  readonly #rowLower: number[] = [];
  readonly #rowUpper: number[] = [];
  readonly #starts: number[] = [0];
  readonly #indices: number[] = [];
  readonly #coefficients: number[] = [];

  /** Adds a variable that is at least 0 and returns its number. */
  column(cost: number, { upper = INFINITY, isInteger = false }: ColumnBounds = {}): number {
    this.#cost.push(cost);
    this.#upper.push(upper);
    this.#isInteger.push(isInteger);
    return this.#cost.length - 1;
  }

  addCost(column: number, cost: number): void {
    this.#cost[column]! += cost;
  }

  row(lower: number, upper: number, entries: readonly (readonly [column: number, coefficient: number])[]): void {
    this.#rowLower.push(lower);
    this.#rowUpper.push(upper);
    for (const [column, coefficient] of entries) {
      if (coefficient === 0) continue;
      this.#indices.push(column);
      this.#coefficients.push(coefficient);
    }
    this.#starts.push(this.#indices.length);
  }

  solve(highs: Solver, { relativeGap, seconds }: SolveLimits): SolveOutcome {
    const numCols = this.#cost.length;
    const numRows = this.#rowLower.length;
    const { variableType, modelStatus } = highs.constants;
    const data = {
      numCols,
      numRows,
      colCost: Float64Array.from(this.#cost),
      colLower: new Float64Array(numCols),
      colUpper: Float64Array.from(this.#upper, (value) => (value === INFINITY ? highs.infinity : value)),
      rowLower: Float64Array.from(this.#rowLower, (value) => (value === -INFINITY ? -highs.infinity : value)),
      rowUpper: Float64Array.from(this.#rowUpper, (value) => (value === INFINITY ? highs.infinity : value)),
      matrix: {
        format: "csr" as const,
        numRows,
        numCols,
        starts: Int32Array.from(this.#starts),
        indices: Int32Array.from(this.#indices),
        values: Float64Array.from(this.#coefficients),
      },
      integrality: this.#isInteger.map((isInteger) => (isInteger ? variableType.integer : variableType.continuous)),
    };
    return highs.withModel(data, (model): SolveOutcome => {
      model.options.set({
        output_flag: false,
        mip_rel_gap: relativeGap,
        time_limit: seconds,
        random_seed: 7,
        // A second search at the root that finds no better plan here: a fifth of the time of plans of 60 months.
        mip_heuristic_run_root_reduced_cost: false,
      });
      model.run();
      const status = model.getModelStatus();
      if (status === modelStatus.infeasible || status === modelStatus.unboundedOrInfeasible)
        return { kind: "infeasible" };
      const isDone = status === modelStatus.optimal || status === modelStatus.timeLimit;
      // 2: a feasible point (kHighsSolutionStatusFeasible).
      if (!isDone || model.info.get("primal_solution_status") !== 2)
        return { kind: "unsolved", status: String(status) };
      const gap = this.#isInteger.some(Boolean) ? Number(model.info.get("mip_gap")) : 0;
      return {
        kind: "solved",
        values: model.getSolution().colValue,
        objective: model.getObjectiveValue(),
        gap: Number.isFinite(gap) ? gap : 0,
      };
    });
  }
}
