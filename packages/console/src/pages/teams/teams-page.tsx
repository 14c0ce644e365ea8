import type { Team } from "@headroom/protocol";
import { amountText, resourceUses, type ResourceUse } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, teamsQuery } from "../../data/queries.ts";
import { changesTeams } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Page } from "../../parts/page.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";
import { BudgetNotice, TeamBudget } from "./team-budget.tsx";
import { teamRows, type TeamRow } from "./team-tree.ts";

export function TeamsPage(): ReactElement {
  const client = useClient();
  const { data, error, refetch } = useQuery(teamsQuery(client));
  const { data: fleet } = useQuery(fleetQuery(client));
  useLiveQuery({ queryKey: ["teams"], matters: changesTeams });
  const totals = useMemo(
    () => new Map((fleet?.acceleratorTypes ?? []).map(({ type, accelerators }) => [type, accelerators.total])),
    [fleet],
  );
  return (
    <Page
      title="Teams"
      layout="flow"
      summary="What each team and everything below it holds and uses up, against what it may entitlement now, was promised and may have at most"
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading teams" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="px-4 pb-6 md:px-6">
            <BudgetNotice teams={data} />
            <TeamTable rows={teamRows(data)} totals={totals} />
            {data.length > 1 ? null : (
              <p className="mt-3 text-ink-2">
                Only the team that always exists. Apply a team document to add others: a name such as{" "}
                <code className="font-mono text-xs">research/nlp</code>, with guarantees, limits and a weight.
              </p>
            )}
          </div>
        </>
      )}
    </Page>
  );
}

interface TeamTableProps {
  readonly rows: readonly TeamRow[];
  /** Accelerators of each type in the whole fleet: full width of a bar without a limit. */
  readonly totals: ReadonlyMap<string, number>;
}

function TeamTable({ rows, totals }: TeamTableProps): ReactElement {
  return (
    <div className="overflow-hidden rounded-lg border border-line bg-surface">
      <table className="w-full text-left">
        <thead className="border-b border-line text-xs text-ink-3">
          <tr>
            <th scope="col" className="px-4 py-2 font-medium">
              Team
            </th>
            <th scope="col" className="px-4 py-2 font-medium">
              Weight
            </th>
            <th scope="col" className="px-4 py-2 font-medium">
              Holds and budget
            </th>
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map(({ team, depth, label }) => (
            <tr key={team.name} className="align-top hover:bg-hover">
              <th scope="row" className="w-1/4 py-2.5 pr-2 pl-4 font-medium">
                <span style={{ paddingLeft: `${depth * 1.25}rem` }}>
                  <Link to="/workloads" search={{ team: team.name }} className="hover:underline" aria-label={team.name}>
                    {label}
                  </Link>
                </span>
              </th>
              <td className="px-4 py-2.5">
                {team.weight ?? 1}
                {priorityNote(team)}
              </td>
              <td className="px-4 py-2.5">
                <ResourceUses uses={resourceUses(team)} totals={totals} />
                <TeamBudget team={team} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Shown only if priorities differ: siblings of one priority are the rule. */
function priorityNote({ priority = 0 }: Team): ReactElement | null {
  return priority === 0 ? null : <span className="block text-xs text-ink-3">priority {priority}</span>;
}

interface ResourceUsesProps {
  readonly uses: readonly ResourceUse[];
  readonly totals: ReadonlyMap<string, number>;
}

function ResourceUses({ uses, totals }: ResourceUsesProps): ReactElement {
  if (uses.length === 0) return <span className="text-ink-3">nothing; no guarantee, no limit</span>;
  return (
    <ul className="flex flex-col gap-1.5">
      {uses.map((use) => (
        <li
          key={use.resource}
          className="grid items-center gap-x-3 lg:grid-cols-[6rem_9rem_9rem_1fr] xl:grid-cols-[7rem_10rem_11rem_1fr]"
        >
          <UseNumbers {...use} />
          <UseBar use={use} whole={totals.get(use.resource)} />
        </li>
      ))}
    </ul>
  );
}

function UseNumbers({ resource, held, entitlement, guarantee, limit }: ResourceUse): ReactElement {
  const text = (amount: number): string => amountText(resource, amount);
  return (
    <>
      <span className="text-ink-2">{resource}</span>
      <span>
        {text(held)}
        <span className="text-ink-3">{limit === null ? ", no limit" : ` of ${text(limit)}`}</span>
        {limit !== null && held >= limit ? <span className="text-wait"> full</span> : null}
      </span>
      <span className="text-ink-3">
        {guarantee === null
          ? "no guarantee"
          : held > guarantee
            ? `${text(held - guarantee)} beyond ${text(guarantee)}`
            : `${text(guarantee)} guaranteed`}
        {entitlement === null || entitlement === guarantee ? null : `, may entitlement ${text(entitlement)} now`}
      </span>
    </>
  );
}

/** Usage within the guarantee and borrowed usage, against the limit or, without one, the fleet. */
function UseBar({ use, whole }: { readonly use: ResourceUse; readonly whole: number | undefined }): ReactElement {
  const { held, guarantee, limit } = use;
  const own = guarantee === null ? held : Math.min(held, guarantee);
  const fill = limit !== null && held >= limit ? "bg-wait" : "bg-run";
  return (
    <UsageBar
      total={limit ?? whole ?? Math.max(held, guarantee ?? 0)}
      parts={[
        { key: "own", amount: own, className: fill },
        { key: "borrowed", amount: held - own, className: `${fill} opacity-50` },
      ]}
    />
  );
}
