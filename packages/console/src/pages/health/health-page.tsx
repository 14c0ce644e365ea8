/** Health of the fleet: open incidents with the next step, comparable sets of nodes, and the blast radius of failure domains. */
import type { HealthSummary, Incident } from "@headroom/protocol";
import { grouped, plural, wattsText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { usePageCommand } from "../../commands/use-page-command.ts";
import { useClient } from "../../connect/session.ts";
import { fleetHealthQuery, incidentsQuery } from "../../data/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { RunbookLines } from "../../parts/runbook-lines.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { DriftPanel } from "./drift-panel.tsx";
import { HoursPanel } from "./hours-panel.tsx";
import { LinksPanel } from "./links-panel.tsx";
import { NodeMap } from "./node-map.tsx";
import { PeersPanel } from "./peers-panel.tsx";
import { numberCell, PanelTable } from "./panel-table.tsx";

/** Periods in which nobody looked at nodes, the newest. */
const UNWATCHED_SHOWN = 3;
/** Sets with a map; the table has all of them. */
const MAPS_SHOWN = 24;

export function HealthPage(): ReactElement {
  const client = useClient();
  const { data, error, refetch } = useQuery(fleetHealthQuery(client));
  const incidents = useQuery(incidentsQuery(client)).data?.items;
  return (
    <Page title="Health" layout="flow" summary={data === undefined ? "Incidents and failure domains" : summaryOf(data)}>
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the health of the fleet" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            <IncidentPanel incidents={incidents ?? []} />
            {data.unwatched.length === 0 ? null : (
              <Panel title="Not watched">
                <ul className="list-disc py-2 pr-4 pl-8">
                  {data.unwatched.slice(0, UNWATCHED_SHOWN).map(({ executor, fromMs, untilMs, signals, unknown }) => (
                    <li key={`${executor} ${fromMs}`} className="break-words">
                      Nodes of {executor}, <Moment atMs={fromMs} /> to <Moment atMs={untilMs} />:{" "}
                      {plural(signals, "signal")} ended. {unknown}
                    </li>
                  ))}
                </ul>
              </Panel>
            )}
            {data.advice.length === 0 ? null : (
              <Panel title="Next steps">
                <ul className="list-disc py-2 pr-4 pl-8">
                  {data.advice.map((sentence) => (
                    <li key={sentence}>{sentence}</li>
                  ))}
                </ul>
              </Panel>
            )}
            <DriftPanel />
            <SetTable sets={data.sets} />
            <PeersPanel />
            <LinksPanel />
            <HoursPanel />
            {data.domains.length === 0 ? null : <DomainTable domains={data.domains} />}
          </div>
        </>
      )}
    </Page>
  );
}

const summaryOf = ({ nodes, incidents }: HealthSummary): string =>
  `${grouped(nodes.inService)} of ${plural(nodes.total, "node")} in service, ${grouped(nodes.lost)} lost; ${plural(incidents.open, "open incident")}`;

