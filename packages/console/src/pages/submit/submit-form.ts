/** Converts the submission form to a specification, with validation errors by field. */
import { submittedSpec } from "@headroom/protocol";
import type { WorkloadSpecInput } from "@headroom/protocol";
import { DURATION_VARIABLE } from "../../demo/demo-variable.ts";

/** Field values as text. */
export interface SubmitFields {
  readonly name: string;
  readonly team: string;
  readonly run: string;
  readonly workers: string;
  readonly accelerators: string;
  readonly acceleratorType: string;
  /** Minutes; empty: unlimited. */
  readonly walltime: string;
  /** Minutes of simulated run time; only in the demo. */
  readonly duration: string;
  readonly priority: string;
}

export type FieldName = keyof SubmitFields;

export type Submission =
  | { readonly kind: "ready"; readonly spec: WorkloadSpecInput }
  | { readonly kind: "wrong"; readonly errors: Partial<Record<FieldName, string>> };

const MINUTE_MS = 60_000;

/** Parses a number; anything else becomes NaN, which the schema refuses with its own message. */
function wholeNumber(text: string): number {
  return /^-?\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

const fieldOfPath: Readonly<Record<string, FieldName>> = {
  name: "name",
  team: "team",
  run: "run",
  "gang.workers": "workers",
  "gang.accelerators": "accelerators",
  acceleratorTypes: "acceleratorType",
  walltimeMs: "walltime",
  env: "duration",
  priority: "priority",
};

export function submissionOf(fields: SubmitFields, isDemo: boolean): Submission {
  const candidate: WorkloadSpecInput = {
    kind: "train",
    name: fields.name.trim(),
    team: fields.team,
    run: isDemo ? "simulated" : fields.run,
    gang: { workers: wholeNumber(fields.workers), accelerators: wholeNumber(fields.accelerators) },
    acceleratorTypes: fields.acceleratorType === "" ? [] : [fields.acceleratorType],
    priority: wholeNumber(fields.priority),
    walltimeMs: fields.walltime.trim() === "" ? null : wholeNumber(fields.walltime) * MINUTE_MS,
    ...(isDemo ? { env: { [DURATION_VARIABLE]: String(wholeNumber(fields.duration) * 60) } } : {}),
  };
  const errors: Partial<Record<FieldName, string>> = {};
  const isDurationWrong = isDemo && !(wholeNumber(fields.duration) >= 1 && wholeNumber(fields.duration) <= 100_000);
  if (isDurationWrong) errors.duration = "must be a whole number of minutes between 1 and 100000";
  for (const { path, message } of submittedSpec.safeParse(candidate).error?.issues ?? []) {
    const field = fieldOfPath[path.join(".")] ?? fieldOfPath[String(path[0])] ?? "name";
    errors[field] ??= field === "walltime" ? "must be a whole number of minutes, or empty" : message;
  }
  return Object.keys(errors).length === 0 ? { kind: "ready", spec: candidate } : { kind: "wrong", errors };
}
