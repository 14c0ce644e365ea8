/** Teams of a gateway: requests, tokens, cost, what is left of their limits, and their keys. */
import type { GatewayLimit, GatewayTeam } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import type { ReactElement, ReactNode } from "react";
import { dayTimeText } from "../../format/moment.ts";
import { Badge } from "../../parts/phase-badge.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";

interface TeamListProps {
  readonly teams: readonly GatewayTeam[];
  readonly nowMs: number;
}

export function TeamList({ teams, nowMs }: TeamListProps): ReactElement {
  if (teams.length === 0) return <p className="px-4 py-3 text-ink-2">The configuration has no teams.</p>;
  return (
    <ul className="divide-y divide-line">
      {teams.map((team) => (
        <li
          key={team.name}
          aria-label={team.name}
          className="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[minmax(8rem,1fr)_minmax(9rem,1fr)_minmax(9rem,1fr)_minmax(14rem,1.6fr)]"
        >
          <div className="min-w-0">
            <h3 className="font-medium break-words">{team.name}</h3>
            <Keys team={team} nowMs={nowMs} />
          </div>
          <Figure name="Requests" value={grouped(team.completed)}>
            {outcomesText(team)}
          </Figure>
          <Figure name="Cost" value={usdText(team.costUsd)}>
            {grouped(team.inputTokens)} tokens in, {grouped(team.outputTokens)} out
          </Figure>
          <Limits limits={team.limits} />
        </li>
      ))}
    </ul>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly children: ReactNode;
}

function Figure({ name, value, children }: FigureProps): ReactElement {
  return (
    <div className="min-w-0">
      <p className="text-xs text-ink-3">{name}</p>
      <p className="font-medium">{value}</p>
      <p className="text-xs break-words text-ink-2">{children}</p>
    </div>
  );
}

function outcomesText({ failed, aborted, limited }: GatewayTeam): string {
  const parts = [
    failed === 0 ? "" : `${grouped(failed)} failed`,
    limited === 0 ? "" : `${grouped(limited)} limited`,
    aborted === 0 ? "" : `${grouped(aborted)} left by the client`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "none failed" : parts.join(", ");
}

const names: Readonly<Record<GatewayLimit["kind"], string>> = {
  requests: "requests",
  tokens: "tokens",
  money: "Budget",
};

function Limits({ limits }: { readonly limits: readonly GatewayLimit[] }): ReactElement {
  if (limits.length === 0) return <p className="text-ink-3">No limit, no budget</p>;
  return (
    <ul className="flex flex-col gap-1.5">
      {limits.map((limit) => {
        const isUsedUp = limit.remaining <= 0;
        return (
          <li key={limit.kind}>
            <p className="flex flex-wrap items-baseline justify-between gap-x-3">
              <span>{usedText(limit)}</span>
              <span className={isUsedUp ? "text-wait" : "text-ink-3"}>
                {isUsedUp ? "used up" : `${amountText(limit, limit.remaining)} left`}
              </span>
            </p>
            <UsageBar
              total={limit.limit}
              parts={[
                {
                  key: "used",
                  amount: Math.min(limit.used, limit.limit),
                  className: isUsedUp ? "bg-wait" : "bg-accent",
                },
              ]}
            />
          </li>
        );
      })}
    </ul>
  );
}

function usedText(limit: GatewayLimit): string {
  const { kind, period, used } = limit;
  const amounts = `${amountText(limit, used)} of ${amountText(limit, limit.limit)}`;
  return kind === "money"
    ? `${names[kind]} ${amounts} ${period === "day" ? "today" : `this ${period}`}`
    : `${amounts} ${names[kind]} a ${period}`;
}

function amountText({ kind }: Pick<GatewayLimit, "kind">, amount: number): string {
  return kind === "money" ? usdText(amount) : grouped(Math.round(amount));
}

/** Small amounts keep the digits that tell them from nothing. */
function usdText(amount: number): string {
  if (amount === 0 || amount >= 0.01) return `${amount.toFixed(2)} USD`;
  return amount < 0.0001 ? "< 0.0001 USD" : `${amount.toFixed(4)} USD`;
}

function Keys({
  team: { keys, keyCount },
  nowMs,
}: {
  readonly team: GatewayTeam;
  readonly nowMs: number;
}): ReactElement {
  if (keyCount === 0) return <p className="text-xs text-ink-3">No key</p>;
  return (
    <details className="text-xs text-ink-2">
      <summary className="cursor-pointer py-0.5">{plural(keyCount, "key")}</summary>
      <ul className="flex flex-col gap-1 py-1">
        {keys.map(({ name, state, expiresAtMs, requests, costUsd }) => (
          <li key={`${name} ${state}`} className="min-w-0 break-words">
            <span className="font-medium text-ink">{name}</span>{" "}
            {state === "active" ? null : <Badge tone={state === "expired" ? "idle" : "wait"}>{state}</Badge>}{" "}
            {plural(requests, "request")}, {usdText(costUsd)}
            {expiresAtMs === null || expiresAtMs <= nowMs ? null : `, until ${dayTimeText(expiresAtMs)}`}
          </li>
        ))}
        {keyCount > keys.length ? <li>and {grouped(keyCount - keys.length)} more</li> : null}
      </ul>
    </details>
  );
}
