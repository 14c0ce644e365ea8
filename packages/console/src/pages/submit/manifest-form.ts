/**
 * The form of a new workload is a view of its manifest: every field reads and writes one key, and other keys are kept.
 */
import { readDocument, type WorkloadSpec } from "@headroom/protocol";
import { DURATION_VARIABLE } from "../../demo/demo-variable.ts";

export type Manifest = Readonly<Record<string, unknown>>;

/** Path of each field in the manifest. */
export const fieldPaths = {
  kind: ["kind"],
  name: ["name"],
  team: ["team"],
  run: ["run"],
  dir: ["dir"],
  tasks: ["tasks"],
  workers: ["gang", "workers"],
  accelerators: ["gang", "accelerators"],
  acceleratorType: ["accelerator"],
  waitForType: ["waitForType"],
  cores: ["gang", "cores"],
  memory: ["gang", "memory"],
  walltime: ["walltime"],
  priority: ["priority"],
  retries: ["retries", "max"],
  preemptible: ["preemptible"],
  checkpointDir: ["checkpoint", "dir"],
  checkpointEvery: ["checkpoint", "every"],
  notBefore: ["notBefore"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type FieldName = keyof typeof fieldPaths;

export const blankManifest: Manifest = { kind: "train", name: "", run: "", gang: { workers: 1, accelerators: 1 } };

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/** The value of a field as text; empty: the manifest does not contain it. */
export function fieldText(manifest: Manifest, field: FieldName): string {
  const value = fieldPaths[field].reduce<unknown>((found, step) => asRecord(found)[step], manifest);
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** Whole numbers and booleans are written without quotes, as people write them in YAML. */
function valueOf(text: string): unknown {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  return text === "true" ? true : text === "false" ? false : text;
}

const textFields: ReadonlySet<FieldName> = new Set(["name", "run", "team", "dir", "checkpointDir"]);

/** Accelerator types are separated by commas in the form. A single type is written as a name, several as a list. */
function typesIn(text: string): string | readonly string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return names.length > 1 ? names : (names[0] ?? "");
}

function writtenValue(field: FieldName, text: string): unknown {
  if (textFields.has(field)) return text;
  return field === "acceleratorType" ? typesIn(text) : valueOf(text.trim());
}

/** Whether the manifest must contain the field. */
const isRequired = (field: FieldName): boolean => field === "name" || field === "run";

/** The manifest with another value of a field. Empty text removes the key, unless the manifest must contain it. */
export function withField(manifest: Manifest, field: FieldName, text: string): Manifest {
  const [outer, inner] = fieldPaths[field] as readonly [string, string?];
  const value = writtenValue(field, text);
  const isKept = value !== "" || isRequired(field);
  if (inner === undefined) return isKept ? { ...manifest, [outer]: value } : without(manifest, outer);
  const part = asRecord(manifest[outer]);
  const next = isKept ? { ...part, [inner]: value } : without(part, inner);
  return Object.keys(next).length === 0 ? without(manifest, outer) : { ...manifest, [outer]: next };
}

const without = (record: Manifest, key: string): Manifest =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));

/** Each kind of workload has the keys of that kind only. */
export function withKind(manifest: Manifest, kind: "train" | "batch"): Manifest {
  const rest = without(without(manifest, "tasks"), "kind");
  return kind === "batch" ? { kind, ...rest, tasks: 10 } : { kind, ...rest };
}

export type ManifestReading =
  | { readonly kind: "ready"; readonly spec: WorkloadSpec }
  | {
      readonly kind: "wrong";
      /** Messages about fields of the form, by field. */
      readonly errors: Partial<Record<FieldName, string>>;
      /** Messages about keys that the form does not show, with their paths. */
      readonly others: readonly string[];
    };

/** `simulatedMinutes`: the run time that the demo simulates. */
export function readManifest(manifest: Manifest, simulatedMinutes: string | null): ManifestReading {
  const reading = readDocument(simulatedMinutes === null ? manifest : simulated(manifest, simulatedMinutes));
  if (reading.ok) {
    if (reading.document.kind === "workload") return { kind: "ready", spec: reading.document.spec };
    return { kind: "wrong", errors: {}, others: ["kind: must be train or batch"] };
  }
  const errors: Partial<Record<FieldName, string>> = {};
  const others: string[] = [];
  for (const { path, message } of reading.problems) {
    const place = path.join(".");
    const field = (Object.keys(fieldPaths) as FieldName[]).find((name) => fieldPaths[name].join(".") === place);
    if (field === undefined) others.push(place === "" ? message : `${place}: ${message}`);
    else errors[field] ??= isRequired(field) && fieldText(manifest, field) === "" ? "is required" : message;
  }
  return { kind: "wrong", errors, others };
}

function simulated(manifest: Manifest, minutes: string): Manifest {
  const seconds = /^\d{1,6}$/.test(minutes.trim()) && Number(minutes) > 0 ? Number(minutes) * 60 : 3_600;
  const env = { ...asRecord(manifest["env"]), [DURATION_VARIABLE]: String(seconds) };
  return { ...manifest, run: manifest["run"] === "" ? "simulated" : manifest["run"], env };
}
