/** One resource of a team as a bar: its usage, with marks for guarantee, entitlement and limit. */
import type { ResourceUse } from "@headroom/views";
import { amountText } from "@headroom/views";
import type { ReactElement } from "react";

interface QuotaBarProps {
  readonly use: ResourceUse;
  /** Amount of the resource in the fleet: the length of the bar; `undefined`: not known yet. */
  readonly fleetTotal: number | undefined;
}

/**
 * Amount that the full bar stands for. It is the fleet's amount of the resource, so a team without a limit has no mark
 * for it.
 */
export function QuotaBar({ use, fleetTotal }: QuotaBarProps): ReactElement {
  const { resource, held, guarantee, limit, entitlement } = use;
  const scale = Math.max(1, fleetTotal ?? 0, held, guarantee ?? 0);
  const share = (amount: number): number => Math.min(100, (100 * amount) / scale);
  const own = guarantee === null ? held : Math.min(held, guarantee);
  const isFull = limit !== null && held >= limit;
  const fill = isFull ? "bg-wait" : "bg-run";
  return (
    <div
      role="img"
      aria-label={quotaSentence(use)}
      title={quotaSentence(use)}
      className="relative h-4 w-full min-w-24"
      data-resource={resource}
    >
      <div className="absolute inset-x-0 top-1 h-2 overflow-hidden rounded-sm bg-cell-free">
        {limit === null ? null : (
          <div className="absolute inset-y-0 right-0 bg-hatch" style={{ left: `${share(limit)}%` }} />
        )}
        <div className={`absolute inset-y-0 left-0 ${fill}`} style={{ width: `${share(own)}%` }} data-part="held" />
        <div
          className={`absolute inset-y-0 ${fill} opacity-50`}
          style={{ left: `${share(own)}%`, width: `${share(held) - share(own)}%` }}
          data-part="borrowed"
        />
      </div>
      {guarantee === null ? null : <Mark at={share(guarantee)} look="w-0.5 bg-good inset-y-0" name="guarantee" />}
      {entitlement === null ? null : (
        <Mark at={share(entitlement)} look="size-1.5 -translate-x-1/2 rotate-45 top-[5px] bg-ink" name="entitlement" />
      )}
      {limit === null ? null : <Mark at={share(limit)} look="w-0.5 bg-bad inset-y-0" name="limit" />}
    </div>
  );
}

function Mark({ at, look, name }: { readonly at: number; readonly look: string; readonly name: string }): ReactElement {
  return <span data-mark={name} className={`absolute ${look}`} style={{ left: `min(${at}%, calc(100% - 2px))` }} />;
}

const quotaSentence = (use: ResourceUse): string =>
  `${use.resource}: ${amountText(use.resource, use.held)} held, ${quotaAmounts(use)}`;

/** `no guarantee, entitled to 5 now, limit 32`. */
export function quotaAmounts({ resource, guarantee, limit, entitlement }: ResourceUse): string {
  const text = (amount: number): string => amountText(resource, amount);
  const parts = [
    guarantee === null ? "no guarantee" : `${text(guarantee)} guaranteed`,
    ...(entitlement === null ? [] : [`entitled to ${text(entitlement)} now`]),
    limit === null ? "no limit" : `limit ${text(limit)}`,
  ];
  return parts.join(", ");
}

export function QuotaLegend(): ReactElement {
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-2">
      {(
        [
          ["h-2 w-4 rounded-sm bg-run", "held"],
          ["h-2 w-4 rounded-sm bg-run opacity-50", "held above the guarantee"],
          ["h-3 w-0.5 bg-good", "guarantee"],
          ["size-1.5 rotate-45 bg-ink", "entitlement now"],
          ["h-3 w-0.5 bg-bad", "limit"],
        ] as const
      ).map(([look, name]) => (
        <li key={name} className="flex items-center gap-1.5">
          <span aria-hidden="true" className={look} />
          {name}
        </li>
      ))}
      <li className="text-ink-3">A bar is as long as the whole fleet.</li>
    </ul>
  );
}
