import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { wasteQuery } from "../../data/queries.ts";
import { changesWaste } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";

const EVERY_MS = 5_000;
/** Interval in ms: attempts report their use of accelerators every 30 s. */
const POLL_MS = 30_000;

/** Resources that this workload holds or requests but does not use; empty if there are none. */
export function WastePanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const query = wasteQuery(useClient(), workloadId);
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesWaste, everyMs: EVERY_MS, pollMs: POLL_MS });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Panel title="Idle resources" className="border-l-2 border-l-wait">
      <ul className="divide-y divide-line">
        {data.items.map(({ kind, sentence, ...rest }) => (
          <li key={`${kind} ${"attemptId" in rest ? rest.attemptId : ""}`} className="px-4 py-2.5 text-base">
            {sentence}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
