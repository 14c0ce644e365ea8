import type { Team } from "@headroom/protocol";
import {
  amountText,
  decayedUsageSentence,
  fairShareSentence,
  resourceForm,
  resourceUses,
  type ResourceUse,
} from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, nodesQuery, teamsQuery } from "../../data/queries.ts";
import { changesTeams } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Button } from "../../parts/button.tsx";
import { Page } from "../../parts/page.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { QuotaBar, QuotaLegend, quotaAmounts } from "./quota-bar.tsx";
import { BudgetNotice, TeamBudget } from "./team-budget.tsx";
import { TeamEditor } from "./team-editor.tsx";
import { teamRows, type TeamRow } from "./team-tree.ts";
import { TeamHistory } from "./team-history.tsx";
import { TeamUsage } from "./team-usage.tsx";

export function TeamsPage(): ReactElement {
  const client = useClient();
  const { data, error, refetch } = useQuery(teamsQuery(client));
  useLiveQuery({ queryKey: ["teams"], matters: changesTeams });
  const totals = useFleetTotals();
  /** The team that is edited; `null`: a new team; `undefined`: the editor is closed. */
  const [edited, setEdited] = useState<Team | null | undefined>(undefined);
  return (
    <Page
      title="Teams"
      layout="flow"
      summary="Quota, use and budget of each team, everything below it included"
      actions={
        <Button icon="plus" onClick={() => setEdited(null)}>
          New team
        </Button>
      }
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
          <div className="flex flex-col gap-4 px-4 pb-6 md:px-6">
            <BudgetNotice teams={data} />
            <TeamTable rows={teamRows(data)} totals={totals} onEdit={setEdited} />
            {data.length > 1 ? null : (
              <p className="text-ink-2">
                There is only the team that always exists. A team gets guarantees, limits, a weight and a budget; a name
                such as <code className="font-mono text-xs">research/nlp</code> places it below another one.
              </p>
            )}
            <TeamUsage teams={data} />
            <TeamHistory teams={data} />
          </div>
          <TeamEditor team={edited} teams={data} onClose={() => setEdited(undefined)} />
        </>
      )}
    </Page>
  );
}

/** The fleet's amount of every resource, which the full length of a bar stands for. */
function useFleetTotals(): ReadonlyMap<string, number> {
  const client = useClient();
  const { data: fleet } = useQuery(fleetQuery(client));
  const { data: nodes } = useQuery(nodesQuery(client));
  return useMemo(() => {
    const types = (fleet?.acceleratorTypes ?? []).map(({ type, accelerators }) => [type, accelerators.total] as const);
    const sum = (amount: (node: NonNullable<typeof nodes>[number]) => number): number =>
      (nodes ?? []).reduce((total, node) => total + amount(node), 0);
    return new Map<string, number>([
      ...types,
      ["accelerators", fleet?.accelerators.total ?? 0],
      ["cores", sum(({ coresMilli }) => coresMilli)],
      ["memory", sum(({ memoryMib }) => memoryMib)],
    ]);
  }, [fleet, nodes]);
}

interface TeamTableProps {
  readonly rows: readonly TeamRow[];
  readonly totals: ReadonlyMap<string, number>;
  readonly onEdit: (team: Team) => void;
}

const AMOUNTS = "grid-cols-[5.5rem_minmax(6rem,1fr)_repeat(4,4.5rem)]";
/** The columns stand side by side only where each has its full width: 9 + 33 + 17 rem, gaps and padding. */
const ROW = "@min-[66rem]:grid-cols-[minmax(9rem,12rem)_minmax(0,1fr)_17rem]";

