/** The editor of a team. It shows the fields, then the difference and a dry run, and then makes the change. */
import type { ApplyPlan, Team } from "@headroom/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Field, Select, TextInput } from "../../parts/controls.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import {
  changesBetween,
  faultIn,
  fieldsOf,
  specOf,
  withFields,
  type FieldChange,
  type QuotaFields,
  type TeamFields,
  type TeamInput,
} from "./team-change.ts";

interface TeamEditorProps {
  /** The team that is edited; `null`: a new team; `undefined`: the editor is closed. */
  readonly team: Team | null | undefined;
  readonly teams: readonly Team[];
  readonly onClose: () => void;
}

export function TeamEditor({ team, teams, onClose }: TeamEditorProps): ReactElement {
  const title = team === undefined ? "" : team === null ? "New team" : `Edit ${team.name}`;
  return (
    <Drawer isOpen={team !== undefined} onClose={onClose} title={title}>
      {team === undefined ? null : <Editor key={team?.name ?? ""} team={team} teams={teams} onClose={onClose} />}
    </Drawer>
  );
}

interface EditorProps extends TeamEditorProps {
  readonly team: Team | null;
}

function useEditing({ team, teams, onClose }: EditorProps) {
  const client = useClient();
  const queryClient = useQueryClient();
  const announcer = useAnnouncer();
  const { data: fleet } = useQuery(fleetQuery(client));
  const types = (fleet?.acceleratorTypes ?? []).map(({ type }) => type);
  const [fields, setFields] = useState<TeamFields>(() => fieldsOf(team, types));
  const [reviewed, setReviewed] = useState<TeamInput | null>(null);
  const fault =
    faultIn(fields) ??
    (team === null && teams.some(({ name }) => name === fields.name.trim()) ? "Name: this team exists already." : null);
  const dryRun = useMutation({ mutationFn: (spec: TeamInput) => client.apply({ teams: [spec] }, { dryRun: true }) });
  const apply = useMutation({
    mutationFn: (spec: TeamInput) => client.apply({ teams: [spec] }),
    onSuccess: (_, { name }) => {
      announcer.say(`Team ${name} was ${team === null ? "created" : "changed"}.`);
      onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["teams"] }),
  });
  const change = (next: Partial<TeamFields>): void => {
    setFields((now) => ({ ...now, ...next }));
    setReviewed(null);
  };
  const review = (event: FormEvent): void => {
    event.preventDefault();
    if (fault !== null) return;
    const spec = withFields(team, fields);
    setReviewed(spec);
    dryRun.mutate(spec);
  };
  return { fields, change, reviewed, review, fault, dryRun, apply };
}

function Editor({ team, teams, onClose }: EditorProps): ReactElement {
  const { fields, change, reviewed, review, fault, dryRun, apply } = useEditing({ team, teams, onClose });
  const error = apply.error ?? (reviewed === null ? null : dryRun.error);
  return (
    <form onSubmit={review} noValidate className="scroll-thin flex min-h-0 flex-1 flex-col overflow-y-auto">
      <div className="flex flex-col gap-4 p-4">
        {team === null ? (
          <Field id="team-name" label="Name" hint="research/nlp lies below research">
            <TextInput id="team-name" value={fields.name} onValue={(name) => change({ name })} />
          </Field>
        ) : null}
        <Field
          id="team-weight"
          label="Weight"
          hint="Share of what no guarantee covers, relative to sibling teams; 1 if empty"
        >
          <TextInput id="team-weight" value={fields.weight} onValue={(weight) => change({ weight })} />
        </Field>
        <Quotas quotas={fields.quotas} onQuotas={(quotas) => change({ quotas })} />
        <BudgetFields fields={fields} onChange={change} />
      </div>
      <div className="mt-auto flex flex-col gap-3 border-t border-line p-4">
        {fault === null ? null : <p className="text-xs font-medium text-bad">{fault}</p>}
        {reviewed === null ? null : (
          <Review
            changes={changesBetween(team === null ? null : specOf(team), reviewed)}
            plan={dryRun.data}
            isPending={dryRun.isPending}
          />
        )}
        {error === null ? null : (
          <p role="alert" className="text-bad">
            {problemText(error).detail}
          </p>
        )}
        <EditorActions
          isReviewed={reviewed !== null && dryRun.isSuccess}
          isBlocked={fault !== null || dryRun.isPending || apply.isPending}
          onApply={() => reviewed !== null && apply.mutate(reviewed)}
          onClose={onClose}
        />
      </div>
    </form>
  );
}

interface EditorActionsProps {
  readonly isReviewed: boolean;
  readonly isBlocked: boolean;
  readonly onApply: () => void;
  readonly onClose: () => void;
}

