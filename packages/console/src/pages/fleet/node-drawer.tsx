/** Details of one node: hardware, work on it, drain and resume. */
import type { Node } from "@headroom/protocol";
import { memoryText, coresText } from "@headroom/views";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ReactElement } from "react";
import { useNodeCommand } from "../../commands/use-commands.ts";
import { useClient } from "../../connect/session.ts";
import { fleetQuery } from "../../data/queries.ts";
import { useAnnouncer } from "../../parts/announcer.tsx";
import { Button } from "../../parts/button.tsx";
import { Confirm, Drawer } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { SubjectHistory } from "../../parts/subject-history.tsx";
import { NodeDifferencesPanel, NodeQualificationPanel } from "./node-qualification.tsx";
import { NodeTelemetryPanel } from "./node-telemetry.tsx";
import { freeCountOf, nodeStateText, nodeStateTone } from "./cell-colours.ts";

interface NodeDrawerProps {
  /** The node; undefined: the drawer is closed. */
  readonly node: Node | undefined;
  readonly onClose: () => void;
}

export function NodeDrawer({ node, onClose }: NodeDrawerProps): ReactElement {
  return (
    <Drawer isOpen={node !== undefined} onClose={onClose} title={node?.id ?? ""}>
      {node === undefined ? null : <NodeDetails node={node} />}
    </Drawer>
  );
}

