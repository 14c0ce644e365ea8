/** Capacity orders: nodes that are coming, by pool, with their dates. The panel is hidden while no order is open. */
import type { CapacityOrder } from "@headroom/protocol";
import { orderPhaseText, plural, spanText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { useNow } from "../../connect/use-now.ts";
import { ordersQuery } from "../../data/queries.ts";
import { changesOrders } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { Badge, toneFill } from "../../parts/phase-badge.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";

/** Minimum interval in ms between fetches: the nodes of an order join in groups. */
const EVERY_MS = 5_000;

export function OrdersPanel(): ReactElement | null {
  const query = ordersQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesOrders, everyMs: EVERY_MS });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Panel
      title="Capacity orders"
      aside={<span className="text-xs text-ink-3">No work is placed on them before their nodes have joined</span>}
    >
      <ul className="divide-y divide-line">
        {data.items.map((order) => (
          <OrderRow key={order.name} order={order} />
        ))}
      </ul>
      {data.nextCursor === null ? null : (
        <p className="px-4 py-2 text-ink-2">
          There are more. <code className="font-mono text-xs">headroom order list</code> shows all.
        </p>
      )}
    </Panel>
  );
}

function OrderRow({ order }: { readonly order: CapacityOrder }): ReactElement {
  const { name, pool, phase, nodeCount, joinedCount, lateMs, changes } = order;
  const last = changes.at(-1);
  return (
    <li className="grid gap-x-6 gap-y-1.5 px-4 py-3 md:grid-cols-[15rem_1fr]">
      <div className="min-w-0">
        <h3 className="font-medium break-words">{name}</h3>
        <p className="mt-0.5">
          <Badge tone={lateMs > 0 ? "bad" : phase === "inService" ? "run" : "wait"}>
            {lateMs > 0 ? "Late" : capitalized(orderPhaseText(phase))}
          </Badge>{" "}
          <span className="text-ink-2">
            {plural(nodeCount, "node")} for pool {pool}
          </span>
        </p>
      </div>
      <div className="min-w-0">
        <p>
          <Expectation order={order} />
        </p>
        <p className="mt-0.5 text-ink-2">
          {joinedCount} of {plural(nodeCount, "node")} in the fleet
        </p>
        <UsageBar
          total={nodeCount}
          parts={[{ key: "joined", amount: joinedCount, className: toneFill.run }]}
          className="mt-1 h-1.5 max-w-md"
        />
        {last === undefined || last.reason === "" ? null : (
          <p className="mt-0.5 text-xs text-ink-3">
            {last.reason} ({last.actor ?? "the engine"})
          </p>
        )}
      </div>
    </li>
  );
}

const capitalized = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
const dayText = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

function Expectation({ order }: { readonly order: CapacityOrder }): ReactElement {
  const nowMs = useNow();
  const { expected, orderedAtMs, arrival, phase } = order;
  if (expected === null)
    return (
      <>{phase === "inService" ? "All nodes that were expected are in the fleet." : "Its nodes leave the fleet."}</>
    );
  const { p50AtMs, p95AtMs } = expected;
  const start = orderedAtMs === null && arrival.kind === "leadTime" ? "If ordered now, expected" : "Expected";
  const p95 = `P95 ${dayText(p95AtMs)}`;
  return p50AtMs < nowMs ? (
    <>
      Expected {spanText(nowMs - p50AtMs)} ago, {dayText(p50AtMs)} ({p95})
    </>
  ) : (
    <>
      {start} in {spanText(p50AtMs - nowMs)}, {dayText(p50AtMs)} ({p95})
    </>
  );
}
