/** The values of metric sources that the number of replicas follows, each beside its target, with its age or what is wrong with it. */
import type { Endpoint } from "@headroom/protocol";
import { metricGapText } from "@headroom/views";
import type { ReactElement } from "react";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Span } from "../../parts/time-text.tsx";

type Metric = NonNullable<NonNullable<Endpoint["scaling"]>["metrics"]>[number];

export function MetricsPanel({ scaling }: Pick<Endpoint, "scaling">): ReactElement | null {
  const metrics = scaling?.metrics ?? [];
  if (metrics.length === 0) return null;
  return (
    <Panel title="Values that it follows">
      <ul className="divide-y divide-line">
        {metrics.map((metric) => (
          <MetricRow key={`${metric.source ?? ""} ${metric.name}`} metric={metric} />
        ))}
      </ul>
    </Panel>
  );
}

const figureText = (value: number): string => String(Number(value.toFixed(2)));

function MetricRow({ metric }: { readonly metric: Metric }): ReactElement {
  const { name, source, kind, target, value, gap, atMs } = metric;
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
      <span className="min-w-0 font-medium break-all">{name}</span>
      {gap === null ? (
        <span>
          {figureText(value ?? 0)}, target {figureText(target)}
          {kind === "perReplica" ? " for each replica" : ""}
        </span>
      ) : (
        <Badge tone="wait">{gap}</Badge>
      )}
      <span className="text-ink-2">
        {source === null ? "" : `from ${source}, `}
        {atMs == null ? (
          "no value yet"
        ) : (
          <>
            <Span fromMs={atMs} /> ago
          </>
        )}
      </span>
      {gap === null ? null : (
        <span className="w-full text-ink-2">
          {metricGapText(name, gap)} No replica is stopped while the value is not known.
        </span>
      )}
    </li>
  );
}
