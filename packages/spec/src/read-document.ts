/** One document of the dialect, from plain data (whatever YAML or JSON held) to what the API takes. */
import { z } from "zod";
import type { TeamSpec } from "./team-spec.ts";
import type { WorkloadSpec } from "./workload-spec.ts";
import type { CalendarEntry } from "./calendar-spec.ts";
import { calendarEntryOf, calendarProblems, maintenanceSchema, reservationSchema } from "./calendar-documents.ts";
import { problemsOf, type DocumentProblem } from "./document-problem.ts";
import { fleetOf, fleetSchema, type FleetFromDocument } from "./fleet-document.ts";
import type { ModelRequest } from "./model-fields.ts";
import { shown } from "./notation/reading.ts";
import type { Schedule } from "./schedule-spec.ts";
import { scheduleOf, scheduleProblems, scheduleSchema } from "./schedule-document.ts";
import { tariffOf, tariffProblems, tariffSchema } from "./tariff-document.ts";
import { teamOf, teamSchema } from "./team-document.ts";
import { batchSchema, trainSchema, workloadOf, workloadProblems } from "./workload-document.ts";

/** Every kind of document. `z.toJSONSchema` makes the editors' schema out of the same definitions. */
export const documentSchema = z.discriminatedUnion(
  "kind",
  [
    trainSchema,
    batchSchema,
    fleetSchema,
    teamSchema,
    maintenanceSchema,
    reservationSchema,
    tariffSchema,
    scheduleSchema,
  ],
  {
    error: (issue) =>
      issue.code === "invalid_union"
        ? undefined
        : `must be a mapping with a kind, like "kind: train", got ${shown(issue.input)}`,
  },
);

export type HeadroomDocument =
  | {
      readonly kind: "workload";
      readonly spec: WorkloadSpec;
      /** What it trains, for a check before it is submitted; no part of what is submitted. */
      readonly model?: ModelRequest | undefined;
    }
  | { readonly kind: "schedule"; readonly schedule: Schedule }
  | { readonly kind: "calendar"; readonly entry: CalendarEntry }
  | { readonly kind: "team"; readonly team: TeamSpec }
  | { readonly kind: "fleet"; readonly fleet: FleetFromDocument };

export type DocumentReading =
  | { readonly ok: true; readonly document: HeadroomDocument }
  | { readonly ok: false; readonly problems: readonly DocumentProblem[] };

/** Never throws. Either the whole document is fine, or every problem that can be told at once is told. */
export function readDocument(value: unknown): DocumentReading {
  const outcome = documentSchema.safeParse(value);
  if (!outcome.success) return { ok: false, problems: problemsOf(outcome.error.issues, value) };
  const written = outcome.data;
  switch (written.kind) {
    case "train":
    case "batch": {
      const problems = workloadProblems(written);
      const model = written.model === undefined ? {} : { model: written.model };
      if (problems.length === 0)
        return { ok: true, document: { kind: "workload", spec: workloadOf(written), ...model } };
      return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
    }
    case "maintenance":
    case "reservation": {
      const problems = calendarProblems(written);
      if (problems.length === 0) return { ok: true, document: { kind: "calendar", entry: calendarEntryOf(written) } };
      return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
    }
    case "tariff": {
      const problems = tariffProblems(written);
      if (problems.length === 0) return { ok: true, document: { kind: "calendar", entry: tariffOf(written) } };
      return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
    }
    case "schedule": {
      const problems = scheduleProblems(written);
      if (problems.length === 0) return { ok: true, document: { kind: "schedule", schedule: scheduleOf(written) } };
      return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
    }
    case "team": {
      const reading = teamOf(written);
      if (reading.ok) return { ok: true, document: { kind: "team", team: reading.value } };
      return { ok: false, problems: [{ path: ["parent"], isAboutKey: false, message: reading.message }] };
    }
    case "fleet": {
      const { fleet, problems } = fleetOf(written);
      if (problems.length === 0) return { ok: true, document: { kind: "fleet", fleet } };
      return { ok: false, problems: problems.map((problem) => ({ ...problem, isAboutKey: false })) };
    }
  }
}
