/** Maintenance windows and advance reservations, with the next one first: time, nodes, holder, and drained work. */
import type { CalendarItem, WindowUse } from "@headroom/protocol";
import { endingSentence, grouped, plural } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { percentText, spanText } from "../../format/amounts.ts";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";

type WindowEntry = CalendarItem["entry"];
type Window = Exclude<WindowEntry, { readonly kind: "tariff" }>;

export function WindowsPanel({ items }: { readonly items: readonly CalendarItem[] }): ReactElement {
  const windows = items.flatMap((item) => {
    const { entry } = item;
    return entry.kind === "tariff" ? [] : [{ item, window: entry }];
  });
  return (
    <Panel title="Maintenance and reservations">
      {windows.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          The calendar is empty. Apply a document of kind <code className="font-mono text-xs">maintenance</code> or{" "}
          <code className="font-mono text-xs">reservation</code>.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {windows.map(({ item, window }) => (
            <WindowRow key={window.name} item={item} window={window} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface WindowRowProps {
  readonly item: CalendarItem;
  readonly window: Window;
}

function WindowRow({ item: { use, nodes }, window }: WindowRowProps): ReactElement {
  const isMaintenance = window.kind === "maintenance";
  return (
    <li className="grid gap-x-6 gap-y-1.5 px-4 py-3 md:grid-cols-[15rem_1fr]">
      <div className="min-w-0">
        <h3 className="font-medium break-words">{window.name}</h3>
        <p className="mt-0.5">
          <Badge tone={isMaintenance ? "stop" : "run"}>{isMaintenance ? "Maintenance" : "Reservation"}</Badge>{" "}
          <When window={window} />
        </p>
        <p className="mt-0.5 text-xs text-ink-3">
          <Moment atMs={window.startMs} /> to <Moment atMs={window.endMs} />
        </p>
      </div>
      <div className="min-w-0">
        <p>{placeText(window, use, nodes)}</p>
        {window.kind === "maintenance" && window.reason !== undefined ? <p>{window.reason}</p> : null}
        {use === undefined ? null : (
          <>
            {isMaintenance ? null : <Kept use={use} />}
            <Drained use={use} />
          </>
        )}
      </div>
    </li>
  );
}

function When({ window: { startMs, endMs } }: { readonly window: Window }): ReactElement {
  const nowMs = useNow();
  return (
    <span className="text-ink-2">
      {nowMs < startMs ? `in ${spanText(startMs - nowMs)}` : `now, for ${spanText(endMs - nowMs)} more`}
    </span>
  );
}

const NODES_SHOWN = 4;

/** `4 nodes (h100-41, h100-42, h100-43, h100-44), 32 accelerators, for team research/safety`. */
function placeText(window: Window, use: WindowUse | undefined, chosen: readonly string[] | undefined): string {
  const named = chosen ?? window.nodes ?? [];
  const pool = window.kind === "maintenance" && window.pool !== undefined ? `pool ${window.pool}` : "";
  const list = named.length > NODES_SHOWN ? `${named.slice(0, NODES_SHOWN).join(", ")} and others` : named.join(", ");
  const where = pool === "" ? list : pool;
  const count = use === undefined ? where : `${plural(use.nodeCount, "node")} (${where})`;
  const amount = use === undefined ? "" : `, ${plural(use.acceleratorCount, "accelerator")}`;
  return `${count}${amount}${window.kind === "maintenance" ? "" : `, for ${ownersText(window)}`}`;
}

const ownersText = ({ team, users = [] }: Extract<Window, { readonly kind: "reservation" }>): string =>
  [...(team === undefined ? [] : [`team ${team}`]), ...users.map((user) => `user ${user}`)].join(" and ");

function Kept({ use: { heldFor, acceleratorCount } }: { readonly use: WindowUse }): ReactElement {
  return (
    <div className="mt-1 grid items-center gap-x-3 sm:grid-cols-[18rem_minmax(4rem,16rem)]">
      <p className="text-ink-2">
        In use by its holder: {grouped(heldFor)} of {grouped(acceleratorCount)} (
        {percentText(heldFor, acceleratorCount)})
      </p>
      <UsageBar total={acceleratorCount} parts={[{ key: "held", amount: heldFor, className: "bg-run" }]} />
    </div>
  );
}

const DRAINED_SHOWN = 6;

function Drained({ use: { drained, drainedCount, completionCount } }: { readonly use: WindowUse }): ReactElement {
  const shown = drained.slice(0, DRAINED_SHOWN);
  return (
    <>
      <p className="mt-1 text-ink-2">
        {drainedCount === 0
          ? "No work is stopped for it."
          : `${plural(drainedCount, "attempt")} ${drainedCount === 1 ? "is" : "are"} stopped for it:`}
      </p>
      {shown.length === 0 ? null : (
        <ul>
          {shown.map(({ attemptId, workloadId, name, team, accelerators, askedAtMs, isStopping }) => (
            <li key={attemptId} className="flex min-h-6 flex-wrap items-baseline gap-x-2">
              <Link to="/workloads/$workloadId" params={{ workloadId }} className="font-medium hover:underline">
                {name}
              </Link>
              <span className="text-ink-3">
                {team}, {plural(accelerators, "accelerator")} on these nodes,{" "}
                {isStopping ? "stopping since" : "stops at"} <Moment atMs={askedAtMs} />
              </span>
            </li>
          ))}
          {drainedCount > shown.length ? (
            <li className="text-ink-3">and {grouped(drainedCount - shown.length)} others</li>
          ) : null}
        </ul>
      )}
      {completionCount === 0 ? null : <p className="text-ink-3">{endingSentence(completionCount)}</p>}
    </>
  );
}
