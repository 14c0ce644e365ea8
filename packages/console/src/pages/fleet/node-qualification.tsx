/** Qualification of a node: its phase, the newest result of its suite, and how to begin it again. */
import type { Node } from "@headroom/protocol";
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
  const { data: report } = useQuery({
    queryKey: ["nodes", node.id, "qualification"],
    queryFn: () => client.nodeQualification(node.id),
    enabled: rule !== undefined,
  });
  const again = useMutation({
    mutationFn: () => client.qualifyNode(node.id),
    onSuccess: () => announcer.say(`${node.id} has to qualify.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["nodes"] }),
  });
  if (rule === undefined) return null;
  const { qualification } = node;
  const result = report?.result ?? null;
  const isOpen = qualification !== undefined && qualification.phase !== "failed";
  return (
    <section aria-label="Qualification" className="border-t border-line px-4 py-3">
      <h3 className="pb-1 font-semibold">Qualification</h3>
      <p className="text-ink-2">
        {qualification === undefined
          ? `Nodes of pool ${node.pool} pass the suite ${rule.suite} before they take work.`
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
      {result === null ? null : (
        <p className="break-words text-ink-2">
          {result.isPassed ? "Passed" : "Did not pass"} {result.suite} at <Moment atMs={result.atMs} />: {result.detail}
        </p>
      )}
      {result === null || result.measurements.length === 0 ? null : (
        <ul className="break-words pt-1 text-ink-2">
          {result.measurements.slice(0, SHOWN_MAX).map(({ test, value, unit, verdict }, at) => (
            <li key={`${at} ${test}`}>
              {test}: {value === null ? (verdict ?? "no figure") : `${value} ${unit ?? ""}`}
            </li>
          ))}
        </ul>
      )}
      {isOpen ? null : (
        <div className="pt-2">
          <Button look="quiet" disabled={again.isPending} onClick={() => again.mutate()}>
            Qualify again
          </Button>
        </div>
      )}
    </section>
  );
}

/** Measurements that the panel lists. */
const SHOWN_MAX = 12;
