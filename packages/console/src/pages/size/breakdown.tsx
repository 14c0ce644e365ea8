/** Parts of a whole as one bar with a legend. Screen readers read the list below the bar. */
import type { ReactElement } from "react";
import { percentText } from "./scales.ts";

export interface BreakdownPart {
  readonly name: string;
  readonly amount: number;
}

interface BreakdownProps {
  readonly parts: readonly BreakdownPart[];
  /** Amount that the full width of the bar stands for; absent: the sum of the parts. */
  readonly total?: number;
  /** Returns the text of an amount; absent: the amounts are shares. */
  readonly text?: (amount: number) => string;
}

const fills = ["bg-run", "bg-good", "bg-wait", "bg-stop", "bg-accent", "bg-bad", "bg-idle", "bg-ink-2"] as const;
/** Share below which parts are merged, because such thin parts of the bar could not be told apart. */
const PARTS_SHOWN_MAX = fills.length;

export function Breakdown({ parts, total, text }: BreakdownProps): ReactElement {
  const sum = parts.reduce((all, { amount }) => all + amount, 0);
  const whole = Math.max(total ?? sum, sum);
  const shown = largest(parts.filter(({ amount }) => amount > 0));
  return (
    <div className="px-4 py-3">
      <div aria-hidden="true" className="flex h-5 w-full gap-px overflow-hidden rounded-sm bg-cell-free">
        {shown.map(({ name, amount }, index) => (
          <div key={name} className={fills[index]} style={{ width: `${(100 * amount) / whole}%` }} />
        ))}
      </div>
      <ul className="mt-2 grid grid-cols-[repeat(auto-fill,minmax(min(100%,17rem),1fr))] gap-x-6 gap-y-1">
        {shown.map(({ name, amount }, index) => (
          <li key={name} className="flex items-baseline gap-2">
            <span aria-hidden="true" className={`h-2.5 w-2.5 shrink-0 self-center rounded-sm ${fills[index] ?? ""}`} />
            <span className="min-w-0 flex-1">{name}</span>
            {text === undefined ? null : <span className="font-mono text-ink-2">{text(amount)}</span>}
            <span className="w-12 text-right font-mono text-ink-3">{percentText(amount / whole)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function largest(parts: readonly BreakdownPart[]): readonly BreakdownPart[] {
  const sorted = parts.toSorted((left, right) => right.amount - left.amount);
  if (sorted.length <= PARTS_SHOWN_MAX) return sorted;
  const rest = sorted.slice(PARTS_SHOWN_MAX - 1).reduce((sum, { amount }) => sum + amount, 0);
  return [...sorted.slice(0, PARTS_SHOWN_MAX - 1), { name: "everything else", amount: rest }];
}
