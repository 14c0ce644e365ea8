/** A team's budget: usage, the time at which the budget will be used up, and the action then. */
import type { Team } from "@headroom/protocol";
import { budgetAsOf, budgetBounds, budgetPaces, budgetAmountText, isUsedUp, leftText, whenOver } from "@headroom/views";
import type { BudgetBound, BudgetPace } from "@headroom/views";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { Icon } from "../../parts/icon.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";

export function TeamBudget({ team: asked }: { readonly team: Team }): ReactElement | null {
  const team = budgetAsOf(asked, useNow());
  const { budget, account } = team;
  if (budget === undefined || account === undefined) return null;
  const { renewsAtMs } = account;
  return (
    <section aria-label={`Budget of ${team.name}`} className="min-w-0">
      <ul className="flex flex-col gap-1.5">
        {budgetBounds(team).map((bound) => (
          <Bound key={bound.resource} bound={bound} />
        ))}
      </ul>
      <p className="mt-1 text-xs text-ink-2">
        {isUsedUp(team) ? (
          <>
            <Badge tone={budget.over === "warn" ? "wait" : "bad"}>Used up</Badge>{" "}
          </>
        ) : null}
        {sentenceCase(whenOver[budget.over])}.{" "}
        {renewsAtMs === null ? (
          "Given once."
        ) : (
          <>
            Monthly, renewed <Moment atMs={renewsAtMs} />.
          </>
        )}
      </p>
      {budgetPaces(team).map((pace) => (
        <Pace key={pace.basis} pace={pace} />
      ))}
    </section>
  );
}

const sentenceCase = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

function Bound({ bound }: { readonly bound: BudgetBound }): ReactElement {
  const { resource, spent, limit } = bound;
  const isOver = spent >= limit;
  return (
    <li>
      <p className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span>
          <span>
            {budgetAmountText(resource, spent)}
            <span className="text-ink-3"> of {budgetAmountText(resource, limit)}</span>
          </span>
          {resource === "gpuHours" ? <span className="text-ink-3"> GPU-hours</span> : null}
        </span>
        <span className={isOver ? "text-wait" : "text-ink-3"}>{leftText(bound)}</span>
      </p>
      <UsageBar
        total={limit}
        parts={[{ key: "spent", amount: Math.min(spent, limit), className: isOver ? "bg-wait" : "bg-accent" }]}
      />
    </li>
  );
}

function Pace({ pace: { basis, pace, usedUpAtMs, percentAtRenewal } }: { readonly pace: BudgetPace }): ReactElement {
  return (
    <p className="text-xs text-ink-2">
      At the rate of {basis}, {pace},{" "}
      {usedUpAtMs !== null ? (
        <span className="text-ink">
          used up <Moment atMs={usedUpAtMs} />
        </span>
      ) : percentAtRenewal === null ? (
        "never used up"
      ) : (
        `${percentAtRenewal}% used when it is renewed`
      )}
      .
    </p>
  );
}

/** A notice above the tree of teams, because a team that exceeds its budget can be deep in the tree. */
export function BudgetNotice({ teams }: { readonly teams: readonly Team[] }): ReactElement | null {
  const over = teams.filter(isUsedUp);
  if (over.length === 0) return null;
  return (
    <div role="status" className="mb-3 flex items-start gap-2 rounded-lg bg-wait-soft px-4 py-2 text-wait">
      <Icon name="warning" />
      <ul>
        {over.map((team) => (
          <li key={team.name}>
            The budget of {team.name} is used up: {budgetBounds(team).map(leftText).join(", ")}.{" "}
            {sentenceCase(whenOver[team.budget?.over ?? "warn"])}.
          </li>
        ))}
      </ul>
    </div>
  );
}
