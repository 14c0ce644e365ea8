/** Replays the last week under another policy, before that policy is activated. */
import { ProblemError, type ReplayReport } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { problemText } from "../../format/problem-text.ts";
import { replayed } from "../what-if/replayed.ts";

const WEEK_MS = 7 * 86_400_000;
const TEAMS_SHOWN = 4;

export function LastWeek({ preset }: { readonly preset: string }): ReactElement {
  const client = useClient();
  const [progress, setProgress] = useState(0);
  const { data, error } = useQuery({
    queryKey: ["last week", preset],
    gcTime: 0,
    retry: false,
    queryFn: ({ signal }) =>
      replayed(client, { periodMs: WEEK_MS, policy: { preset } }, { signal, onProgress: setProgress }),
  });
  return (
    <section aria-label="Replay of the last week" className="mt-3">
      <h3 className="font-medium text-ink">Replay of the last week</h3>
      {error !== null ? (
        <p className="mt-1">
          {error instanceof ProblemError && error.code === "notSupported"
            ? "The demo keeps no journal, so the last week cannot be replayed here."
            : problemText(error).detail}
        </p>
      ) : data === undefined || data === null ? (
        <p className="mt-1 flex items-center gap-2">
          <progress aria-label="Replaying" max={1} value={progress} className="h-1.5 w-32 accent-accent" />
          Replaying what was recorded.
        </p>
      ) : (
        <Outcome report={data} />
      )}
    </section>
  );
}

function Outcome({ report }: { readonly report: ReplayReport }): ReactElement {
  const names = (wanted: ReplayReport["teams"][number]["outcome"]): string =>
    report.teams
      .filter(({ outcome }) => outcome === wanted)
      .slice(0, TEAMS_SHOWN)
      .map(({ name }) => name)
      .join(", ");
  const [wins, loses] = [names("wins"), names("loses")];
  return (
    <>
      <p className="mt-1">{report.sentence}</p>
      {wins === "" ? null : <p className="mt-1 text-good">Waits less: {wins}</p>}
      {loses === "" ? null : <p className="mt-1 text-bad">Waits longer: {loses}</p>}
    </>
  );
}