function IncidentPanel({ incidents }: { readonly incidents: readonly Incident[] }): ReactElement {
  return (
    <Panel title="Open incidents">
      {incidents.length === 0 ? <p className="px-4 py-3 text-ink-2">There is no open incident.</p> : null}
      <ul aria-label="Open incidents" className="divide-y divide-line">
        {incidents.map((incident) => (
          <li key={incident.id} data-row className="px-4 py-3">
            <IncidentItem incident={incident} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function IncidentItem({ incident }: { readonly incident: Incident }): ReactElement {
  const { id, title, startedAtMs, nodes, accelerators, work, alerts, advice, acknowledgedBy, runbooks } = incident;
  const { mutate, isPending } = usePageCommand(["health"]);
  const acknowledge = (): void =>
    mutate({
      call: async (client) => {
        await client.annotateIncident(id, { kind: "acknowledge" });
        return `Incident ${id} acknowledged.`;
      },
    });
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-2">
        <h3 className="min-w-0 font-medium break-words">
          {title} <span className="font-normal text-ink-3">({id})</span>
        </h3>
        {acknowledgedBy === null ? (
          <Button disabled={isPending} aria-label={`Acknowledge ${id}`} onClick={acknowledge}>
            Acknowledge
          </Button>
        ) : (
          <Badge tone="run">{`acknowledged by ${acknowledgedBy}`}</Badge>
        )}
      </div>
      <p className="text-ink-2">
        Since <Moment atMs={startedAtMs} />: {grouped(nodes.failed)} of {plural(nodes.inDomain, "node")} of the domain
        failed, {grouped(nodes.notBack)} not back; {grouped(accelerators.failed)} accelerators;{" "}
        {plural(alerts, "alert")} gathered.
      </p>
      {work.length === 0 ? null : (
        <p className="break-words">
          Work hit:{" "}
          {work.map(({ workloadId, name, team }, index) => (
            <span key={workloadId}>
              {index === 0 ? "" : ", "}
              <Link to="/workloads/$workloadId" params={{ workloadId }} className="underline">
                {team}/{name}
              </Link>
            </span>
          ))}
        </p>
      )}
      <p className="break-words">{advice}</p>
      <RunbookLines runbooks={runbooks} />
    </>
  );
}

function SetTable({ sets }: { readonly sets: HealthSummary["sets"] }): ReactElement {
  return (
    <Panel title="Comparable sets">
      <PanelTable
        label="Comparable sets of nodes"
        region="Nodes by set"
        texts={["Pool and type"]}
        numbers={["In service", "Lost", "Faulty"]}
      >
        {sets.map(({ pool, acceleratorType, nodes, inService, lost, faulty }) => (
          <tr key={`${pool} ${acceleratorType}`} data-row>
            <th scope="row" className="px-4 py-2 font-normal break-words">
              {pool}
              {acceleratorType === "" ? "" : `, ${acceleratorType}`}
            </th>
            <td className={numberCell}>
              {grouped(inService)} of {grouped(nodes)}
            </td>
            <td className={`${numberCell} ${lost > 0 ? "text-bad" : ""}`}>{grouped(lost)}</td>
            <td className={`${numberCell} ${faulty > 0 ? "text-bad" : ""}`}>{grouped(faulty)}</td>
          </tr>
        ))}
      </PanelTable>
      {sets.slice(0, MAPS_SHOWN).map((set) => (
        <section key={`${set.pool} ${set.acceleratorType}`} aria-label={`Nodes of ${set.pool} ${set.acceleratorType}`}>
          <h3 className="px-4 py-1 text-xs text-ink-3">
            {set.pool}
            {set.acceleratorType === "" ? "" : `, ${set.acceleratorType}`}
          </h3>
          <NodeMap set={set} />
        </section>
      ))}
    </Panel>
  );
}

function DomainTable({ domains }: { readonly domains: HealthSummary["domains"] }): ReactElement {
  const hasCaps = domains.some(({ power }) => power !== undefined);
  const titles = ["Nodes", "Accelerators", "Workloads hit", ...(hasCaps ? ["Power"] : [])];
  return (
    <Panel title="Blast radius">
      <PanelTable label="Failure domains" region="Losses by domain" texts={["If this is lost"]} numbers={titles}>
        {domains.map(({ domain: { level, path }, nodes, lost, accelerators, workloads, power }) => (
          <tr key={`${level} ${path.join("/")}`} data-row>
            <th scope="row" className="px-4 py-2 font-normal break-words">
              {level} {path.at(-1)}
            </th>
            <td className={numberCell}>
              {grouped(nodes)}
              {lost > 0 ? ` (${grouped(lost)} lost)` : ""}
            </td>
            <td className={numberCell}>{grouped(accelerators)}</td>
            <td className={numberCell}>{grouped(workloads)}</td>
            {hasCaps ? (
              <td className={numberCell}>
                {power === undefined ? "–" : `${wattsText(power.drawWatts)} of ${wattsText(power.capWatts)}`}
              </td>
            ) : null}
          </tr>
        ))}
      </PanelTable>
    </Panel>
  );
}