function NodeDetails({ node }: { readonly node: Node }): ReactElement {
  return (
    <>
      <Facts
        facts={[
          {
            name: "State",
            value: <Badge tone={nodeStateTone(node)}>{nodeStateText(node)}</Badge>,
          },
          ...(node.acceleratorsChanged === true ? [{ name: "Changing", value: <Changing node={node} /> }] : []),
          ...(node.notice === undefined ? [] : [{ name: "Goes", value: <Goes notice={node.notice} /> }]),
          { name: "Place", value: [node.site, ...node.fabric].join(" / ") },
          { name: "Pool", value: node.pool },
          {
            name: "Accelerators",
            value: `${freeCountOf(node)} of ${node.acceleratorCount} ${node.acceleratorType} free${node.freeAccelerators === "" ? "" : ` (${node.freeAccelerators})`}`,
          },
          ...(node.foreignUse === undefined ? [] : [{ name: "Foreign use", value: foreignUseText(node.foreignUse) }]),
          { name: "Cores", value: `${node.coresFreeMilli / 1000} of ${coresText(node.coresMilli)} free` },
          { name: "Memory", value: `${memoryText(node.memoryFreeMib)} of ${memoryText(node.memoryMib)} free` },
          ...(node.networkGbps === undefined
            ? []
            : [{ name: "Network", value: `${node.networkFreeGbps ?? 0} of ${node.networkGbps} Gbps free` }]),
          { name: "Joined", value: <JoinedAgo atMs={node.joinedAtMs} /> },
          ...Object.entries(node.labels).map(([name, value]) => ({ name, value })),
        ]}
      />
      <NodeControls node={node} />
      <NodeTelemetryPanel node={node} />
      <section aria-label="Use over time" className="border-t border-line py-3">
        <SubjectHistory
          subject={`node:${node.id}`}
          title="Use over time"
          unit="accelerators"
          metrics={[
            { metric: "held", label: "held", tone: "run" },
            { metric: "foreign", label: "foreign", tone: "wait" },
            { metric: "outOfService", label: "out of service", tone: "bad" },
          ]}
        />
      </section>
      <section aria-label="On this node" className="border-t border-line">
        <h3 className="px-4 pt-3 pb-1 font-semibold">On this node</h3>
        {node.holders.length === 0 ? <p className="px-4 pb-4 text-ink-2">Nothing runs here.</p> : null}
        <ul>
          {node.holders.map((holder) => (
            <li key={`${holder.attemptId} ${holder.worker}`} className="border-b border-line px-4 py-2 last:border-0">
              <div className="flex items-baseline justify-between gap-3">
                <Link
                  to="/workloads/$workloadId"
                  params={{ workloadId: holder.workloadId }}
                  className="truncate font-medium hover:underline"
                >
                  {holder.workloadName}
                </Link>
                <span className="font-mono text-xs text-ink-2">
                  {holder.accelerators === "" ? "no accelerator" : holder.accelerators}
                  {holder.profile === undefined ? "" : ` (${holder.profile} at slice ${holder.slice})`}
                </span>
              </div>
              <p className="text-xs text-ink-2">
                {holder.team}, worker {holder.worker}, {holder.phase}
              </p>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** Amounts that work uses which Headroom does not run. */
const foreignUseText = ({ accelerators, coresMilli, memoryMib }: NonNullable<Node["foreignUse"]>): string =>
  `${accelerators === "" ? "no accelerator" : `accelerators ${accelerators}`}, ${coresText(coresMilli)} and ${memoryText(memoryMib)}, by work that Headroom does not run`;

/** Notice that the pool now has another accelerator type than the node. */
function Changing({ node }: { readonly node: Node }): ReactElement {
  const { data: fleet } = useQuery(fleetQuery(useClient()));
  const pool = fleet?.pools.find(({ name }) => name === node.pool);
  return (
    <>
      The node is recorded with {node.acceleratorType}, its pool now has {pool?.acceleratorType ?? "another type"}.
      Nothing new is placed here until it is empty and reports its accelerators again.
    </>
  );
}

function Goes({ notice }: { readonly notice: NonNullable<Node["notice"]> }): ReactElement {
  return (
    <>
      <Moment atMs={notice.goneAtMs} />
      {notice.reason === undefined ? "" : `: ${notice.reason}`}
    </>
  );
}

function JoinedAgo({ atMs }: { readonly atMs: number }): ReactElement {
  return (
    <>
      <Span fromMs={atMs} /> ago
    </>
  );
}

function NodeControls({ node }: { readonly node: Node }): ReactElement {
  return (
    <>
      <NodeActions node={node} />
      <NodeQualificationPanel node={node} />
      <NodeDifferencesPanel node={node} />
    </>
  );
}

function NodeActions({ node }: { readonly node: Node }): ReactElement {
  const client = useClient();
  const announcer = useAnnouncer();
  const queryClient = useQueryClient();
  const [isAsking, setIsAsking] = useState(false);
  const command = useNodeCommand();
  const withdraw = useMutation({
    mutationFn: () => client.withdrawNotice(node.id),
    onSuccess: () => announcer.say(`${node.id} stays.`),
    onError: (error) => announcer.fail(error),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["nodes"] }),
  });
  const isBusy = command.isPending || withdraw.isPending;
  return (
    <div className="flex flex-wrap gap-2 border-t border-line px-4 py-3">
      {node.draining ? (
        <Button
          look="primary"
          icon="play"
          disabled={isBusy}
          onClick={() => command.mutate({ verb: "resume", node: node.id })}
        >
          Resume
        </Button>
      ) : (
        <Button icon="pause" disabled={isBusy} onClick={() => command.mutate({ verb: "drain", node: node.id })}>
          Drain
        </Button>
      )}
      {node.holders.length === 0 ? null : (
        <Button look="quiet" disabled={isBusy} onClick={() => setIsAsking(true)}>
          Drain and requeue
        </Button>
      )}
      {node.notice === undefined ? null : (
        <Button look="quiet" disabled={isBusy} onClick={() => withdraw.mutate()}>
          Withdraw the notice
        </Button>
      )}
      <p className="w-full text-xs text-ink-3">
        Draining places no new work here and lets running work finish. Requeueing stops it, with its grace period, and
        puts it back in the queue.
      </p>
      <Confirm
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        onConfirm={() => command.mutate({ verb: "drain", node: node.id, running: "requeue" })}
        title={`Requeue the work on ${node.id}?`}
        action="Drain and requeue"
        isDangerous
      >
        Whole gangs are stopped, including their workers on other nodes. They start again from their newest checkpoint
        when capacity is free.
      </Confirm>
    </div>
  );
}
