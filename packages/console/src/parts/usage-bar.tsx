/** Shares of a whole as one bar. Screen readers skip it, because the numbers beside it say the same. */
import type { ReactElement } from "react";

export interface BarPart {
  readonly key: string;
  readonly amount: number;
  readonly className: string;
}

interface UsageBarProps {
  readonly total: number;
  readonly parts: readonly BarPart[];
  readonly className?: string;
}

export function UsageBar({ total, parts, className = "h-1.5" }: UsageBarProps): ReactElement {
  return (
    <div aria-hidden="true" className={`flex w-full gap-px overflow-hidden rounded-sm bg-cell-free ${className}`}>
      {parts.map(({ key, amount, className: fill }) => (
        <div
          key={key}
          className={fill}
          style={{ width: `${total <= 0 ? 0 : Math.min(100, (100 * amount) / total)}%` }}
        />
      ))}
    </div>
  );
}
