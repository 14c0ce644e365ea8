/** Fields that the calls on models and on versions share. */
import { quoted } from "./fields.ts";
import type { Fields } from "./fields.ts";
import { invalid } from "./mlflow-error.ts";

export const stages = ["None", "Staging", "Production", "Archived"] as const;

export const MODEL_NAME_CHARS_MAX = 256;
export const DESCRIPTION_CHARS_MAX = 5_000;

export const nameOf = (fields: Fields): string => fields.needed("name", MODEL_NAME_CHARS_MAX);

export function versionOf(fields: Fields): number {
  const text = fields.neededId("version");
  const version = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(version))
    throw invalid("Parameter 'version' must be an integer.");
  return version;
}

/** A stage in any case. */
export function stageOf(text: string): (typeof stages)[number] {
  const stage = stages.find((each) => each.toLowerCase() === text.toLowerCase());
  if (stage === undefined) throw invalid(`Invalid Model Version stage ${quoted(text)}: expected ${stages.join(", ")}.`);
  return stage;
}
