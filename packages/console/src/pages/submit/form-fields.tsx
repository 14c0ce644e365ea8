/** The common fields of a workload. The YAML tab has all others. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, teamsQuery } from "../../data/queries.ts";
import { Field, Segments, Select, inputClass } from "../../parts/controls.tsx";
import { fieldText, withField, withKind, type FieldName, type Manifest } from "./manifest-form.ts";

interface FormFieldsProps {
  readonly manifest: Manifest;
  readonly errors: Partial<Record<FieldName, string>>;
  /** Simulated run time in minutes; `null`: this is not the demo. */
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
      look={name === "run" ? "code" : "line"}
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
        {text("name", "Name", "Required. Letters, digits, '.', '_' and '-'.")}
        <Team manifest={manifest} errors={errors} onManifest={onManifest} />
      </div>
      {minutes === null
        ? text(
            "run",
            "Command",
            "Required. Run by /bin/sh once for each worker, with the variables of torchrun (RANK, WORLD_SIZE, …).",
          )
        : null}
      <div className="grid gap-4 sm:grid-cols-3">
        {isBatch ? text("tasks", "Tasks", "Each gets its number in HEADROOM_TASK_INDEX.") : null}
        {text("workers", isBatch ? "Workers per task" : "Workers")}
        {text("accelerators", "Accelerators per worker")}
        {text("cores", "Cores per worker", "1 if empty.")}
        {text("memory", "Memory per worker", "For example 64GiB; none set aside if empty.")}
        <AcceleratorTypes manifest={manifest} errors={errors} onManifest={onManifest} />
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        {minutes === null ? null : (
          <TextField
            id="submit-duration"
            label="Runs for (minutes)"
            hint="Simulated time."
            value={minutes}
            error={undefined}
            look="line"
            onValue={onMinutes}
          />
        )}
        {text("walltime", "Walltime", "For example 90m or 12h; unlimited if empty.")}
        {text("priority", "Priority", "low, normal, high or a number.")}
        {text("retries", "Retries", "2 if empty.")}
        <Preemptible manifest={manifest} error={errors.preemptible} onManifest={onManifest} />
        {minutes === null ? text("dir", "Directory", "Absolute path on the nodes.") : null}
        {text("notBefore", "Not before", "2027-03-01T08:00Z, for example. At once if empty.")}
        {minutes === null ? text("checkpointDir", "Checkpoint directory", "Absolute path that all nodes see.") : null}
        {text("checkpointEvery", "Checkpoint every", "30m, for example; auto: by the failure rate of the fleet.")}
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

/** A value from the YAML tab that is not among the options can still be selected. */
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
}

/** Selects an existing team. Another value stays selectable. */
function Team({ manifest, errors, onManifest }: ChoicesProps): ReactElement {
  const { data: teams } = useQuery(teamsQuery(useClient()));
  const value = fieldText(manifest, "team");
  const names = (teams ?? []).map(({ name }) => name).filter((name) => name !== "default");
  const listed = [...new Set([...names, ...(value === "" ? [] : [value])])];
  return (
    <Field id="submit-team" label="Team" error={errors.team}>
      <Select
        id="submit-team"
        label="Team"
        value={value}
        options={[{ value: "", label: "default" }, ...listed.map((name) => ({ value: name, label: name }))]}
        onValue={(chosen) => onManifest(withField(manifest, "team", chosen))}
      />
    </Field>
  );
}

/** Offers the accelerator types of the fleet. Any other type can be entered; the workload then waits for it. */
function AcceleratorTypes({ manifest, errors, onManifest }: ChoicesProps): ReactElement {
  const { data: fleet } = useQuery(fleetQuery(useClient()));
  const inManifest = fieldText(manifest, "acceleratorType");
  const [typed, setTyped] = useState(inManifest);
  // A trailing comma is removed before the text goes to the manifest.
  const isCurrent = fieldText(withField(manifest, "acceleratorType", typed), "acceleratorType") === inManifest;
  return (
    <div className="flex flex-col gap-1.5 sm:col-span-2">
      <TextField
        id="submit-acceleratorType"
        label="Accelerator"
        hint="Any if empty; several in order of preference: H200, H100."
        value={isCurrent ? typed : inManifest}
        error={errors.acceleratorType}
        look="line"
        options={(fleet?.acceleratorTypes ?? []).map(({ type }) => type)}
        onValue={(text) => {
          setTyped(text);
          onManifest(withField(manifest, "acceleratorType", text));
        }}
      />
      <label className="flex items-start gap-2 text-ink-2">
        <input
          type="checkbox"
          className="mt-0.5 accent-accent"
          checked={fieldText(manifest, "waitForType") === "true"}
          onChange={({ target }) => onManifest(withField(manifest, "waitForType", target.checked ? "true" : ""))}
        />
        Wait until a node has this type
      </label>
    </div>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly value: string;
  readonly error: string | undefined;
  /** `code`: the field is a script of any number of lines. */
  readonly look: "line" | "code";
  /** Values that the field offers while the user types. */
  readonly options?: readonly string[];
  readonly onValue: (value: string) => void;
}

const CODE_LINES_MAX = 12;

function TextField({ id, label, hint, value, error, look, options, onValue }: TextFieldProps): ReactElement {
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`].filter(
    (part) => part !== "",
  );
  const common = {
    id,
    value,
    autoComplete: "off",
    spellCheck: false,
    "aria-invalid": error !== undefined,
    "aria-describedby": described.length === 0 ? undefined : described.join(" "),
    onChange: ({ target }: { readonly target: { readonly value: string } }): void => onValue(target.value),
  };
  return (
    <Field id={id} label={label} error={error} {...(hint === undefined ? {} : { hint })}>
      {look === "code" ? (
        <textarea
          {...common}
          rows={Math.min(CODE_LINES_MAX, value.split("\n").length)}
          className={`${inputClass} scroll-thin h-auto! min-h-8 w-full resize-y py-1.5 font-mono text-xs`}
        />
      ) : (
        <input {...common} list={options === undefined ? undefined : `${id}-list`} className={`${inputClass} w-full`} />
      )}
      {options === undefined ? null : (
        <datalist id={`${id}-list`}>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </datalist>
      )}
    </Field>
  );
}