function TeamTable({ rows, totals, onEdit }: TeamTableProps): ReactElement {
  return (
    <section aria-label="Quotas" className="@container rounded-lg border border-line bg-surface">
      <header className="border-b border-line px-4 py-2">
        <QuotaLegend />
        <div
          aria-hidden="true"
          className={`mt-2 hidden gap-x-6 text-xs font-medium text-ink-3 @min-[36rem]:grid ${ROW}`}
        >
          <span className="hidden @min-[66rem]:block">Team</span>
          <span className={`grid gap-x-3 ${AMOUNTS}`}>
            <span>Resource</span>
            <span />
            {["Held", "Guarantee", "Entitled", "Limit"].map((name) => (
              <span key={name} className="text-right">
                {name}
              </span>
            ))}
          </span>
          <span className="hidden @min-[66rem]:block">Budget</span>
        </div>
      </header>
      <ul className="divide-y divide-line">
        {rows.map(({ team, depth, label }) => (
          <li key={team.name} aria-label={team.name} className={`grid gap-x-6 gap-y-2 px-4 py-3 ${ROW}`}>
            <div style={{ paddingLeft: `${depth * 1}rem` }} className="flex items-start justify-between gap-2">
              <div className="min-w-0">
                <h2 className="truncate font-medium">
                  <Link to="/workloads" search={{ team: team.name }} className="hover:underline" aria-label={team.name}>
                    {label}
                  </Link>
                </h2>
                <p className="text-xs text-ink-3">
                  weight {team.weight ?? 1}
                  {(team.priority ?? 0) === 0 ? "" : `, priority ${team.priority ?? 0}`}
                </p>
                <UsageHistory team={team} />
              </div>
              <Button look="quiet" className="-mt-1" aria-label={`Edit ${team.name}`} onClick={() => onEdit(team)}>
                Edit
              </Button>
            </div>
            <ResourceUses uses={shownUses(team)} totals={totals} />
            <TeamBudget team={team} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shown where the policy counts usage history. */
function UsageHistory({ team }: { readonly team: Team }): ReactElement | null {
  const share = fairShareSentence(team);
  if (share === null) return null;
  return (
    <p className="text-xs text-ink-3">
      recent usage: {decayedUsageSentence(team) ?? "none"}; {share}
    </p>
  );
}

/** Resources to show. The row for all types together is left out if the team has one type and no quota on the total. */
function shownUses(team: Team): readonly ResourceUse[] {
  const uses = resourceUses(team);
  const types = uses.filter(({ resource }) => resource !== "accelerators" && resourceForm(resource) === undefined);
  return uses.filter(
    ({ resource, guarantee, limit }) =>
      resource !== "accelerators" || types.length !== 1 || guarantee !== null || limit !== null,
  );
}

interface ResourceUsesProps {
  readonly uses: readonly ResourceUse[];
  readonly totals: ReadonlyMap<string, number>;
}

function ResourceUses({ uses, totals }: ResourceUsesProps): ReactElement {
  if (uses.length === 0) return <p className="text-ink-3">Nothing held; no guarantee, no limit.</p>;
  return (
    <ul className="flex min-w-0 flex-col gap-1">
      {uses.map((use) => (
        <li
          key={use.resource}
          className={
            "grid grid-cols-[1fr_auto] items-center gap-x-3 @min-[36rem]:grid-cols-[5.5rem_minmax(6rem,1fr)_repeat(4,4.5rem)]"
          }
        >
          <span className="truncate text-ink-2">{use.resource === "accelerators" ? "all types" : use.resource}</span>
          <span className="order-last col-span-2 @min-[36rem]:order-none @min-[36rem]:col-span-1">
            <QuotaBar use={use} fleetTotal={totals.get(use.resource)} />
            <span aria-hidden="true" className="block text-xs text-ink-3 @min-[36rem]:hidden">
              {quotaAmounts(use)}
            </span>
          </span>
          <Amount use={use} amount={use.held} name="held" isStrong />
          <Amount use={use} amount={use.guarantee} name="guaranteed" />
          <Amount use={use} amount={use.entitlement} name="entitled" />
          <Amount use={use} amount={use.limit} name="limit" />
        </li>
      ))}
    </ul>
  );
}

interface AmountProps {
  readonly use: ResourceUse;
  readonly amount: number | null;
  readonly name: string;
  readonly isStrong?: boolean;
}

/** Amounts for narrow screens. Only the usage is shown; the bar and its description show the rest. */
function Amount({ use, amount, name, isStrong = false }: AmountProps): ReactElement {
  const isFull = isStrong && use.limit !== null && use.held >= use.limit;
  return (
    <span
      className={`text-right ${isStrong ? "font-medium" : "hidden text-ink-2 @min-[36rem]:block"} ${isFull ? "text-wait" : ""}`}
    >
      {amount === null ? (
        <>
          <span aria-hidden="true" className="text-ink-3">
            –
          </span>
          <span className="sr-only">no {name === "guaranteed" ? "guarantee" : name}</span>
        </>
      ) : (
        <>
          {amountText(use.resource, amount)}
          <span className="sr-only"> {name}</span>
        </>
      )}
    </span>
  );
}
