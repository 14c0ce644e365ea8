/** Shows the failed attempt at the top: how its worker ended, and the last lines of its log. */
import type { Attempt, LogChunk, Workload } from "@headroom/protocol";
import { exitSentence } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useSession } from "../../connect/session.ts";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { plainLines } from "./logs/ansi.ts";

type Ended = Attempt & { readonly phase: "ended" };

const LINES = 20;

/** The newest attempt that failed or was lost; none if a later one runs or the workload succeeded. */
function failedAttempt({ attempts, phase }: Workload): Ended | null {
  if (phase === "succeeded" || phase === "cancelled") return null;
  const newest = attempts.findLast((attempt): attempt is Ended => attempt.phase === "ended");
  return newest !== undefined && (newest.outcome === "failed" || newest.outcome === "lost") ? newest : null;
}

export function FailurePanel({ workload }: { readonly workload: Workload }): ReactElement | null {
  const attempt = failedAttempt(workload);
  if (attempt === null) return null;
  const worker = attempt.exit?.worker ?? 0;
  const node = attempt.workers[worker]?.node;
  return (
    <Panel
      title={`Attempt ${attempt.number} ${attempt.outcome === "lost" ? "was lost" : "failed"}`}
      className="border-l-2 border-l-bad"
      aside={
        <span className="text-xs text-ink-3">
          <Moment atMs={attempt.endedAtMs} />
        </span>
      }
    >
      <p className="px-4 pt-3 text-base">
        <strong className="font-semibold text-bad">{reasonOf(attempt)}</strong>
        {node === undefined ? null : (
          <>
            {" "}
            It ran on{" "}
            <Link
              to="/"
              search={{ node }}
              className="underline decoration-line-strong underline-offset-2 hover:text-ink"
            >
              {node}
            </Link>
            .
          </>
        )}
      </p>
      <LastLines workloadId={workload.id} attempt={attempt.id} worker={worker} />
    </Panel>
  );
}

function reasonOf({ exit, detail, outcome }: Ended): string {
  const sentence = exit === null ? detail : exitSentence(exit);
  if (sentence === "") return outcome === "lost" ? "The attempt was lost." : "The attempt failed.";
  const text = `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`;
  return text.endsWith(".") ? text : `${text}.`;
}

interface LastLinesProps {
  readonly workloadId: string;
  readonly attempt: string;
  readonly worker: number;
}

function LastLines({ workloadId, attempt, worker }: LastLinesProps): ReactElement {
  const { client, demo } = useSession();
  const { data, error } = useQuery({
    queryKey: ["last lines", workloadId, attempt, worker],
    enabled: demo === null,
    retry: false,
    queryFn: async ({ signal }) => {
      const chunks: LogChunk[] = [];
      for await (const chunk of client.logs(workloadId, { attempt, worker, tailLines: LINES, signal }))
        chunks.push(chunk);
      return plainLines(chunks.map(({ text }) => text).join("")).slice(-LINES);
    },
  });
  if (demo !== null) return <p className="px-4 pt-1 pb-3 text-ink-2">Simulated work writes no logs.</p>;
  if (error !== null) return <p className="px-4 pt-1 pb-3 text-ink-2">Its log cannot be read any more.</p>;
  if (data === undefined) return <p className="px-4 pt-1 pb-3 text-ink-2">Reading the last lines.</p>;
  if (data.length === 0) return <p className="px-4 pt-1 pb-3 text-ink-2">Worker {worker} wrote nothing.</p>;
  return (
    <>
      <p className="px-4 pt-1 text-xs text-ink-3">Last lines of worker {worker}</p>
      <pre
        tabIndex={0}
        role="region"
        aria-label={`Last lines of worker ${worker}`}
        className="scroll-thin m-4 mt-1 max-h-64 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs whitespace-pre-wrap"
      >
        {data.join("\n")}
      </pre>
    </>
  );
}
