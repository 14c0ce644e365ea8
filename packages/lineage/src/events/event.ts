/** The parts of OpenLineage events (https://openlineage.io/spec/2-0-2/OpenLineage.json) that lineage reads and writes. */

export interface Facet {
  readonly _producer: string;
  readonly _schemaURL: string;
  readonly [field: string]: unknown;
}

export type Facets = Readonly<Record<string, Facet>>;

export interface OpenLineageJob {
  readonly namespace: string;
  readonly name: string;
  readonly facets?: Facets;
}

export interface OpenLineageDataset {
  readonly namespace: string;
  readonly name: string;
  readonly facets?: Facets;
  readonly inputFacets?: Facets;
  readonly outputFacets?: Facets;
}

export interface OpenLineageRun {
  readonly runId: string;
  readonly facets?: Facets;
}

interface BaseEvent {
  /** RFC 3339. */
  readonly eventTime: string;
  readonly producer: string;
  readonly schemaURL: string;
}

interface DatasetsOfEvent {
  readonly inputs?: readonly OpenLineageDataset[];
  readonly outputs?: readonly OpenLineageDataset[];
}

export const RUN_STATES = ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"] as const;
export type RunState = (typeof RUN_STATES)[number];

export interface RunEvent extends BaseEvent, DatasetsOfEvent {
  readonly eventType?: RunState;
  readonly run: OpenLineageRun;
  readonly job: OpenLineageJob;
}

export interface JobEvent extends BaseEvent, DatasetsOfEvent {
  readonly job: OpenLineageJob;
}

export interface DatasetEvent extends BaseEvent {
  readonly dataset: OpenLineageDataset;
}

/** An event with its kind, which the schema leaves to the fields that the event has. */
export type LineageEvent =
  | { readonly kind: "run"; readonly event: RunEvent }
  | { readonly kind: "job"; readonly event: JobEvent }
  | { readonly kind: "dataset"; readonly event: DatasetEvent };