function EditorActions({ isReviewed, isBlocked, onApply, onClose }: EditorActionsProps): ReactElement {
  return (
    <div className="flex gap-2">
      {isReviewed ? (
        <Button key="apply" look="primary" disabled={isBlocked} onClick={onApply}>
          Apply
        </Button>
      ) : (
        <Button key="review" look="primary" type="submit" disabled={isBlocked}>
          Review changes
        </Button>
      )}
      <Button onClick={onClose}>Cancel</Button>
    </div>
  );
}

interface QuotasProps {
  readonly quotas: readonly QuotaFields[];
  readonly onQuotas: (quotas: readonly QuotaFields[]) => void;
}

const unitOf = (resource: string): string =>
  resource === "cores" ? "cores (thousandths)" : resource === "memory" ? "memory (MiB)" : resource;

function Quotas({ quotas, onQuotas }: QuotasProps): ReactElement {
  const change = (at: number, next: Partial<QuotaFields>): void =>
    onQuotas(quotas.map((each, index) => (index === at ? { ...each, ...next } : each)));
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Quotas</legend>
      <div className="grid grid-cols-[1fr_6rem_6rem] items-center gap-x-2 gap-y-1.5">
        <span className="text-xs text-ink-3">Resource</span>
        <span className="text-xs text-ink-3">Guarantee</span>
        <span className="text-xs text-ink-3">Limit</span>
        {quotas.map(({ resource, guarantee, limit }, index) => (
          <div key={resource} className="contents">
            <span className="truncate text-ink-2">{resource === "accelerators" ? "all types" : unitOf(resource)}</span>
            <TextInput
              id={`guarantee-${index}`}
              label={`Guarantee of ${resource}`}
              value={guarantee}
              onValue={(text) => change(index, { guarantee: text })}
            />
            <TextInput
              id={`limit-${index}`}
              label={`Limit of ${resource}`}
              value={limit}
              onValue={(text) => change(index, { limit: text })}
            />
          </div>
        ))}
      </div>
      <p className="mt-1 text-xs text-ink-3">An empty field means none: no guarantee, no limit.</p>
    </fieldset>
  );
}

interface BudgetFieldsProps {
  readonly fields: TeamFields;
  readonly onChange: (next: Partial<TeamFields>) => void;
}

function BudgetFields({ fields, onChange }: BudgetFieldsProps): ReactElement {
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">Budget</legend>
      <div className="grid grid-cols-2 gap-2">
        <Field id="budget-hours" label="GPU-hours">
          <TextInput id="budget-hours" value={fields.gpuHours} onValue={(gpuHours) => onChange({ gpuHours })} />
        </Field>
        <Field id="budget-dollars" label="Dollars">
          <TextInput id="budget-dollars" value={fields.dollars} onValue={(dollars) => onChange({ dollars })} />
        </Field>
        <Select
          label="Budget period"
          value={fields.period}
          options={[
            { value: "month", label: "each month" },
            { value: "total", label: "once" },
          ]}
          onValue={(value) => onChange({ period: value === "total" ? "total" : "month" })}
        />
        <Select
          label="When the budget is used up"
          value={fields.over}
          options={[
            { value: "warn", label: "record it only" },
            { value: "hold", label: "start nothing more" },
            { value: "stop", label: "stop running work" },
          ]}
          onValue={(value) => onChange({ over: value === "hold" || value === "stop" ? value : "warn" })}
        />
      </div>
    </fieldset>
  );
}

interface ReviewProps {
  readonly changes: readonly FieldChange[];
  readonly plan: ApplyPlan | undefined;
  readonly isPending: boolean;
}

function Review({ changes, plan, isPending }: ReviewProps): ReactElement {
  return (
    <section aria-label="Changes" className="flex flex-col gap-2">
      <h3 className="font-medium">Changes</h3>
      {changes.length === 0 ? <p className="text-ink-2">Nothing differs from what is set now.</p> : null}
      <dl className="flex flex-col gap-1">
        {changes.map(({ name, before, after }) => (
          <div key={name} className="flex justify-between gap-3">
            <dt className="text-ink-2">{name}</dt>
            <dd>
              <del className="text-ink-3">{before}</del>
              <span aria-hidden="true"> → </span>
              <ins className="font-medium no-underline">{after}</ins>
            </dd>
          </div>
        ))}
      </dl>
      <p role="status" className="text-xs text-ink-2">
        {isPending
          ? "The control plane checks it without changing anything."
          : plan === undefined
            ? ""
            : `Dry run passed: ${plan.changes.map(({ name, action }) => `${name} would be ${action}`).join(", ")}.`}
      </p>
      {(plan?.warnings ?? []).map(({ message }) => (
        <p key={message} className="text-wait">
          {message}
        </p>
      ))}
    </section>
  );
}
