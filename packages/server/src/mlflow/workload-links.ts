/**
 * Workloads whose runs they are: by the tag that a run has now, and by those that it had. A client may change its tags, but the bytes of the
 * run stay those of the workload, so a link is never removed, and keeps the data rule: the engine drops workloads that ended long ago.
 */
import type { CallContext } from "./calls.ts";
import type { MlflowDatabase } from "./mlflow-database.ts";
import { MlflowError } from "./mlflow-error.ts";
import type { Tag } from "./tags.ts";

export const WORKLOAD_TAG = "headroom.workload_id";
const LINKS_MAX = 100;
/** Workloads of one answer: more than the engine knows. */
const UNRULED_MAX = 50_000;

/** Data rules by ids of workloads; `null`: it has none. Workloads that the engine does not know are absent. */
export type WorkloadRules = ReadonlyMap<string, string | null>;

export interface LinkedWorkload {
  readonly id: string;
  /** `null`: it has no data rule. Absent: the engine did not know the workload when the run was linked to it. */
  readonly rule?: string | null;
}

export interface LinkedArtifact {
  readonly workloads: readonly LinkedWorkload[];
  /** False: its path names neither a run nor a model of one, so it can never be linked to a workload. */
  readonly isOfRun: boolean;
}

/** Numbers of the runs of a path, whose names are the parameter as JSON. */
const FOUND_RUNS = `
  WITH name(id) AS (SELECT value FROM json_each(?)),
    run_id(id) AS (SELECT id FROM name UNION SELECT run FROM logged_model WHERE id IN name
      UNION SELECT run FROM deleted_model WHERE id IN name),
    found(number) AS (SELECT number FROM run WHERE id IN run_id)`;

/** How the table says that there is no rule: `NULL` is one that is not known. */
const NO_RULE = "";

export class WorkloadLinks {
  readonly #database: MlflowDatabase;

  constructor(database: MlflowDatabase) {
    this.#database = database;
  }

  /** Called before a tag of a run is set. */
  add(run: number, { key, value }: Tag, { rules }: Pick<CallContext, "rules">): void {
    if (key !== WORKLOAD_TAG) return;
    this.keep(run, key);
    const rule = rules?.get(value);
    this.#database.run(
      `INSERT INTO workload_link VALUES (?, ?, ?)
       ON CONFLICT (owner, workload) DO UPDATE SET rule = coalesce(rule, excluded.rule)`,
      run,
      value,
      rule === undefined ? null : (rule ?? NO_RULE),
    );
    const count = this.#database.one("SELECT count(*) AS count FROM workload_link WHERE owner = ?", run)?.["count"];
    if (Number(count) > LINKS_MAX)
      throw new MlflowError("RESOURCE_EXHAUSTED", `A run is linked to at most ${LINKS_MAX} workloads.`);
  }

  /** Called before a tag of a run is removed: earlier builds of Headroom set it without a link. */
  keep(run: number, key: string): void {
    if (key !== WORKLOAD_TAG) return;
    const sql =
      "INSERT OR IGNORE INTO workload_link SELECT owner, value, NULL FROM run_tag WHERE owner = ? AND key = ?";
    this.#database.run(sql, run, key);
  }

  /** Workloads without a recorded rule, those of the newest runs first: earlier builds of Headroom recorded none. */
  unruled(): readonly string[] {
    const rows = this.#database.all(
      `SELECT workload FROM (
         SELECT owner, workload FROM workload_link WHERE rule IS NULL
         UNION ALL SELECT owner, value FROM run_tag t WHERE key = ? AND NOT EXISTS
           (SELECT 1 FROM workload_link WHERE owner = t.owner AND workload = t.value AND rule IS NOT NULL)
       ) GROUP BY workload ORDER BY max(owner) DESC LIMIT ?`,
      WORKLOAD_TAG,
      UNRULED_MAX,
    );
    return rows.map(({ workload }) => String(workload));
  }

  /** Keeps the rules for all runs of the workloads that have none. */
  record(rules: WorkloadRules): void {
    const known = JSON.stringify([...rules].map(([id, rule]) => ({ id, rule: rule ?? NO_RULE })));
    this.#database.run(
      `WITH known(id, rule) AS MATERIALIZED
         (SELECT value ->> 'id', value ->> 'rule' FROM json_each(?))
       INSERT INTO workload_link
         SELECT owner, id, rule FROM run_tag JOIN known ON id = value WHERE key = ?
         UNION SELECT owner, id, known.rule FROM workload_link JOIN known ON id = workload
       ON CONFLICT (owner, workload) DO UPDATE SET rule = coalesce(rule, excluded.rule)`,
      known,
      WORKLOAD_TAG,
    );
  }

  /** Workloads of the runs, and of the logged models of runs, whose names are in the path of an artifact. */
  at(artifact: string): LinkedArtifact {
    const names = JSON.stringify(artifact.split("/"));
    const rows = this.#database.all(
      `${FOUND_RUNS} SELECT workload, max(rule) AS rule FROM (
         SELECT workload, rule FROM workload_link WHERE owner IN found
         UNION ALL SELECT value, NULL FROM run_tag WHERE key = ? AND owner IN found
       ) GROUP BY workload`,
      names,
      WORKLOAD_TAG,
    );
    const workloads = rows.map(({ workload, rule }) => {
      const id = String(workload);
      return rule == null ? { id } : { id, rule: rule === NO_RULE ? null : String(rule) };
    });
    return { workloads, isOfRun: this.#database.one(`${FOUND_RUNS} SELECT number FROM found`, names) !== undefined };
  }
}
