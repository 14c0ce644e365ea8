/** Forecast of a submission before it is sent, updated while the form is filled in. */
import { canNeverStart, type SubmissionForecast, type WorkloadSpec } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { problemText } from "../../format/problem-text.ts";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";

/** Time in ms without a change in the form before a forecast is requested. */
const SETTLED_MS = 700;

function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface DryRunProps {
  /** The specification; `null`: the form is incomplete, or a field is invalid. */
  readonly spec: WorkloadSpec | null;
  /** Sentences about invalid values, one each; empty while only required fields are missing. */
  readonly problems: readonly string[];
}

export function DryRun({ spec, problems }: DryRunProps): ReactElement {
  const client = useClient();
  const text = useSettled(spec === null ? null : JSON.stringify(spec));
  const { data, error, isFetching } = useQuery({
    queryKey: ["dry run", text],
    enabled: text !== null,
    retry: false,
    gcTime: 0,
    queryFn: ({ signal }) => client.forecastWorkload(JSON.parse(text ?? "{}") as WorkloadSpec, { signal }),
  });
  return (
    <Panel title="Dry run" aside={<span className="text-xs text-ink-3">Nothing is submitted yet</span>}>
      <div className="flex flex-col gap-2 px-4 py-3" aria-live="polite" aria-busy={isFetching}>
        {spec === null ? (
          <Incomplete problems={problems} />
        ) : error !== null ? (
          <>
            <p>
              <Badge tone="bad">Refused</Badge>
            </p>
            <p className="text-base">{problemText(error).detail}</p>
          </>
        ) : data === undefined ? (
          <p className="text-ink-2">Asking the scheduler.</p>
        ) : (
          <Forecast forecast={data} />
        )}
      </div>
    </Panel>
  );
}

function Incomplete({ problems }: Pick<DryRunProps, "problems">): ReactElement {
  if (problems.length === 0) return <p className="text-ink-2">Fill in the required fields. The result appears here.</p>;
  return (
    <>
      <p className="text-ink-2">Correct these first:</p>
      <ul className="list-disc pl-5">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </>
  );
}

const CHANGES_SHOWN = 3;

function Forecast({ forecast }: { readonly forecast: SubmissionForecast }): ReactElement {
  if (forecast.kind === "starts") {
    return (
      <>
        <p>
          <Badge tone="good">Starts now</Badge>
        </p>
        <p className="text-base">{forecast.sentence}</p>
        <Notices notices={forecast.notices} />
      </>
    );
  }
  const { estimate, changes, sentence } = forecast;
  const neverStarts = canNeverStart(forecast.verdict);
  return (
    <>
      <p>
        <Badge tone={neverStarts ? "bad" : "wait"}>{neverStarts ? "Cannot start" : "Waits"}</Badge>
      </p>
      <p className="text-base">{sentence}</p>
      {estimate === null ? null : <p className="text-ink-2">{estimate.sentence}</p>}
      <Notices notices={forecast.notices} />
      {changes.length === 0 ? null : (
        <>
          <h3 className="mt-1 font-medium">Starts now if you</h3>
          <ul className="list-disc pl-5">
            {changes.slice(0, CHANGES_SHOWN).map(({ change }) => (
              <li key={change.sentence}>{change.sentence}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Notices, except the one about reclaim, which the sentence above already states. */
function Notices({ notices = [] }: Pick<SubmissionForecast, "notices">): ReactElement[] {
  return notices
    .filter(({ kind }) => kind !== "reclaimable")
    .map(({ kind, message }) => (
      <p key={kind} className={kind === "noCheckpoints" ? "text-wait" : "text-ink-2"}>
        {message}
      </p>
    ));
}
