/**
 * What users declare: one schema for each resource, with two encodings. The wire is the JSON of the API; a manifest is what people
 * write in YAML files (docs/workload-files.md). Pure: no YAML, files or lines: a problem carries its path, the CLI knows the place.
 */
export * as limits from "./limits.ts";
export * as names from "./names.ts";
export * from "./limits.ts";
export * from "./names.ts";
export * from "./calendar-spec.ts";
export { calendarDocument } from "./calendar-documents.ts";
export { levelProblems, shapeProblems, type LevelProblem } from "./fabric-levels.ts";
export { checkDocuments, checkFabricLevels, type CrossProblem } from "./check-documents.ts";
export { pathText, problemsOf, type DocumentProblem } from "./document-problem.ts";
export { notAChoice } from "./field.ts";
export { fleetDocument, type FleetFromDocument, type SimulatedNodes } from "./fleet-document.ts";
export * from "./fleet-spec.ts";
export { documentJsonSchema } from "./json-schema.ts";
export type { ModelRequest } from "./model-fields.ts";
export { writeCron } from "./notation/cron.ts";
export { INSTANT_MS_MAX, readInstant, writeInstant } from "./notation/instants.ts";
export { nearestName } from "./notation/nearest.ts";
export {
  readDuration,
  readMemory,
  writeCarbon,
  writeDuration,
  writeEnergyPrice,
  writeMemory,
  writePrice,
} from "./notation/quantities.ts";
export { shown } from "./notation/reading.ts";
export { readDocument, type DocumentReading, type HeadroomDocument } from "./read-document.ts";
export { scheduleDocument } from "./schedule-document.ts";
export * from "./schedule-spec.ts";
export { sliceFaultsIn } from "./slices.ts";
export { teamDocument } from "./team-document.ts";
export * from "./team-spec.ts";
export { workloadDocument } from "./workload-document.ts";
export * from "./workload-spec.ts";
