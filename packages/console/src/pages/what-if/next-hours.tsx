import type { WhatIfAnswer } from "@headroom/protocol";
import { grouped, startsEarlier, teamOutcomes, teamShares, type TeamOutcome } from "@headroom/views";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ComponentProps, ReactElement } from "react";
import { useSession } from "../../connect/session.ts";
import { spanText } from "../../format/amounts.ts";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/controls.tsx";
import { TimeChart, type TimeSeries } from "../../parts/time-chart.tsx";
import { ListedWork } from "../../parts/listed-work.tsx";
import { Panel } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { ChangeForm } from "./change-form.tsx";
import { addedPools, addedSites, isChange, nodeChanges, teamChanges, triedCaps, type Change } from "./change.ts";
import { fittedCharts } from "./fitted-chart.ts";
import { InterruptedWork } from "./interrupted-work.tsx";
import type { Situation } from "./situation.ts";
import { WhatIfService, type PlacedAnswer } from "./what-if-service.ts";

const HOUR_MS = 3_600_000;
const horizons = ["6", "12", "24", "72"] as const;
const horizonOptions = horizons.map((value) => ({ value, label: `${value} h` }));
const arrivalOptions = [
  { value: "recorded", label: "as recorded" },
  { value: "none", label: "none" },
] as const;

export function NextHours({ change, onChange, ...situation }: Situation): ReactElement {
  const session = useSession();
  const service = useMemo(() => new WhatIfService(session), [session]);
  useEffect(() => () => service.close(), [service]);
  const [hours, setHours] = useState<(typeof horizons)[number]>("12");
  const [arrivals, setArrivals] = useState<(typeof arrivalOptions)[number]["value"]>("recorded");
  const ask = useMutation({
    mutationFn: (asked: Change) => {
      const question = {
        horizonMs: Number(hours) * HOUR_MS,
        arrivals,
        ...nodeChanges(asked, situation.nodes),
        addSites: addedSites(asked),
        addPools: addedPools(
          asked,
          situation.fleet.pools.map(({ name }) => name),
        ),
        caps: triedCaps(asked, situation.fleet.sites),
        teams: teamChanges(asked, situation.teams),
        ...(asked.policy === null ? {} : { policy: { preset: asked.policy } }),
      };
      return service.ask(question);
    },
  });
  /** The loss of a domain is computed at once, without the other changes. */
  const lose = (lost: string | null): void => {
    const next = { ...change, lost };
    onChange(next);
    if (isChange(next)) ask.mutate(next);
  };
  const result = useRef<HTMLDivElement>(null);
  // On a narrow screen the result is below the form, where the user cannot see it.
  useEffect(() => {
    if (ask.data !== undefined && (result.current?.getBoundingClientRect().top ?? 0) > window.innerHeight / 2)
      result.current?.scrollIntoView({ block: "start" });
  }, [ask.data]);
  return (
    <div className="grid max-w-7xl items-start gap-4 px-4 pb-6 md:px-6 lg:grid-cols-[22rem_1fr]">
      <ChangeForm change={change} onChange={onChange} onLose={lose} {...situation}>
        <div className="flex flex-wrap items-end justify-between gap-3">
          <Choice label="Hours ahead" name="hours" value={hours} options={horizonOptions} onValue={setHours} />
          <Choice
            label="New submissions"
            name="arrivals"
            value={arrivals}
            options={arrivalOptions}
            onValue={setArrivals}
          />
          <Button look="primary" disabled={!isChange(change) || ask.isPending} onClick={() => ask.mutate(change)}>
            {ask.isPending ? "Simulating" : "Simulate"}
          </Button>
        </div>
      </ChangeForm>
      <div ref={result} className="flex min-w-0 flex-col gap-4" aria-live="polite" aria-busy={ask.isPending}>
        {ask.error !== null ? (
          <Failure error={ask.error} onRetry={() => ask.mutate(change)} />
        ) : ask.data === undefined ? (
          <Panel title="The next hours">
            <Empty icon="whatIf" title="No change yet">
              Change nodes, teams or the policy, then simulate: the scheduler decides the next hours twice, as things
              are and with the change.
            </Empty>
          </Panel>
        ) : (
          <Timelines {...ask.data} />
        )}
      </div>
    </div>
  );
}

/** Segments under a visible heading. */
function Choice<Value extends string>(props: ComponentProps<typeof Segments<Value>>): ReactElement {
  return (
    <div>
      <p aria-hidden="true" className="mb-1 font-medium">
        {props.label}
      </p>
      <Segments {...props} />
    </div>
  );
}

/** Says where the forecast was computed, and from which state. */
function placeText({ answer: { sequence }, elsewhere }: PlacedAnswer): string {
  const state = `the state as of event ${grouped(sequence)}`;
  return elsewhere === null
    ? `Computed in this browser, on ${state}.`
    : `Computed by the control plane, on ${state}: ${elsewhere}.`;
}

