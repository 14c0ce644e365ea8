/** Executors with their state. The panel is hidden while the only executor is that of the control plane's machine, and it answers. */
import type { Executor } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { executorsQuery } from "../../data/queries.ts";
import { changesFleet } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Span } from "../../parts/time-text.tsx";

/** Minimum interval in ms between fetches: nodes of a cluster join in groups. */
const EVERY_MS = 5_000;

export function ExecutorsPanel(): ReactElement | null {
  const query = executorsQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesFleet, everyMs: EVERY_MS });
  const items = data?.items ?? [];
  if (items.every(({ isDeclared, phase }) => !isDeclared && phase === "reachable")) return null;
  return (
    <Panel
      title="Executors"
      aside={<span className="text-xs text-ink-3">Attempts of an executor that is silent stay as recorded</span>}
    >
      <ul className="divide-y divide-line">
        {items.map((executor) => (
          <ExecutorRow key={executor.name} executor={executor} />
        ))}
      </ul>
    </Panel>
  );
}

function ExecutorRow({ executor }: { readonly executor: Executor }): ReactElement {
  const { name, type, mode, phase, sinceMs, reason, nodes, accelerators, attempts, pools } = executor;
  return (
    <li className="grid gap-x-6 gap-y-1.5 px-4 py-3 md:grid-cols-[15rem_1fr]">
      <div className="min-w-0">
        <h3 className="font-medium break-words">{name}</h3>
        <p className="mt-0.5">
          <Badge tone={phaseTones[phase]}>{phaseTexts[phase]}</Badge>{" "}
          <span className="text-ink-2">
            {type}
            {mode === "follow" ? ", followed only" : ""}
          </span>
        </p>
      </div>
      <div className="min-w-0">
        <p>
          {plural(nodes, "node")}, {grouped(accelerators)} {accelerators === 1 ? "accelerator" : "accelerators"},{" "}
          {plural(attempts, "attempt")}
        </p>
        {pools.length === 0 ? null : <p className="mt-0.5 text-ink-2 break-words">Pools: {pools.join(", ")}</p>}
        {phase === "reachable" || sinceMs === undefined ? null : (
          <p className="mt-0.5 text-ink-2">
            For <Span fromMs={sinceMs} />
            {reason === undefined ? "" : `: ${reason}`}
          </p>
        )}
      </div>
    </li>
  );
}

const phaseTexts: Readonly<Record<Executor["phase"], string>> = {
  configured: "Not yet reached",
  reachable: "Reachable",
  unreachable: "Unreachable",
  removed: "Removed",
};

const phaseTones: Readonly<Record<Executor["phase"], "good" | "wait" | "bad" | "idle">> = {
  configured: "wait",
  reachable: "good",
  unreachable: "bad",
  removed: "idle",
};
