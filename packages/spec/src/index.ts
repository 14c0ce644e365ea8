/**
 * Resources that users declare: one declaration for each field, with two encodings. The wire is the JSON of the API; a
 * manifest is the YAML that people write. This package is pure: it has no YAML, files or lines. A problem carries its
 * path, and the CLI maps it to a line. Start with `workload/gang.ts` for fields, `encoding/field.ts` for the definition
 * of a field, `read-manifest.ts` for the kinds of documents.
 */
export * as limits from "./limits.ts";
export * as names from "./names.ts";
export * from "./limits.ts";
export * from "./names.ts";
export { calendarDocument, calendarEntry, type CalendarEntry, type Tariff } from "./calendar.ts";
export { checkDocuments, checkFabricLevels, type CrossProblem } from "./check-documents.ts";
export { pathText, problemsOf, type DocumentProblem } from "./document-problem.ts";
export type { Field, Fields, WireShape, WrittenFields } from "./encoding/field.ts";
export { notAChoice } from "./encoding/read-values.ts";
export { levelProblems, shapeProblems, type LevelProblem } from "./fabric-levels.ts";
export {
  fleetDocument,
  pool,
  site,
  type FleetFromDocument,
  type Pool,
  type SimulatedNodes,
  type Site,
} from "./fleet.ts";
export { documentJsonSchema } from "./json-schema.ts";
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
export { readDocument, type DocumentReading, type HeadroomDocument } from "./read-manifest.ts";
export { policy, type Policy } from "./policy/policy.ts";
export { readPolicy, type PolicyReading } from "./policy/policy-document.ts";
export { policyKnobs, type PolicyKnob } from "./policy/policy-knobs.ts";
export { referencePages, type ReferencePage } from "./reference.ts";
export { pipeline, pipelineDocument, stepSpecs, type Pipeline } from "./pipeline/pipeline.ts";
export { schedule, scheduleDocument, type Schedule } from "./schedule.ts";
export { scheduleTimes, type ScheduleTimes } from "./schedule-times.ts";
export { resourceNames, teamDocument, teamSpec, type TeamSpec } from "./team.ts";
export { recordedChanges, workloadChanges, type WorkloadChangesBody } from "./workload/changes.ts";
export { isReservedVariable } from "./workload/environment.ts";
export type { ModelRequest } from "./workload/model.ts";
export { gangOfGroups, gangSpec, type GangSpec, type TaskGroup } from "./workload/gang.ts";
export { sliceFaultsIn } from "./workload/slices.ts";
export {
  DEFAULT_GRACE_TIMEOUT_MS,
  submittedSpec,
  workloadDocument,
  workloadSpec,
  type WorkloadKind,
  type WorkloadSpec,
  type WorkloadSpecInput,
} from "./workload/workload.ts";
export { DEFAULT_TEAM } from "./default-team.ts";
export { powerCap as powerCapNotation } from "./power.ts";
