/** Edits a workload that waits or runs: the fields, then the changes with their effect on the start, and then the change. */
import { readDuration, writeDuration } from "@headroom/protocol";
import type { Workload, WorkloadChanged, WorkloadChangesBody } from "@headroom/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { problemText } from "../../format/problem-text.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Field, inputClass } from "../../parts/controls.tsx";
import { Drawer } from "../../parts/dialog.tsx";

interface WorkloadEditorProps {
  readonly workload: Workload;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function WorkloadEditor({ workload, isOpen, onClose }: WorkloadEditorProps): ReactElement {
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title={`Edit ${workload.name}`}>
      {isOpen ? <Editor workload={workload} onClose={onClose} /> : null}
    </Drawer>
  );
}

type EditedValues = Readonly<Record<(typeof fields)[number]["name"], string>>;

const fields = [
  { name: "name", label: "Name", hint: "" },
  {
    name: "priority",
    label: "Priority",
    hint: "a whole number; larger goes first where the policy orders by priority",
  },
  { name: "walltime", label: "Walltime", hint: "like 12h; empty: unlimited" },
  { name: "workers", label: "Workers", hint: "the maximum of an elastic gang" },
  { name: "retries", label: "Retries", hint: "after failures of its own" },
] as const;

const valuesOf = ({ spec }: Workload): EditedValues => ({
  name: spec.name,
  priority: String(spec.priority),
  walltime: spec.walltimeMs === null ? "" : writeDuration(spec.walltimeMs),
  workers: String(spec.gang.workers),
  retries: String(spec.retries.max),
});

/** The changes, or the reason why a value is not valid. */
function changesIn(workload: Workload, values: EditedValues): WorkloadChangesBody | string {
  const before = valuesOf(workload);
  const isChanged = (name: keyof EditedValues): boolean => before[name] !== values[name].trim();
  const whole = (name: keyof EditedValues): number | null =>
    /^-?\d{1,9}$/.test(values[name].trim()) ? Number(values[name]) : null;
  const changes: Record<string, unknown> = {};
  if (isChanged("name")) changes["name"] = values.name.trim();
  for (const name of ["priority", "workers"] as const) {
    if (!isChanged(name)) continue;
    changes[name] = whole(name);
    if (changes[name] === null) return `${name} must be a whole number.`;
  }
  if (isChanged("retries")) {
    const max = whole("retries");
    if (max === null) return "retries must be a whole number.";
    changes["retries"] = { max };
  }
  if (isChanged("walltime")) {
    const text = values.walltime.trim();
    const reading = text === "" ? null : readDuration(text, { min: 1, max: Number.MAX_SAFE_INTEGER });
    if (reading !== null && !reading.ok) return `walltime ${reading.message}.`;
    changes["walltimeMs"] = reading?.value ?? null;
  }
  return changes;
}

function Editor({ workload, onClose }: Pick<WorkloadEditorProps, "workload" | "onClose">): ReactElement {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const [values, setValues] = useState(() => valuesOf(workload));
  const changes = changesIn(workload, values);
  const isEmpty = typeof changes !== "string" && Object.keys(changes).length === 0;
  const review = useMutation({
    mutationFn: (wanted: WorkloadChangesBody) => client.changeWorkload(workload.id, wanted, { dryRun: true }),
  });
  const change = useMutation({
    mutationFn: (wanted: WorkloadChangesBody) => client.changeWorkload(workload.id, wanted),
    onSuccess: () => {
      announcer.say(`${workload.name} was changed.`);
      onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["workload", workload.id] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (typeof changes === "string" || isEmpty) return;
    if (review.data === undefined) review.mutate(changes);
    else change.mutate(changes);
  };
  const error = change.error ?? review.error;
  return (
    <form noValidate onSubmit={submit} className="flex flex-col gap-4 p-4">
      {fields.map(({ name, label, hint }) => (
        <Field key={name} id={`edit-${name}`} label={label} hint={hint}>
          <input
            id={`edit-${name}`}
            className={inputClass}
            value={values[name]}
            onChange={({ target }) => {
              setValues((now) => ({ ...now, [name]: target.value }));
              review.reset();
            }}
          />
        </Field>
      ))}
      <p className="text-xs text-ink-2">It keeps its place in the order of submission.</p>
      {typeof changes === "string" ? <p className="text-bad">{changes}</p> : null}
      {error === null ? null : (
        <p role="alert" className="text-bad">
          {problemText(error).detail}
        </p>
      )}
      {review.data === undefined ? null : <Review answer={review.data} />}
      <Button look="primary" type="submit" disabled={isEmpty || typeof changes === "string" || change.isPending}>
        {review.data === undefined ? "Review" : "Change"}
      </Button>
    </form>
  );
}

function Review({ answer: { changes, start } }: { readonly answer: WorkloadChanged }): ReactElement {
  return (
    <section aria-label="Changes" className="rounded-md border border-line p-3 text-sm">
      <ul>
        {changes.map(({ field, before, after }) => (
          <li key={field}>
            {field}: {before ?? "none"} → {after ?? "none"}
          </li>
        ))}
      </ul>
      {start === undefined ? null : (
        <>
          <p className="mt-2 text-ink-2">Expected start now: {start.before?.sentence ?? "It does not wait."}</p>
          <p className="text-ink-2">With the change: {start.after?.sentence ?? "It does not wait."}</p>
        </>
      )}
    </section>
  );
}
