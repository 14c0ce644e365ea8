/** Key figures of the fleet. */
import type { Fleet, Status } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import type { ReactElement, ReactNode } from "react";
import { percentText } from "../../format/amounts.ts";
import { UsageBar } from "../../parts/usage-bar.tsx";

interface NumberProps {
  readonly name: string;
  readonly value: string;
  readonly detail: ReactNode;
}

function BigNumber({ name, value, detail }: NumberProps): ReactElement {
  return (
    <div className="min-w-0 bg-surface px-4 py-3">
      <dt className="truncate text-xs font-medium text-ink-3">{name}</dt>
      <dd className="mt-0.5 text-2xl font-semibold tracking-tight">{value}</dd>
      <dd className="mt-0.5 text-xs text-ink-2">{detail}</dd>
    </div>
  );
}

export function FleetNumbers({ fleet, status }: { readonly fleet: Fleet; readonly status: Status }): ReactElement {
  const { total, held, free, unavailable, foreign = 0 } = fleet.accelerators;
  const { lost, draining, inMaintenance, qualifying = 0 } = fleet.nodes;
  const hotSpares = fleet.pools.reduce((sum, { hotSparesKept = 0 }) => sum + hotSparesKept, 0);
  const troubles = [
    lost > 0 ? `${lost} lost` : "",
    draining > 0 ? `${draining} draining` : "",
    qualifying > 0 ? `${qualifying} qualifying` : "",
    inMaintenance > 0 ? `${inMaintenance} in maintenance` : "",
    hotSpares > 0 ? plural(hotSpares, "hot spare") : "",
  ].filter((text) => text !== "");
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3 xl:grid-cols-6">
      <BigNumber
        name="Accelerators in use"
        value={`${grouped(held)} / ${grouped(total)}`}
        detail={
          <span className="flex items-center gap-2">
            {percentText(held, total)}
            <UsageBar
              total={total}
              parts={[
                { key: "held", amount: held, className: "bg-run" },
                { key: "foreign", amount: foreign, className: "bg-ink-3" },
                { key: "unavailable", amount: unavailable, className: "bg-cell-down" },
              ]}
            />
          </span>
        }
      />
      <BigNumber
        name="Free"
        value={grouped(free)}
        detail={foreign === 0 ? "ready to take work" : `${grouped(foreign)} more used by foreign work`}
      />
      <BigNumber
        name="Out of service"
        value={grouped(unavailable)}
        detail={troubles.length === 0 ? "every node is up" : `nodes: ${troubles.join(", ")}`}
      />
      <BigNumber
        name="Running"
        value={grouped(status.activeAttempts)}
        detail={`attempts on ${plural(fleet.nodes.total, "node")}`}
      />
      <BigNumber
        name="Waiting"
        value={grouped(status.workloads.waiting)}
        detail={`for ${plural(status.waitingAccelerators, "accelerator")}`}
      />
      <BigNumber name="Policy" value={status.policy} detail={roundText(status)} />
    </dl>
  );
}

/** Figures about the control plane itself. If it has a journal, they include the time until a decision is durable. */
function roundText({ journal, sequence }: Status): string {
  const events = plural(sequence, "event");
  return journal === null
    ? `${events} so far`
    : `${events}; journal sync ${journal.syncLatencyP99Ms.toFixed(1)} ms (p99)`;
}
