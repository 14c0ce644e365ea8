/** Training code logs metrics, parameters, tags and data sets to its run. A refused request writes nothing. */
import type { CallContext } from "./calls.ts";
import { quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import type { MlflowDatabase } from "./mlflow-database.ts";
import { invalid, missing, MlflowError } from "./mlflow-error.ts";
import { pageOf } from "./page.ts";
import { metricOf, NAME_TAG } from "./runs.ts";
import type { Runs } from "./runs.ts";
import { tagOf, Tags, tagsOf, TAGS_PER_CALL } from "./tags.ts";
import type { Tag } from "./tags.ts";
import { WorkloadLinks } from "./workload-links.ts";

const METRICS_PER_CALL = 1_000;
const ENTITIES_PER_CALL = 1_000;
const PARAM_CHARS_MAX = 6_000;
const METRIC_KEYS_MAX = 10_000;
const DATASETS_PER_CALL = 100;
const DATASETS_MAX = 1_000;
/** Maximum number of characters of all data sets of a run, because each answer with the run has them. */
const DATASETS_CHARS_MAX = 8 * 1024 * 1024;
const OUTPUTS_MAX = 5_000;
const HISTORY_PAGE_MAX = 25_000;
/** Tag with the models that a run logged, as JSON, and its maximum length. */
const MODELS_TAG = "mlflow.log-model.history";
const MODELS_CHARS_MAX = 200_000;
const modelKeys = ["artifact_path", "flavors", "utc_time_created", "run_id"];

/** Tag by which a run names the attempt that logs it (`MLFLOW_RUN_CONTEXT` of the workers). */
const ATTEMPT_TAG = "headroom.attempt_id";

export interface MetricPoint {
  readonly key: string;
  readonly value: number | null;
  readonly timestamp: number;
  readonly step: number;
}

function metricPoint(fields: Fields): MetricPoint {
  const timestamp = fields.time("timestamp");
  if (timestamp === undefined) throw invalid("Missing value for required parameter 'timestamp'.");
  return { key: fields.key(), value: fields.metricValue(), timestamp, step: fields.integer("step") ?? 0 };
}

/** Points of a run that belongs to an attempt. */
export interface AttemptPoints {
  readonly attemptId: string;
  readonly points: readonly MetricPoint[];
}

const paramOf = (fields: Fields): Tag => tagOf(fields, PARAM_CHARS_MAX);

export class RunData {
  readonly #database: MlflowDatabase;
  readonly #runs: Runs;
  readonly #tags: Tags;
  readonly #params: Tags;
  readonly #links: WorkloadLinks;
  readonly #onPoints: (logged: AttemptPoints) => void;

  constructor(database: MlflowDatabase, runs: Runs, onPoints: (logged: AttemptPoints) => void) {
    this.#database = database;
    this.#runs = runs;
    this.#onPoints = onPoints;
    this.#tags = new Tags(database, "run_tag");
    this.#params = new Tags(database, "param");
    this.#links = new WorkloadLinks(database);
  }

  logMetric(fields: Fields): object {
    const id = fields.runId();
    const point = metricPoint(fields);
    const number = this.#database.transaction(() => {
      const active = this.#runs.active(id);
      this.#addMetric(active, point);
      return active;
    });
    this.#tellAttempt(number, [point]);
    return {};
  }

  logParameter(fields: Fields): object {
    const id = fields.runId();
    const param = paramOf(fields);
    return this.#database.transaction(() => {
      this.#addParam(this.#runs.active(id), param);
      return {};
    });
  }

  logBatch(fields: Fields, context: CallContext): object {
    const id = fields.runId();
    const points = fields.list("metrics", METRICS_PER_CALL).map(metricPoint);
    const params = fields.list("params", TAGS_PER_CALL).map(paramOf);
    const tags = tagsOf(fields);
    if (points.length + params.length + tags.length > ENTITIES_PER_CALL)
      throw invalid(
        `A batch has at most ${ENTITIES_PER_CALL} metrics, params and tags. Split it over several requests.`,
      );
    if (new Set(params.map(({ key }) => key)).size < params.length)
      throw invalid("Duplicate parameter keys have been submitted: a key has one value.");
    const number = this.#database.transaction(() => {
      const active = this.#runs.active(id);
      for (const param of params) this.#addParam(active, param);
      for (const point of points) this.#addMetric(active, point);
      for (const tag of tags) this.#setTag(active, tag, context);
      return active;
    });
    this.#tellAttempt(number, points);
    return {};
  }

  #tellAttempt(number: number, points: readonly MetricPoint[]): void {
    const attemptId = points.length === 0 ? undefined : this.#tags.get(number, ATTEMPT_TAG);
    if (attemptId !== undefined) this.#onPoints({ attemptId, points });
  }

  setTag(fields: Fields, context: CallContext): object {
    const id = fields.runId();
    const tag = tagOf(fields);
    return this.#database.transaction(() => {
      this.#setTag(this.#runs.active(id), tag, context);
      return {};
    });
  }

  deleteTag(fields: Fields): object {
    const id = fields.runId();
    const key = fields.key();
    return this.#database.transaction(() => {
      const number = this.#runs.active(id);
      if (this.#tags.get(number, key) === undefined) throw missing(`No tag with name ${quoted(key)} in run ${id}.`);
      this.#links.keep(number, key);
      this.#tags.remove(number, key);
      return {};
    });
  }

  /** Adds a model to the list that the run keeps as a tag. */
  logModel(fields: Fields): object {
    const id = fields.runId();
    const model = modelOf(fields.needed("model_json", MODELS_CHARS_MAX));
    return this.#database.transaction(() => {
      const number = this.#runs.active(id);
      const history = JSON.parse(this.#tags.get(number, MODELS_TAG) ?? "[]") as unknown;
      const value = JSON.stringify([...(Array.isArray(history) ? history : []), model]);
      if (value.length > MODELS_CHARS_MAX)
        throw new MlflowError("RESOURCE_EXHAUSTED", `The models of run ${id} exceed ${MODELS_CHARS_MAX} characters.`);
      this.#tags.set(number, { key: MODELS_TAG, value });
      return {};
    });
  }

  logInputs(fields: Fields): object {
    const id = fields.runId();
    const inputs = fields.list("datasets", DATASETS_PER_CALL).map(inputOf);
    const models = fields.list("models", TAGS_PER_CALL).map((each) => each.neededId("model_id"));
    return this.#database.transaction(() => {
      const number = this.#runs.active(id);
      for (const { name, digest, document } of inputs)
        this.#database.run(
          "INSERT OR REPLACE INTO input VALUES (?, ?, ?, ?)",
          number,
          name,
          digest,
          JSON.stringify(document),
        );
      for (const model of models) this.#database.run("INSERT OR IGNORE INTO model_input VALUES (?, ?)", number, model);
      this.#requireInputsFit(number);
      return {};
    });
  }

  #requireInputsFit(number: number): void {
    const sql = "SELECT count(*) AS count, total(length(document)) AS chars FROM input WHERE owner = ?";
    const { count, chars } = this.#database.one(sql, number) ?? {};
    const models = this.#database.one("SELECT count(*) AS count FROM model_input WHERE owner = ?", number)?.["count"];
    if (Number(count) <= DATASETS_MAX && Number(chars) <= DATASETS_CHARS_MAX && Number(models) <= DATASETS_MAX) return;
    const limits = `${DATASETS_MAX} data sets with ${DATASETS_CHARS_MAX} characters, and ${DATASETS_MAX} models`;
    throw new MlflowError("RESOURCE_EXHAUSTED", `A run has at most ${limits} as inputs.`);
  }

  /** Names the logged models that the run made. */
  logOutputs(fields: Fields): object {
    const id = fields.runId();
    const models = fields
      .list("models", TAGS_PER_CALL)
      .map((each) => ({ model: each.neededId("model_id"), step: each.integer("step") ?? 0 }));
    return this.#database.transaction(() => {
      const number = this.#runs.active(id);
      for (const { model, step } of models)
        this.#database.run("INSERT OR REPLACE INTO output VALUES (?, ?, ?)", number, model, step);
      const count = this.#database.one("SELECT count(*) AS count FROM output WHERE owner = ?", number)?.["count"];
      if (Number(count) > OUTPUTS_MAX)
        throw new MlflowError("RESOURCE_EXHAUSTED", `A run has at most ${OUTPUTS_MAX} logged models.`);
      return {};
    });
  }

  history(fields: Fields): object {
    const number = Number(this.#runs.find(fields.runId())["number"]);
    const key = fields.key("metric_key");
    const range = { offset: fields.offset(), count: fields.count("max_results", HISTORY_PAGE_MAX, HISTORY_PAGE_MAX) };
    const rows = this.#database.all(
      "SELECT * FROM metric WHERE owner = ? AND key = ? ORDER BY timestamp, step, value, is_nan LIMIT ? OFFSET ?",
      number,
      key,
      range.count + 1,
      range.offset,
    );
    return pageOf("metrics", rows, range, metricOf);
  }

  #addMetric(number: number, { key, value, timestamp, step }: MetricPoint): void {
    const known = this.#database.one("SELECT 1 FROM latest_metric WHERE owner = ? AND key = ?", number, key);
    if (known === undefined) {
      const count = this.#database.one("SELECT count(*) AS count FROM latest_metric WHERE owner = ?", number)?.[
        "count"
      ];
      if (Number(count) >= METRIC_KEYS_MAX)
        throw new MlflowError("RESOURCE_EXHAUSTED", `A run has at most ${METRIC_KEYS_MAX} metrics.`);
    }
    const isNan = value === null ? 1 : 0;
    const sql = "INSERT OR IGNORE INTO metric (owner, key, timestamp, step, value, is_nan) VALUES (?, ?, ?, ?, ?, ?)";
    this.#database.run(sql, number, key, timestamp, step, value ?? 0, isNan);
    // The newest value has the largest step, then time, then value, as in MLflow's SQL store.
    this.#database.run(
      `INSERT INTO latest_metric (owner, key, value, timestamp, step) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value, timestamp = excluded.timestamp, step = excluded.step
       WHERE (excluded.step, excluded.timestamp, coalesce(excluded.value, -9e999)) >= (step, timestamp, coalesce(value, -9e999))`,
      number,
      key,
      value,
      timestamp,
      step,
    );
  }

  #addParam(number: number, { key, value }: Tag): void {
    const known = this.#params.get(number, key);
    if (known === value) return;
    if (known !== undefined)
      throw invalid(
        `Changing param values is not allowed. Param with key=${quoted(key)} was already logged with value=${quoted(known)}; the new value is ${quoted(value)}.`,
      );
    this.#params.set(number, { key, value });
  }

  #setTag(number: number, tag: Tag, context: CallContext): void {
    this.#links.add(number, tag, context);
    if (tag.key === NAME_TAG && tag.value !== "") this.#runs.rename(number, tag.value);
    else this.#tags.set(number, tag);
  }
}

