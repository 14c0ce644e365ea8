/** Versions of models as rows and as documents. */
import type { MlflowDatabase, Row } from "./mlflow-database.ts";
import type { Tags } from "./tags.ts";

/** Rows of versions with the names of their models, and where versions of another model's URI lie. */
export const VERSION_ROWS =
  "SELECT v.*, m.name AS name, o.location, o.logged_model FROM version v JOIN model m ON m.number = v.model LEFT JOIN version_origin o ON o.version = v.number";

export function versionDocument(database: MlflowDatabase, tags: Tags, row: Row): object {
  const sql = "SELECT alias FROM alias WHERE model = ? AND version = ? ORDER BY alias";
  const aliases = database.all(sql, Number(row["model"]), Number(row["version"]));
  return {
    name: row["name"],
    version: String(row["version"]),
    creation_timestamp: row["created"],
    last_updated_timestamp: row["updated"],
    user_id: row["user"],
    current_stage: row["stage"],
    description: row["description"],
    source: row["source"],
    run_id: row["run"],
    run_link: row["run_link"],
    ...(row["logged_model"] ? { model_id: row["logged_model"] } : {}),
    status: "READY",
    status_message: "",
    tags: tags.all(Number(row["number"])),
    aliases: aliases.map(({ alias }) => alias),
  };
}
