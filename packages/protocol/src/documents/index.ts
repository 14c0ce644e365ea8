/**
 * The dialect in which people declare workloads, teams and fleets (docs/workload-files.md). Pure: from plain data to what
 * the API takes and back. It must not know about YAML, files or lines: a problem carries its path, the CLI knows the place.
 * Start with `read-document.ts`; the kinds are in `*-document.ts`, units in `quantities.ts`, messages in `field.ts`.
 */
export { calendarDocument } from "./calendar-documents.ts";
export { levelProblems, shapeProblems, type LevelProblem } from "./fabric-levels.ts";
export { checkDocuments, checkFabricLevels, type CrossProblem } from "./check-documents.ts";
export { pathText, type DocumentProblem } from "./document-problem.ts";
export { fleetDocument, type FleetFromDocument, type SimulatedNodes } from "./fleet-document.ts";
export { documentJsonSchema } from "./json-schema.ts";
export type { ModelRequest } from "./model-fields.ts";
export { nearestName } from "./nearest.ts";
export { readInstant, writeInstant } from "./instants.ts";
export {
  readDuration,
  readMemory,
  writeCarbon,
  writeDuration,
  writeEnergyPrice,
  writeMemory,
  writePrice,
} from "./quantities.ts";
export { writeCron } from "./cron.ts";
export { readPolicy, type PolicyReading } from "./policy-document.ts";
export { scheduleDocument } from "./schedule-document.ts";
export { readDocument, type DocumentReading, type HeadroomDocument } from "./read-document.ts";
export { teamDocument } from "./team-document.ts";
export { workloadDocument } from "./workload-document.ts";