function modelOf(text: string): object {
  let model: unknown;
  try {
    model = JSON.parse(text);
  } catch {
    throw invalid("Invalid value for parameter 'model_json': it is not JSON.");
  }
  if (typeof model !== "object" || model === null || Array.isArray(model))
    throw invalid("Invalid value for parameter 'model_json': expected an object.");
  const absent = modelKeys.filter((key) => !Object.hasOwn(model, key));
  if (absent.length > 0) throw invalid(`The model_json has no ${absent.join(", ")}.`);
  return model;
}

function inputOf(fields: Fields): { readonly name: string; readonly digest: string; readonly document: object } {
  const dataset = fields.child("dataset");
  const tags = fields
    .list("tags", TAGS_PER_CALL)
    .map((each) => ({ key: each.needed("key", 255), value: each.text("value", 500) ?? "" }));
  const name = dataset.needed("name", 500);
  const digest = dataset.needed("digest", 36);
  const optional = { schema: dataset.text("schema", 1_048_575), profile: dataset.text("profile", 1_048_575) };
  const document = {
    tags,
    dataset: {
      name,
      digest,
      source_type: dataset.needed("source_type", 36),
      source: dataset.needed("source", 65_535),
      ...Object.fromEntries(Object.entries(optional).filter(([, text]) => text !== undefined)),
    },
  };
  return { name, digest, document };
}
