/** The four answers for which a plan is made: what runs out first, what to order by when, what a month late and a quarter late cost. */
import type { SolvedPlan } from "@headroom/protocol";
import type { ReactElement, ReactNode } from "react";
import { useNow } from "../../connect/use-now.ts";
import {
  dateText,
  differenceText,
  dueText,
  firstRemedyText,
  lateText,
  monthText,
  orderText,
  shareText,
} from "./plan-text.ts";

export function ShortAnswers({ plan }: { readonly plan: SolvedPlan }): ReactElement {
  return (
    <section aria-label="In short" className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
      <RunsOutFirst plan={plan} />
      <OrderFirst plan={plan} />
      <MonthLate plan={plan} />
      <QuarterLate plan={plan} />
    </section>
  );
}

interface ShortAnswerProps {
  readonly question: string;
  readonly answer: ReactNode;
  readonly children: ReactNode;
}

function Answer({ question, answer, children }: ShortAnswerProps): ReactElement {
  return (
    <div className="rounded-lg border border-line bg-surface px-4 py-3">
      <h2 className="text-xs font-medium text-ink-3">{question}</h2>
      <p className="mt-1 text-lg font-semibold tracking-tight">{answer}</p>
      <p className="mt-0.5 text-ink-2">{children}</p>
    </div>
  );
}

function RunsOutFirst({ plan }: { readonly plan: SolvedPlan }): ReactElement {
  const nowMs = useNow();
  const { first, axes, months } = plan;
  const question = "What runs out first?";
  if (first === null) {
    return (
      <Answer question={question} answer="Nothing">
        No axis reaches its capacity until {monthText(months.at(-1) ?? "")}.
      </Answer>
    );
  }
  const { bindsP95 } = axes.find(({ axis }) => axis === first.axis) ?? { bindsP95: null };
  return (
    <Answer question={question} answer={`${first.axis}, ${monthText(first.month)}`}>
      First with a probability of {shareText(first.probability)}
      {bindsP95 === null ? "." : `; in one case of 20 already by ${monthText(bindsP95)}.`}{" "}
      {firstRemedyText(plan, nowMs)}
    </Answer>
  );
}

function OrderFirst({ plan: { orders } }: { readonly plan: SolvedPlan }): ReactElement {
  const nowMs = useNow();
  const [order] = orders;
  const question = "What to order first, by when?";
  if (order === undefined) {
    return (
      <Answer question={question} answer="Nothing">
        The plan needs no order.
      </Answer>
    );
  }
  return (
    <Answer question={question} answer={`${orderText(order)} by ${dateText(order.orderBy)}`}>
      <span className={order.orderBy < isoDay(nowMs) ? "font-medium text-bad" : ""}>
        {dueText(order.orderBy, nowMs)}
      </span>
      ; then it is in service in {monthText(order.inService)} with a probability of 95%.
    </Answer>
  );
}

const isoDay = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

function MonthLate({ plan: { orders } }: { readonly plan: SolvedPlan }): ReactElement {
  const [order] = orders;
  return (
    <Answer question="If this order is a month late?" answer={order === undefined ? "–" : lateText(order)}>
      {order === undefined
        ? "There is no order."
        : "On-demand and spot capacity for that month, less the running cost that is saved."}
    </Answer>
  );
}

function QuarterLate({ plan: { variants } }: { readonly plan: SolvedPlan }): ReactElement {
  const outcome = variants.at(-1)?.outcome;
  const question = "If every order is 3 months late?";
  if (outcome?.kind === "planned" && outcome.differenceUsd !== null) {
    return (
      <Answer question={question} answer={differenceText(outcome.differenceUsd)}>
        The cost of waiting: how much more the cheapest plan then costs.
      </Answer>
    );
  }
  if (outcome?.kind === "impossible") {
    const short = Math.ceil(outcome.demandAtRisk - outcome.possible);
    return (
      <Answer question={question} answer={`${short} short in ${monthText(outcome.month)}`}>
        No plan meets the demand of {outcome.pool} then.
      </Answer>
    );
  }
  return (
    <Answer question={question} answer="Not known">
      This variant was not solved in time.
    </Answer>
  );
}
