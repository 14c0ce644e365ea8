/** The common fields of a workload; rarer ones are keys of the YAML tab. */
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, teamsQuery } from "../../data/queries.ts";
import { Field, Segments, Select, inputClass } from "../../parts/controls.tsx";
import { fieldText, withField, withKind, type FieldName, type Manifest } from "./manifest-form.ts";

interface FormFieldsProps {
  readonly manifest: Manifest;
  readonly errors: Partial<Record<FieldName, string>>;
  /** Simulated run time; `null`: not in the demo. */
  readonly minutes: string | null;
  readonly onMinutes: (minutes: string) => void;
  readonly onManifest: (manifest: Manifest) => void;
}

const kinds = [
  { value: "train", label: "Training run" },
  { value: "batch", label: "Batch array" },
] as const;

export function FormFields({ manifest, errors, minutes, onMinutes, onManifest }: FormFieldsProps): ReactElement {
  const text = (name: FieldName, label: string, hint?: string): ReactElement => (
    <TextField
      id={`submit-${name}`}
      label={label}
      hint={hint}
      value={fieldText(manifest, name)}
      error={errors[name]}
      isCode={name === "run"}
      onValue={(value) => onManifest(withField(manifest, name, value))}
    />
  );
  const isBatch = fieldText(manifest, "kind") === "batch";
  return (
    <>
      <Segments
        label="Kind of workload"
        name="submit-kind"
        value={isBatch ? "batch" : "train"}
        options={kinds}
        onValue={(kind) => onManifest(withKind(manifest, kind))}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        {text("name", "Name", "Letters, digits, '.', '_' and '-'.")}
        <Choices manifest={manifest} errors={errors} onManifest={onManifest} field="team" />
      </div>
      {minutes === null
        ? text(
            "run",
            "Command",
            "Run by /bin/sh once for each worker, with the variables of torchrun (RANK, WORLD_SIZE, …).",
          )
        : null}
      <div className="grid gap-4 sm:grid-cols-3">
        {isBatch ? text("tasks", "Tasks", "Each gets its number in HEADROOM_TASK_INDEX.") : null}
        {text("workers", isBatch ? "Workers per task" : "Workers")}
        {text("accelerators", "Accelerators per worker")}
        <Choices manifest={manifest} errors={errors} onManifest={onManifest} field="acceleratorType" />
        {text("cores", "Cores per worker", "1 if empty.")}
        {text("memory", "Memory per worker", "For example 64GiB; none set aside if empty.")}
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        {minutes === null ? null : (
          <TextField
            id="submit-duration"
            label="Runs for (minutes)"
            hint="Simulated time."
            value={minutes}
            error={undefined}
            isCode={false}
            onValue={onMinutes}
          />
        )}
        {text("walltime", "Walltime", "For example 90m or 12h; unlimited if empty.")}
        {text("priority", "Priority", "low, normal, high or a number.")}
        {text("retries", "Retries", "2 if empty.")}
        <Preemptible manifest={manifest} error={errors.preemptible} onManifest={onManifest} />
        {minutes === null ? text("dir", "Directory", "Absolute path on the nodes.") : null}
        {text("notBefore", "Not before", "For example 2027-03-01T08:00:00Z.")}
      </div>
    </>
  );
}

const preemptibleOptions = [
  { value: "", label: "As the policy says" },
  { value: "aboveGuarantee", label: "Above the guarantee" },
  { value: "true", label: "Always" },
  { value: "false", label: "Never" },
];

interface PreemptibleProps {
  readonly manifest: Manifest;
  readonly error: string | undefined;
  readonly onManifest: (manifest: Manifest) => void;
}

/** A value that is none of these, from the YAML tab, stays selectable. */
function Preemptible({ manifest, error, onManifest }: PreemptibleProps): ReactElement {
  const value = fieldText(manifest, "preemptible");
  const isKnown = preemptibleOptions.some((option) => option.value === value);
  return (
    <Field
      id="submit-preemptible"
      label="Preemptible"
      error={error}
      hint="Above the guarantee: only teams below their own guarantee can reclaim the capacity."
    >
      <Select
        id="submit-preemptible"
        label="Preemptible"
        value={value}
        options={isKnown ? preemptibleOptions : [...preemptibleOptions, { value, label: value }]}
        onValue={(chosen) => onManifest(withField(manifest, "preemptible", chosen))}
      />
    </Field>
  );
}

interface ChoicesProps {
  readonly manifest: Manifest;
  readonly errors: Partial<Record<FieldName, string>>;
  readonly onManifest: (manifest: Manifest) => void;
  readonly field: "team" | "acceleratorType";
}

/** The teams and accelerator types that there are; a value that is not among them stays selectable. */
function Choices({ manifest, errors, onManifest, field }: ChoicesProps): ReactElement {
  const client = useClient();
  const { data: teams } = useQuery(teamsQuery(client));
  const { data: fleet } = useQuery(fleetQuery(client));
  const isTeam = field === "team";
  const names = isTeam
    ? (teams ?? []).map(({ name }) => name)
    : (fleet?.acceleratorTypes ?? []).map(({ type }) => type);
  const value = fieldText(manifest, field);
  const listed = [...new Set([...names.filter((name) => name !== "default"), ...(value === "" ? [] : [value])])];
  const label = isTeam ? "Team" : "Accelerator";
  return (
    <Field id={`submit-${field}`} label={label} error={errors[field]}>
      <Select
        id={`submit-${field}`}
        label={label}
        value={value}
        options={[
          { value: "", label: isTeam ? "default" : "Any" },
          ...listed.map((name) => ({ value: name, label: name })),
        ]}
        onValue={(chosen) => onManifest(withField(manifest, field, chosen))}
      />
    </Field>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly value: string;
  readonly error: string | undefined;
  readonly isCode: boolean;
  readonly onValue: (value: string) => void;
}

function TextField({ id, label, hint, value, error, isCode, onValue }: TextFieldProps): ReactElement {
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`].filter(
    (part) => part !== "",
  );
  return (
    <Field id={id} label={label} error={error} {...(hint === undefined ? {} : { hint })}>
      <input
        id={id}
        value={value}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={error !== undefined}
        aria-describedby={described.length === 0 ? undefined : described.join(" ")}
        className={`${inputClass} w-full ${isCode ? "font-mono" : ""}`}
        onChange={(event) => onValue(event.target.value)}
      />
    </Field>
  );
}