function Timelines({ answer, elsewhere }: PlacedAnswer): ReactElement {
  const { present, changed, fromMs, horizonMs, sentence } = answer;
  const course = (of: (sample: WhatIfAnswer["present"]["samples"][number]) => number): readonly TimeSeries[] => [
    { name: "as things are", values: present.samples.map(of), tone: "idle", kind: "line", isDashed: true },
    { name: "with the change", values: changed.samples.map(of), tone: "run", kind: "line" },
  ];
  const range = { fromMs, toMs: fromMs + horizonMs, leastUntilMs: lastMovedStartMs(answer) };
  const [held, waiting] = fittedCharts(
    [course(({ heldAccelerators }) => heldAccelerators), course(({ waitingWorkloads }) => waitingWorkloads)],
    range,
  );
  return (
    <>
      <Panel title="Result">
        <GainsAndLosses answer={answer} />
        <p className="px-4 pt-2 text-base">{sentence}</p>
        <p className="px-4 pt-1 pb-3 text-ink-3">{placeText({ answer, elsewhere })}</p>
      </Panel>
      <TeamShares answer={answer} />
      <Panel title="Accelerators in use">
        <TimeChart
          label="Accelerators in use"
          endLabel="At the end"
          unit="accelerators in use"
          atMs={held?.atMs ?? []}
          series={held?.series ?? []}
          text={amount}
        />
      </Panel>
      <Panel title="Workloads that wait">
        <TimeChart
          label="Waiting"
          endLabel="At the end"
          unit="workloads that wait"
          atMs={waiting?.atMs ?? []}
          series={waiting?.series ?? []}
          text={amount}
        />
      </Panel>
      <InterruptedWork answer={answer} />
      <MovedStarts answer={answer} />
    </>
  );
}

/** The last start within the forecast that the change moves. If there is none, the beginning of the forecast. */
function lastMovedStartMs({ moved, fromMs, horizonMs }: WhatIfAnswer): number {
  const starts = moved.flatMap(({ presentLastAtMs, changedLastAtMs }) => [presentLastAtMs, changedLastAtMs]);
  const within = starts.filter((atMs) => atMs !== null && atMs <= fromMs + horizonMs);
  return within.reduce<number>((last, atMs) => Math.max(last, atMs ?? fromMs), fromMs);
}

/** The result in short: teams that gain from the change, teams that lose, and how much. */
function GainsAndLosses({ answer }: { readonly answer: WhatIfAnswer }): ReactElement {
  const teams = teamOutcomes(answer);
  return (
    <dl className="flex flex-col gap-y-2 px-4 pt-3">
      <Outcome title="Gains" teams={teams.filter(({ outcome }) => outcome === "gains")} none="No team gains." />
      <Outcome title="Loses" teams={teams.filter(({ outcome }) => outcome === "loses")} none="No team loses." />
    </dl>
  );
}

interface OutcomeProps {
  readonly title: "Gains" | "Loses";
  readonly teams: readonly TeamOutcome[];
  readonly none: string;
}

function Outcome({ title, teams, none }: OutcomeProps): ReactElement {
  return (
    <div>
      <dt className="text-xs font-medium text-ink-3">{title}</dt>
      {teams.length === 0 ? <dd className="text-ink-2">{none}</dd> : null}
      {teams.map(({ team, sentence }) => (
        <dd key={team} className="grid gap-x-3 sm:grid-cols-[10rem_minmax(0,1fr)]">
          <span className="truncate font-medium">{team}</span>
          <span className={title === "Gains" ? "text-good" : "text-bad"}>{sentence}</span>
        </dd>
      ))}
    </div>
  );
}

const amount = (value: number): string => grouped(Math.round(value));

/** Mean number of accelerators in use, by team. */
function TeamShares({ answer }: { readonly answer: WhatIfAnswer }): ReactElement {
  return (
    <Panel title="By team">
      <div
        className="scroll-thin relative overflow-x-auto"
        tabIndex={0}
        role="region"
        aria-label="Accelerators by team"
      >
        <table className="w-full text-left">
          <thead className="border-b border-line text-xs text-ink-3">
            <tr>
              {["Team", "Accelerators on average", "With the change", "Difference"].map((title, index) => (
                <th key={title} scope="col" className={`px-4 py-2 font-medium ${index === 0 ? "" : "text-right"}`}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {teamShares(answer).map(({ team, presentMean, changedMean }) => (
              <tr key={team}>
                <th scope="row" className="px-4 py-1.5 font-medium">
                  {team}
                </th>
                <td className="px-4 py-1.5 text-right font-mono">{presentMean.toFixed(1)}</td>
                <td className="px-4 py-1.5 text-right font-mono">{changedMean.toFixed(1)}</td>
                <td className="px-4 py-1.5 text-right font-mono">{signed(changedMean - presentMean)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const signed = (value: number): string => `${value > 0.05 ? "+" : ""}${value.toFixed(1)}`;

function MovedStarts({ answer }: { readonly answer: WhatIfAnswer }): ReactElement {
  const { moved, earlierCount, laterCount, fromMs, horizonMs } = answer;
  const after = (atMs: number | null): string =>
    atMs === null ? `not within ${spanText(horizonMs)}` : `in ${spanText(atMs - fromMs)}`;
  if (moved.length === 0)
    return (
      <Panel title="Starts that move">
        <p className="px-4 py-3 text-ink-2">Everything that waits now would start when it starts as things are.</p>
      </Panel>
    );
  return (
    <ListedWork
      title="Starts that move"
      label="Starts"
      columns={["Starts as things are", "With the change"]}
      work={moved}
      count={earlierCount + laterCount}
      cells={(work) => {
        const { taskCount, presentAtMs, changedAtMs, presentLastAtMs, changedLastAtMs } = work;
        const isEarlier = startsEarlier(work);
        return (
          <>
            <td className="px-4 py-1.5">
              {after(presentAtMs)}
              {taskCount > 1 ? `, the last of ${grouped(taskCount)} tasks ${after(presentLastAtMs)}` : ""}
            </td>
            <td className={`px-4 py-1.5 ${isEarlier ? "text-good" : "text-bad"}`}>
              {after(changedAtMs)}
              {taskCount > 1 ? `, the last task ${after(changedLastAtMs)}` : ""}, {isEarlier ? "earlier" : "later"}
            </td>
          </>
        );
      }}
    />
  );
}
