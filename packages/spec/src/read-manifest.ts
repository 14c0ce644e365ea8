/** Converts one document of a manifest from plain data (the parsed YAML or JSON) to the form that the API accepts. */
import { z } from "zod";
import {
  calendarEntryOf,
  maintenance,
  reservation,
  tariffManifest,
  tariffProblems,
  windowProblems,
} from "./calendar.ts";
import type { CalendarEntry } from "./calendar.ts";
import { problemsOf, type DocumentProblem, type FieldProblem } from "./document-problem.ts";
import type { Fields, RecordNotation, WrittenFields } from "./encoding/field.ts";
import { fleet, fleetOf, fleetProblems, type FleetFromDocument } from "./fleet.ts";
import { shown } from "./notation/reading.ts";
import { pipelineManifest, pipelineOf, pipelineProblems, type Pipeline } from "./pipeline/pipeline.ts";
import { scheduleManifest, scheduleOf, scheduleProblems, type Schedule } from "./schedule.ts";
import { team, teamOf, teamProblems, type TeamSpec } from "./team.ts";
import { model, type ModelRequest } from "./workload/model.ts";
import { batch, serve, train, workloadOf, type WorkloadSpec, type WrittenWorkload } from "./workload/workload.ts";
import { workloadProblems } from "./workload/workload-problems.ts";

export type HeadroomDocument =
  | {
      readonly kind: "workload";
      readonly spec: WorkloadSpec;
      /** The model that the workload trains. It serves for a check before the submission and is not submitted. */
      readonly model?: ModelRequest | undefined;
    }
  | { readonly kind: "schedule"; readonly schedule: Schedule }
  | { readonly kind: "pipeline"; readonly pipeline: Pipeline }
  | { readonly kind: "calendar"; readonly entry: CalendarEntry }
  | { readonly kind: "team"; readonly team: TeamSpec }
  | { readonly kind: "fleet"; readonly fleet: FleetFromDocument };

/** A kind of document: its fields, the rules between them, and its conversion to the form of the API. */
interface Kind<F extends Fields> {
  readonly notation: RecordNotation<F, z.ZodType>;
  problems(written: WrittenFields<F>): readonly FieldProblem[];
  documentOf(written: WrittenFields<F>): HeadroomDocument;
}

const kindOf = <F extends Fields>(kind: Kind<F>): Kind<F> => kind;

const modelOf = (written: WrittenWorkload): ModelRequest | undefined =>
  written.kind === "serve" || written.model === null ? undefined : (model.toWire(written.model) as ModelRequest);

function workloadDocumentOf(written: WrittenWorkload): HeadroomDocument {
  const requested = modelOf(written);
  return { kind: "workload", spec: workloadOf(written), ...(requested === undefined ? {} : { model: requested }) };
}

const entryOf = (written: Parameters<typeof calendarEntryOf>[0]): HeadroomDocument => ({
  kind: "calendar",
  entry: calendarEntryOf(written),
});

/** Every kind of document, in the order that messages, JSON Schema and reference use. */
export const kinds = {
  train: kindOf({ notation: train, problems: (written) => workloadProblems(written), documentOf: workloadDocumentOf }),
  batch: kindOf({ notation: batch, problems: (written) => workloadProblems(written), documentOf: workloadDocumentOf }),
  serve: kindOf({ notation: serve, problems: (written) => workloadProblems(written), documentOf: workloadDocumentOf }),
  fleet: kindOf({
    notation: fleet,
    problems: fleetProblems,
    documentOf: (written) => ({ kind: "fleet", fleet: fleetOf(written) }),
  }),
  team: kindOf({
    notation: team,
    problems: teamProblems,
    documentOf: (written) => ({ kind: "team", team: teamOf(written) }),
  }),
  maintenance: kindOf({ notation: maintenance, problems: windowProblems, documentOf: entryOf }),
  reservation: kindOf({ notation: reservation, problems: windowProblems, documentOf: entryOf }),
  tariff: kindOf({ notation: tariffManifest, problems: tariffProblems, documentOf: entryOf }),
  schedule: kindOf({
    notation: scheduleManifest,
    problems: scheduleProblems,
    documentOf: (written) => ({ kind: "schedule", schedule: scheduleOf(written) }),
  }),
  pipeline: kindOf({
    notation: pipelineManifest,
    problems: pipelineProblems,
    documentOf: (written) => ({ kind: "pipeline", pipeline: pipelineOf(written) }),
  }),
};

/** The schema of every kind of document; `z.toJSONSchema` generates the editors' schema from it. */
export const documentSchema = z.discriminatedUnion(
  "kind",
  Object.values(kinds).map(({ notation }) => notation.schema) as never,
  {
    error: (issue) =>
      issue.code === "invalid_union"
        ? undefined
        : `must be a mapping with a kind, like "kind: train", got ${shown(issue.input)}`,
  },
) as unknown as z.ZodType<{ readonly kind: keyof typeof kinds }>;

export type DocumentReading =
  | { readonly ok: true; readonly document: HeadroomDocument }
  | { readonly ok: false; readonly problems: readonly DocumentProblem[] };

/** Reads a document and never throws. For an invalid document, it returns all problems that it can find at once. */
export function readDocument(value: unknown): DocumentReading {
  const outcome = documentSchema.safeParse(value);
  if (!outcome.success) return { ok: false, problems: problemsOf(outcome.error.issues, value) };
  const kind = kinds[outcome.data.kind] as unknown as Kind<Fields>;
  const problems = kind.problems(outcome.data);
  if (problems.length === 0) return { ok: true, document: kind.documentOf(outcome.data) };
  return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
}
