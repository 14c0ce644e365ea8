/** Qualification of a node: its phase, the newest result of its suite, and how to begin it again. */
import type { HeadroomClient, Node, QualificationReport } from "@headroom/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery } from "../../data/queries.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Moment } from "../../parts/time-text.tsx";

/** Nothing, if the pool of the node has no rule. */
export function NodeQualificationPanel({ node }: { readonly node: Node }): ReactElement | null {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const { data: fleet } = useQuery(fleetQuery(client));
  const rule = fleet?.pools.find(({ name }) => name === node.pool)?.qualification;
  const { data: report } = useQuery(reportQuery(client, node.id));
  const again = useMutation({
    mutationFn: () => client.qualifyNode(node.id),
    onSuccess: () => announcer.say(`${node.id} has to qualify.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["nodes"] }),
  });
  const { qualification } = node;
  const result = report?.result ?? null;
  const history = report?.history ?? [];
  if (rule === undefined && history.length === 0) return null;
  const isOpen = qualification !== undefined && qualification.phase !== "failed";
  return (
    <section aria-label="Qualification" className="border-t border-line px-4 py-3">
      <h3 className="pb-1 font-semibold">Qualification</h3>
      <p className="text-ink-2">
        {qualification === undefined
          ? rule === undefined
            ? `Pool ${node.pool} has no rule of qualification any more.`
            : `Nodes of pool ${node.pool} pass the suite ${rule.suite} before they take work.`
          : null}
        {qualification?.phase === "waiting" ? `Waits for a run of the suite ${qualification.suite}.` : null}
        {qualification?.phase === "running" ? `Runs the suite ${qualification.suite}, run ${qualification.run}.` : null}
        {qualification?.phase === "failed" ? "Did not qualify, and takes no work." : null}
        {qualification?.expectedAtMs === undefined ? null : (
          <>
            {" "}
            Expected in service by <Moment atMs={qualification.expectedAtMs} />.
          </>
        )}
      </p>
      {qualification?.detail === undefined ? null : (
        <p className="break-words text-ink-2">Last run: {qualification.detail}</p>
      )}
      <Runs result={result} history={history} />
      {isOpen || rule === undefined ? null : (
        <div className="pt-2">
          <Button look="quiet" disabled={again.isPending} onClick={() => again.mutate()}>
            Qualify again
          </Button>
        </div>
      )}
    </section>
  );
}

/** The newest result with its measurements, and the runs before it. */
function Runs({ result, history }: Pick<QualificationReport, "result" | "history">): ReactElement {
  const earlier = history.slice(result === null || history[0]?.atMs !== result.atMs ? 0 : 1, RUNS_MAX);
  return (
    <>
      {result === null ? null : (
        <p className="break-words text-ink-2">
          {result.isPassed ? "Passed" : "Did not pass"} {result.suite} at <Moment atMs={result.atMs} />: {result.detail}
        </p>
      )}
      {result === null || result.measurements.length === 0 ? null : (
        <ul className="break-words pt-1 text-ink-2">
          {result.measurements.slice(0, SHOWN_MAX).map(({ test, value, unit, verdict, text }, at) => (
            <li key={`${at} ${test}`}>
              {test}: {text ?? (value === null ? (verdict ?? "no figure") : `${value} ${unit ?? ""}`)}
            </li>
          ))}
        </ul>
      )}
      {earlier.length === 0 ? null : (
        <>
          <h4 className="pt-2 font-semibold">Earlier runs</h4>
          <ul className="break-words text-ink-2">
            {earlier.map(({ atMs, suite, isPassed, detail }) => (
              <li key={atMs}>
                <Moment atMs={atMs} />, {suite}: {isPassed ? "passed" : "did not pass"}, {detail}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Facts in which the node differs from most nodes of its pool. Nothing, if it differs in none. */
export function NodeDifferencesPanel({ node }: { readonly node: Node }): ReactElement | null {
  const { data: report } = useQuery(reportQuery(useClient(), node.id));
  const differences = report?.differences ?? [];
  if (differences.length === 0) return null;
  return (
    <section aria-label="Differences from its pool" className="border-t border-line px-4 py-3">
      <h3 className="pb-1 font-semibold">Differs from its pool</h3>
      <dl className="break-words text-ink-2">
        {differences.slice(0, SHOWN_MAX).map(({ fact, value, expected, peerCount, comparedCount }) => (
          <div key={fact} className="pb-1">
            <dt className="font-mono text-xs">{fact}</dt>
            <dd>
              {value ?? "not stated"}; {peerCount} of {comparedCount} other nodes have {expected}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const reportQuery = (client: HeadroomClient, id: string) => ({
  queryKey: ["nodes", id, "qualification"],
  queryFn: () => client.nodeQualification(id),
});

/** Measurements, or differences, that a panel lists. */
const SHOWN_MAX = 12;
const RUNS_MAX = 8;
