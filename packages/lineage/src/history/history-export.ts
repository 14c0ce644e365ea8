/**
 * The journal as OpenLineage events. An attempt is a run of the job TEAM/WORKLOAD. Its inputs are the data sets and artifacts of the
 * workload and the checkpoint that it resumes from; its outputs are the artifacts and checkpoints that it reported.
 *
 * Memory is bounded by the workloads and the running attempts. Start with `fold`.
 */
import {
  hashText,
  type ProducedArtifact,
  type Event,
  type EventOf,
  type WaitsFor,
  type WorkloadSpec,
} from "@headroom/model";
import type { Facet, Facets, OpenLineageDataset, OpenLineageJob, RunEvent, RunState } from "../events/event.ts";

const SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json";
const FACETS = "https://openlineage.io/spec/facets";

export interface HistoryOptions {
  /** Makes run ids unique among control planes: two journals have different attempts of the same name. */
  readonly journal: string;
  /** Namespace of the jobs. */
  readonly namespace: string;
  /** URI of the program that writes the events. */
  readonly producer: string;
  /** An instant as text of RFC 3339. */
  readonly timeText: (atMs: number) => string;
}

interface KnownWorkload {
  readonly team: string;
  name: string;
  readonly user: string;
  readonly spec: WorkloadSpec;
  /** Artifacts that the workload got or waits for: by producer and name, or by location. */
  readonly artifacts: Map<string, ProducedArtifact>;
  readonly waitsFor: WaitsFor[];
  /** Newest checkpoint of each task. */
  readonly checkpoints: Map<number, Checkpoint>;
}

interface Checkpoint {
  readonly path: string;
  readonly step: number;
}

interface KnownAttempt {
  readonly workloadId: string;
  readonly placed: EventOf<"gangPlaced">;
  readonly inputs: readonly OpenLineageDataset[];
  readonly outputs: Map<string, OpenLineageDataset>;
  hasStarted: boolean;
}

export class HistoryExport {
  readonly #options: HistoryOptions;
  readonly #workloads = new Map<string, KnownWorkload>();
  readonly #attempts = new Map<string, KnownAttempt>();
  /** Location of each artifact, by workload id and name. */
  readonly #artifacts = new Map<string, ProducedArtifact>();

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  *fold(events: Iterable<Event>): Generator<RunEvent> {
    for (const event of events) yield* this.#fold(event);
  }

