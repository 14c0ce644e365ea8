/**
 * Facets that the OpenLineage specification itself defines, with the fields that their published schemas require. An event is valid
 * without them, so a gap is a warning, not a rejection. Facets with other names are custom facets, which are not checked.
 */
import type { Facets, LineageEvent, OpenLineageDataset } from "./event.ts";

type Required = ReadonlyMap<string, readonly string[]>;
const table = (rows: Readonly<Record<string, string>>): Required =>
  new Map(Object.entries(rows).map(([facet, fields]) => [facet, fields.split(" ")]));

const runFacets = table({
  environmentVariables: "environmentVariables",
  errorMessage: "message programmingLanguage",
  externalQuery: "externalQueryId source",
  extractionError: "totalTasks failedTasks errors",
  nominalTime: "nominalStartTime",
  parent: "run job run.runId job.namespace job.name",
  processing_engine: "version",
});
const jobFacets = table({
  documentation: "description",
  jobType: "processingType integration",
  sourceCode: "language sourceCode",
  sourceCodeLocation: "type url",
  sql: "query",
});
const datasetFacets = table({
  columnLineage: "fields",
  dataQualityAssertions: "assertions",
  datasetType: "datasetType",
  documentation: "description",
  lifecycleStateChange: "lifecycleStateChange",
  storage: "storageLayer",
  version: "datasetVersion",
});

/** Warnings such as `run.facets.parent: job.name is missing`. */
export function facetWarnings({ kind, event }: LineageEvent): readonly string[] {
  if (kind === "dataset") return datasetWarnings(event.dataset, "dataset");
  return [
    ...(kind === "run" ? missing(event.run.facets, runFacets, "run.facets") : []),
    ...missing(event.job.facets, jobFacets, "job.facets"),
    ...(event.inputs ?? []).flatMap((input, index) => datasetWarnings(input, `inputs[${index}]`)),
    ...(event.outputs ?? []).flatMap((output, index) => datasetWarnings(output, `outputs[${index}]`)),
  ];
}

const datasetWarnings = ({ facets }: OpenLineageDataset, place: string): readonly string[] =>
  missing(facets, datasetFacets, `${place}.facets`);

function missing(facets: Facets | undefined, required: Required, place: string): readonly string[] {
  if (facets === undefined) return [];
  return Object.entries(facets).flatMap(([name, facet]) => {
    if (facet["_deleted"] === true) return [];
    const gaps = (required.get(name) ?? []).filter((path) => fieldOf(facet, path) === undefined);
    return gaps.map((path) => `${place}.${name}: ${path} is missing`);
  });
}

function fieldOf(facet: unknown, path: string): unknown {
  let value = facet;
  for (const field of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, field)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[field];
  }
  return value;
}
