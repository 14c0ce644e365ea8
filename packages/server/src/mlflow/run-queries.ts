/** Questions about several runs at once: histories of a metric, and the data sets of experiments. */
import type { Fields } from "./fields.ts";
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import { invalid } from "./mlflow-error.ts";
import { metricOf } from "./runs.ts";
import type { Runs } from "./runs.ts";

/** Limits of MLflow's server (mlflow/server/handlers.py). */
const RUNS_MAX = 100;
const SAMPLED_MAX = 2_500;
const SAMPLED_DEFAULT = 320;
const BULK_MAX = 25_000;
const EXPERIMENTS_MAX = 20;
const DATASETS_MAX = 1_000;

const CONTEXT_TAG = "mlflow.data.context";

export class RunQueries {
  readonly #database: MlflowDatabase;
  readonly #runs: Runs;

  constructor(database: MlflowDatabase, runs: Runs) {
    this.#database = database;
    this.#runs = runs;
  }

  /** The points of one metric of several runs, run by run. */
  historyBulk(fields: Fields): object {
    const key = fields.key("metric_key");
    const most = fields.count("max_results", BULK_MAX, BULK_MAX);
    const metrics: object[] = [];
    for (const { id, number } of this.#runsOf(fields, "run_id")) {
      const rows = this.#database.all(
        "SELECT * FROM metric WHERE owner = ? AND key = ? ORDER BY timestamp, step, value LIMIT ?",
        number,
        key,
        most - metrics.length,
      );
      metrics.push(...rows.map((row) => ({ ...metricOf(row), run_id: id })));
    }
    return { metrics };
  }

  /** The points of one metric at steps that all runs together choose evenly, with the first and the last step of each run. */
  historyBulkInterval(fields: Fields): object {
    const key = fields.key("metric_key");
    const most = fields.count("max_results", SAMPLED_DEFAULT, SAMPLED_MAX);
    const [start, end] = [fields.integer("start_step"), fields.integer("end_step")];
    if ((start === undefined) !== (end === undefined))
      throw invalid("The parameters 'start_step' and 'end_step' belong together.");
    if (start !== undefined && end !== undefined && start > end)
      throw invalid("'start_step' is larger than 'end_step'.");
    const range = [start ?? Number.MIN_SAFE_INTEGER, end ?? Number.MAX_SAFE_INTEGER] as const;
    const runs = this.#runsOf(fields, "run_ids");
    const steps = new Set<number>();
    for (const { number } of runs) {
      const found = this.#stepsOf(number, key, range);
      for (const step of [found[0], found.at(-1)]) if (step !== undefined) steps.add(step);
      for (const step of evenly(found, Math.max(1, Math.floor(most / runs.length)))) steps.add(step);
    }
    const chosen = JSON.stringify([...steps]);
    const metrics = runs.flatMap(({ id, number }) => {
      const rows = this.#database.all(
        "SELECT * FROM metric WHERE owner = ? AND key = ? AND step IN (SELECT value FROM json_each(?)) ORDER BY step, timestamp LIMIT ?",
        number,
        key,
        chosen,
        SAMPLED_MAX,
      );
      return rows.map((row) => ({ ...metricOf(row), run_id: id }));
    });
    return { metrics };
  }

  /** The data sets that runs of the experiments read, each once for each context. */
  searchDatasets(fields: Fields): object {
    const ids = fields.ids("experiment_ids", EXPERIMENTS_MAX).filter((id) => /^\d{1,15}$/.test(id));
    const rows = this.#database.all(
      `SELECT DISTINCT r.experiment AS experiment, i.name AS name, i.digest AS digest,
         (SELECT json_extract(t.value, '$.value') FROM json_each(i.document, '$.tags') t WHERE json_extract(t.value, '$.key') = ?) AS context
       FROM input i JOIN run r ON r.number = i.owner
       WHERE r.lifecycle = 'active' AND r.experiment IN (${ids.map(() => "?").join(", ")})
       ORDER BY experiment, name, digest, context LIMIT ?`,
      CONTEXT_TAG,
      ...ids.map(Number),
      DATASETS_MAX,
    );
    return { dataset_summaries: rows.map(summaryOf) };
  }

  #runsOf(fields: Fields, name: string): readonly { readonly id: string; readonly number: number }[] {
    const ids = fields.ids(name, RUNS_MAX);
    if (ids.length === 0) throw invalid(`Missing value for required parameter '${name}'.`);
    return [...new Set(ids)].map((id) => ({ id, number: Number(this.#runs.find(id)["number"]) }));
  }

  #stepsOf(number: number, key: string, range: readonly [number, number]): readonly number[] {
    const sql = "SELECT DISTINCT step FROM metric WHERE owner = ? AND key = ? AND step BETWEEN ? AND ? ORDER BY step";
    return this.#database.all(sql, number, key, ...range).map(({ step }) => Number(step));
  }
}

function summaryOf({ experiment, name, digest, context }: Row): object {
  return { experiment_id: String(experiment), name, digest, ...(context === null ? {} : { context }) };
}

/** At most `count` of the values, in equal distances. */
function evenly(values: readonly number[], count: number): readonly number[] {
  if (values.length <= count) return values;
  return Array.from({ length: count }, (_, at) => values[Math.floor((at * values.length) / count)] as number);
}
