import type { WorkloadSpecInput } from "@headroom/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { useClient, useSession } from "../../connect/session.ts";
import { fleetQuery, teamsQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Field, Select, inputClass } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { submissionOf, type FieldName, type SubmitFields } from "./submit-form.ts";

const blank: SubmitFields = {
  name: "",
  team: "default",
  run: "",
  workers: "1",
  accelerators: "1",
  acceleratorType: "",
  walltime: "",
  duration: "60",
  priority: "0",
};

type Errors = Partial<Record<FieldName, string>>;

export function SubmitPage(): ReactElement {
  const { client, demo } = useSession();
  const announcer = useAnnouncer();
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const [fields, setFields] = useState(blank);
  const [errors, setErrors] = useState<Errors>({});
  const submit = useMutation({
    mutationFn: (spec: WorkloadSpecInput) => client.submitWorkload(spec),
    onSuccess: ({ workloadId }) => {
      announcer.say(`${fields.name} was submitted.`);
      void navigate({ to: "/workloads/$workloadId", params: { workloadId } });
    },
  });
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    const submission = submissionOf(fields, demo !== null);
    setErrors(submission.kind === "wrong" ? submission.errors : {});
    if (submission.kind === "ready") submit.mutate(submission.spec);
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const change = (name: FieldName) => (value: string) => setFields((now) => ({ ...now, [name]: value }));
  return (
    <Page
      title="New workload"
      layout="flow"
      summary={
        demo === null
          ? "A training run: one gang that starts together or not at all"
          : "A simulated training run: one gang that starts together or not at all"
      }
    >
      <form ref={form} noValidate onSubmit={onSubmit} className="flex max-w-2xl flex-col gap-4 px-4 pb-8 md:px-6">
        <Inputs fields={fields} errors={errors} change={change} isDemo={demo !== null} />
        {submit.error === null ? null : (
          <p role="alert" className="rounded-md border border-bad bg-bad-soft px-3 py-2 text-bad">
            {problemText(submit.error).detail}
          </p>
        )}
        <div>
          <Button look="primary" type="submit" disabled={submit.isPending}>
            {submit.isPending ? "Submitting" : "Submit"}
          </Button>
        </div>
      </form>
    </Page>
  );
}

interface InputsProps {
  readonly fields: SubmitFields;
  readonly errors: Errors;
  readonly change: (name: FieldName) => (value: string) => void;
  readonly isDemo: boolean;
}

function Inputs({ fields, errors, change, isDemo }: InputsProps): ReactElement {
  const client = useClient();
  const { data: teams } = useQuery(teamsQuery(client));
  const { data: fleet } = useQuery(fleetQuery(client));
  const text = (name: FieldName, label: string, hint?: string): ReactElement => (
    <TextField name={name} label={label} hint={hint} value={fields[name]} error={errors[name]} onValue={change(name)} />
  );
  const types = (fleet?.acceleratorTypes ?? []).map(({ type }) => type);
  return (
    <>
      {text("name", "Name", "Letters, digits, '.', '_' and '-'. Unique within the team while it has not ended.")}
      <Field id="submit-team" label="Team" error={errors.team}>
        <Select
          id="submit-team"
          label="Team"
          value={fields.team}
          options={(teams ?? [{ name: "default" }]).map(({ name }) => ({ value: name, label: name }))}
          onValue={change("team")}
        />
      </Field>
      {isDemo
        ? null
        : text(
            "run",
            "Command",
            "Run by /bin/sh once for each worker, with RANK, WORLD_SIZE, MASTER_ADDR and the rest of torchrun's variables.",
          )}
      <div className="grid gap-4 sm:grid-cols-3">
        {text("workers", "Workers")}
        {text("accelerators", "Accelerators per worker")}
        <Field id="submit-type" label="Accelerator" error={errors.acceleratorType}>
          <Select
            id="submit-type"
            label="Accelerator"
            value={fields.acceleratorType}
            options={[{ value: "", label: "Any" }, ...types.map((type) => ({ value: type, label: type }))]}
            onValue={change("acceleratorType")}
          />
        </Field>
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        {isDemo ? text("duration", "Runs for (minutes)", "Simulated time.") : null}
        {text("walltime", "Walltime (minutes)", "Empty: unlimited.")}
        {text("priority", "Priority", "Larger goes first.")}
      </div>
    </>
  );
}

interface TextFieldProps {
  readonly name: FieldName;
  readonly label: string;
  readonly hint: string | undefined;
  readonly value: string;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}

function TextField({ name, label, hint, value, error, onValue }: TextFieldProps): ReactElement {
  const id = `submit-${name}`;
  const described = [hint === undefined ? "" : `${id}-hint`, error === undefined ? "" : `${id}-error`].filter(
    (part) => part !== "",
  );
  const isNumber = name !== "name" && name !== "run";
  return (
    <Field id={id} label={label} error={error} {...(hint === undefined ? {} : { hint })}>
      <input
        id={id}
        name={name}
        value={value}
        inputMode={isNumber ? "numeric" : "text"}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={error !== undefined}
        aria-describedby={described.length === 0 ? undefined : described.join(" ")}
        className={`${inputClass} w-full ${name === "run" ? "font-mono" : ""}`}
        onChange={(event) => onValue(event.target.value)}
      />
    </Field>
  );
}
