/** Fields that the calls on models and on versions share. */
import type { Fields } from "./fields.ts";
import { invalid } from "./mlflow-error.ts";

export const MODEL_NAME_CHARS_MAX = 256;
export const DESCRIPTION_CHARS_MAX = 5_000;

export const nameOf = (fields: Fields): string => fields.needed("name", MODEL_NAME_CHARS_MAX);

export function versionOf(fields: Fields): number {
  const version = Number(fields.neededId("version"));
  if (!Number.isSafeInteger(version) || version < 0) throw invalid("Parameter 'version' must be an integer.");
  return version;
}
