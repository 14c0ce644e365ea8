/** The page for a new workload: a form and a YAML tab for one manifest, with a dry run beside them. */
import { workloadDocument, type Workload, type WorkloadSpec } from "@headroom/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Suspense, lazy, useMemo, useRef, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { useClient, useSession } from "../../connect/session.ts";
import { workloadQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { DryRun } from "./dry-run.tsx";
import { FormFields } from "./form-fields.tsx";
import { blankManifest, readManifest, type Manifest } from "./manifest-form.ts";

const route = getRouteApi("/workloads/new");

const YamlEditor = lazy(() => import("./yaml-editor.tsx").then((module) => ({ default: module.YamlEditor })));

export function SubmitPage(): ReactElement {
  const { from } = route.useSearch();
  return from === undefined ? <NewWorkload key="" start={blankManifest} /> : <Clone key={from} id={from} />;
}

function Clone({ id }: { readonly id: string }): ReactElement {
  const { data, error, refetch } = useQuery(workloadQuery(useClient(), id));
  if (data !== undefined) return <NewWorkload start={cloneOf(data)} />;
  return (
    <Page title="New workload" layout="flow">
      {error === null ? (
        <Loading label="Loading the workload" />
      ) : (
        <Failure error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

/** A cloned workload starts from the beginning: it does not use the checkpoints of the original. */
function cloneOf({ spec }: Workload): Manifest {
  const manifest = workloadDocument({ ...spec, checkpointDir: null });
  return { ...manifest, name: `${spec.name}-copy` };
}

const tabs = [
  { value: "form", label: "Form" },
  { value: "yaml", label: "YAML" },
] as const;

function NewWorkload({ start }: { readonly start: Manifest }): ReactElement {
  const { client, demo } = useSession();
  const announcer = useAnnouncer();
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const [manifest, setManifest] = useState(start);
  const [minutes, setMinutes] = useState("60");
  const [tab, setTab] = useState<(typeof tabs)[number]["value"]>("form");
  const [isChecked, setIsChecked] = useState(false);
  const reading = useMemo(() => readManifest(manifest, demo === null ? null : minutes), [manifest, minutes, demo]);
  const submit = useMutation({
    mutationFn: (spec: WorkloadSpec) => client.submitWorkload(spec),
    onSuccess: ({ workloadId }, { name }) => {
      announcer.say(`${name} was submitted.`);
      void navigate({ to: "/workloads/$workloadId", params: { workloadId } });
    },
  });
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    setIsChecked(true);
    if (reading.kind === "ready") submit.mutate(reading.spec);
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const errors = isChecked && reading.kind === "wrong" ? reading.errors : {};
  return (
    <Page
      title="New workload"
      layout="flow"
      summary={demo === null ? "A training run or a batch array" : "A simulated training run or batch array"}
      actions={<Segments label="Edit as" name="submit-tab" value={tab} options={tabs} onValue={setTab} />}
    >
      <div className="grid items-start gap-4 px-4 pb-8 md:px-6 xl:grid-cols-[minmax(0,42rem)_minmax(18rem,26rem)]">
        <form ref={form} noValidate onSubmit={onSubmit} className="flex flex-col gap-4">
          {tab === "form" ? (
            <FormFields
              manifest={manifest}
              errors={errors}
              minutes={demo === null ? null : minutes}
              onMinutes={setMinutes}
              onManifest={setManifest}
            />
          ) : (
            <Suspense fallback={<Loading label="Loading the editor" />}>
              <YamlEditor manifest={manifest} onManifest={setManifest} />
            </Suspense>
          )}
          {reading.kind === "wrong" && (isChecked || (tab === "yaml" && manifest !== start)) ? (
            <Problems problems={tab === "yaml" ? allProblems(reading) : reading.others} />
          ) : null}
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
        <div className="xl:sticky xl:top-4">
          <DryRun
            spec={reading.kind === "ready" ? reading.spec : null}
            problems={reading.kind === "ready" ? [] : wrongValues(reading)}
          />
        </div>
      </div>
    </Page>
  );
}

/** Problems, except those of required fields that are still empty. */
const wrongValues = (reading: Extract<ReturnType<typeof readManifest>, { kind: "wrong" }>): readonly string[] =>
  allProblems(reading).filter((problem) => !problem.endsWith(": is required"));

const allProblems = ({
  errors,
  others,
}: Extract<ReturnType<typeof readManifest>, { kind: "wrong" }>): readonly string[] => [
  ...Object.entries(errors).map(([field, message]) => `${field}: ${message}`),
  ...others,
];

function Problems({ problems }: { readonly problems: readonly string[] }): ReactElement | null {
  if (problems.length === 0) return null;
  return (
    <ul aria-label="Problems" className="rounded-md border border-bad bg-bad-soft px-3 py-2 text-bad">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}
