/** Instants and durations on screen that update themselves. */
import type { ReactElement } from "react";
import { useNow } from "../connect/use-now.ts";
import { spanText } from "../format/amounts.ts";
import { fullMomentText, momentText } from "../format/moment.ts";

/** A duration such as `2 h 5 min`: from an instant until now, or until `toMs` if it is set. */
export function Span({
  fromMs,
  toMs = null,
}: {
  readonly fromMs: number;
  readonly toMs?: number | null;
}): ReactElement {
  const nowMs = useNow();
  return <span>{spanText((toMs ?? nowMs) - fromMs)}</span>;
}

export function Moment({ atMs }: { readonly atMs: number }): ReactElement {
  const nowMs = useNow();
  return (
    <time dateTime={new Date(atMs).toISOString()} title={fullMomentText(atMs)}>
      {momentText(atMs, nowMs)}
    </time>
  );
}