  *#fold(event: Event): Generator<RunEvent> {
    switch (event.kind) {
      case "workloadSubmitted":
        this.#submit(event);
        return;
      case "workloadChanged":
      case "workloadRerun":
        this.#change(event);
        return;
      case "gangPlaced":
        this.#place(event);
        return;
      case "attemptStarted":
        yield* this.#start(event.attemptId, event.atMs);
        return;
      case "artifactRecorded":
        yield* this.#output(event, this.#recordArtifact(event));
        return;
      case "checkpointRecorded":
        yield* this.#output(event, this.#recordCheckpoint(event));
        return;
      case "attemptEnded":
        yield* this.#end(event);
        return;
      default:
    }
  }

  #submit({ workloadId, spec, actor, given = [], waitsFor = [] }: EventOf<"workloadSubmitted">): void {
    this.#workloads.set(workloadId, {
      team: spec.team,
      name: spec.name,
      user: actor,
      spec,
      artifacts: new Map(given.map((artifact) => [artifact.path, artifact])),
      waitsFor: [...waitsFor],
      checkpoints: new Map(),
    });
  }

  #change({ workloadId, given = [], waitsFor = [] }: EventOf<"workloadChanged"> | EventOf<"workloadRerun">): void {
    const workload = this.#workloads.get(workloadId);
    for (const artifact of given) workload?.artifacts.set(artifact.path, artifact);
    workload?.waitsFor.push(...waitsFor);
  }

  #place(event: EventOf<"gangPlaced">): void {
    const workload = this.#workloads.get(event.workloadId);
    if (workload === undefined) return;
    for (const pending of workload.waitsFor.splice(0)) {
      if (pending.on !== "artifact") continue;
      const artifact = this.#artifacts.get(`${pending.workloadId}\0${pending.artifact}`);
      if (artifact !== undefined) workload.artifacts.set(artifact.path, artifact);
    }
    const checkpoint = workload.checkpoints.get(event.task);
    this.#attempts.set(event.attemptId, {
      workloadId: event.workloadId,
      placed: event,
      inputs: [
        ...(workload.spec.data?.inputs ?? []).map((place) => this.#dataset(place)),
        ...[...workload.artifacts.values()].map(({ path }) => this.#dataset(path)),
        ...(checkpoint === undefined ? [] : [this.#checkpoint(checkpoint)]),
      ],
      outputs: new Map(),
      hasStarted: false,
    });
  }

  *#start(attemptId: string, atMs: number): Generator<RunEvent> {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || attempt.hasStarted) return;
    attempt.hasStarted = true;
    yield* this.#event("START", attempt, atMs, []);
  }

  #recordArtifact({ attemptId, name, path }: EventOf<"artifactRecorded">): OpenLineageDataset {
    const workloadId = this.#attempts.get(attemptId)?.workloadId ?? "";
    const workload = this.#workloads.get(workloadId);
    this.#artifacts.set(`${workloadId}\0${name}`, { name, path });
    const names =
      workload === undefined ? [name] : [name, `${workload.name}/${name}`, `${workload.team}/${workload.name}/${name}`];
    const identifiers = names.map((alias) => ({ namespace: this.#options.namespace, name: alias, type: "ARTIFACT" }));
    return this.#dataset(path, { symlinks: this.#facet("1-0-1/SymlinksDatasetFacet", { identifiers }) });
  }

  #recordCheckpoint({ attemptId, step, path }: EventOf<"checkpointRecorded">): OpenLineageDataset {
    const attempt = this.#attempts.get(attemptId);
    const checkpoint = { path, step };
    if (attempt !== undefined)
      this.#workloads.get(attempt.workloadId)?.checkpoints.set(attempt.placed.task, checkpoint);
    return this.#checkpoint(checkpoint);
  }

  *#output(
    event: { readonly attemptId: string; readonly atMs: number },
    output: OpenLineageDataset,
  ): Generator<RunEvent> {
    const attempt = this.#attempts.get(event.attemptId);
    if (attempt === undefined) return;
    // A location that is written again stays one output.
    attempt.outputs.set(JSON.stringify([output.namespace, output.name, output.facets?.["version"]]), output);
    yield* this.#event("RUNNING", attempt, event.atMs, [output]);
  }

  *#end({ attemptId, outcome, atMs }: EventOf<"attemptEnded">): Generator<RunEvent> {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return;
    // Every run has a start, also one whose attempt was lost before its workers ran.
    yield* this.#start(attemptId, atMs);
    const state = outcome === "succeeded" ? "COMPLETE" : outcome === "stopped" ? "ABORT" : "FAIL";
    yield* this.#event(state, attempt, atMs, [...attempt.outputs.values()]);
    this.#attempts.delete(attemptId);
  }

  *#event(
    eventType: RunState,
    attempt: KnownAttempt,
    atMs: number,
    outputs: readonly OpenLineageDataset[],
  ): Generator<RunEvent> {
    const workload = this.#workloads.get(attempt.workloadId);
    if (workload === undefined) return;
    yield {
      eventType,
      eventTime: this.#options.timeText(atMs),
      run: { runId: runIdOf(this.#options.journal, attempt.placed.attemptId), facets: this.#runFacets(attempt) },
      job: this.#job(workload),
      inputs: attempt.inputs,
      outputs,
      producer: this.#options.producer,
      schemaURL: `${SPEC}#/$defs/RunEvent`,
    };
  }

  #runFacets({ workloadId, placed }: KnownAttempt): Facets {
    const { attemptId, task, number, acceleratorType, workers } = placed;
    return {
      headroom_attempt: {
        _producer: this.#options.producer,
        _schemaURL: `${SPEC}#/$defs/RunFacet`,
        attemptId,
        workloadId,
        task,
        number,
        acceleratorType,
        nodes: [...new Set(workers.map(({ node }) => node))],
      },
    };
  }

  #job({ team, name, user, spec }: KnownWorkload): OpenLineageJob {
    return {
      namespace: this.#options.namespace,
      name: `${team}/${name}`,
      facets: {
        jobType: this.#facet("2-0-4/JobTypeJobFacet", {
          processingType: "BATCH",
          integration: "HEADROOM",
          jobType: spec.kind.toUpperCase(),
        }),
        ownership: this.#facet("1-0-1/OwnershipJobFacet", {
          owners: [
            { name: `team:${team}`, type: "TEAM" },
            { name: `user:${user}`, type: "SUBMITTER" },
          ],
        }),
        sourceCode: this.#facet("1-0-1/SourceCodeJobFacet", { language: "sh", sourceCode: spec.run }),
      },
    };
  }

  #checkpoint({ path, step }: Checkpoint): OpenLineageDataset {
    return this.#dataset(path, {
      version: this.#facet("1-0-1/DatasetVersionDatasetFacet", { datasetVersion: `step-${step}` }),
    });
  }

  #dataset(place: string, facets: Facets = {}): OpenLineageDataset {
    return { ...datasetAt(place, this.#options.namespace), facets };
  }

  #facet(schema: string, fields: Readonly<Record<string, unknown>>): Facet {
    const name = schema.slice(schema.indexOf("/") + 1);
    return {
      _producer: this.#options.producer,
      _schemaURL: `${FACETS}/${schema}.json#/$defs/${name}`,
      ...fields,
    };
  }
}

/**
 * The dataset at a place, by the naming conventions of OpenLineage (https://openlineage.io/docs/spec/naming): `s3://bucket` and the
 * key, `file` and the path. Any other text names a data set of the fleet.
 */
export function datasetAt(place: string, namespace: string): { readonly namespace: string; readonly name: string } {
  const remote = /^(?<store>[a-z][a-z0-9+.-]*:\/\/[^/]+)\/+(?<name>.+)$/i.exec(place)?.groups;
  if (remote?.["store"] !== undefined && remote["name"] !== undefined)
    return { namespace: remote["store"], name: remote["name"] };
  const path = place.replace(/^file:\/\/(?=\/)/, "");
  return path.startsWith("/") ? { namespace: "file", name: path } : { namespace, name: place };
}

/** A UUID of version 8 (RFC 9562): the same attempt of the same journal always has the same run id. */
export function runIdOf(journal: string, attemptId: string): string {
  const hex = hashText(`${journal}\n${attemptId}`);
  const variant = "89ab"[Number.parseInt(hex[16] ?? "0", 16) & 3] ?? "8";
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
