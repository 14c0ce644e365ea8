/** The work of a gateway: requests and latency of the last hour, teams, replicas, errors. */
import type { GatewayError, GatewayMinute, GatewayOverview } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import type { ReactElement } from "react";
import { momentText } from "../../format/moment.ts";
import { Icon } from "../../parts/icon.tsx";
import { Panel } from "../../parts/page.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";
import { PoolList } from "./pool-list.tsx";
import { TeamList } from "./team-list.tsx";

/** One line about the gateway, below the heading of the page. */
export function gatewaySummary({ id, notReady, inProgress, held, connections }: GatewayOverview): string {
  const waiting = held === 0 ? "" : `, ${grouped(held)} of them wait for a model to start`;
  const state = notReady.length === 0 ? "ready" : "not ready";
  return `${id} is ${state}: ${plural(inProgress, "request")} in progress${waiting}, ${plural(connections, "connection")}`;
}

export function GatewayView({ overview }: { readonly overview: GatewayOverview }): ReactElement {
  const { notReady, minutes, teams, teamCount, pools, poolCount, errors, refused, nowMs, startedAtMs } = overview;
  return (
    <div className="flex max-w-7xl flex-col gap-4 px-4 pb-6 md:px-6">
      {notReady.length === 0 ? null : (
        <div role="status" className="flex items-start gap-2 rounded-lg bg-wait-soft px-4 py-2 text-wait">
          <Icon name="warning" />
          <p className="min-w-0">{notReady.join(" ")}</p>
        </div>
      )}
      <div className="grid gap-4 xl:grid-cols-2">
        <RequestsPanel minutes={minutes} />
        <LatencyPanel minutes={minutes} />
      </div>
      <Panel title="Teams" aside={<Since count={teamCount} shown={teams.length} atMs={startedAtMs} nowMs={nowMs} />}>
        <TeamList teams={teams} nowMs={nowMs} />
      </Panel>
      <Panel title="Replicas" aside={<More count={poolCount} shown={pools.length} noun="pool" />}>
        <PoolList pools={pools} />
      </Panel>
      <Panel title="Failed requests" aside={<span className="text-xs text-ink-3">newest first</span>}>
        <ErrorList errors={errors} nowMs={nowMs} />
        <RefusedText refused={refused} />
      </Panel>
    </div>
  );
}

function RequestsPanel({ minutes }: { readonly minutes: readonly GatewayMinute[] }): ReactElement {
  const values = (of: (minute: GatewayMinute) => number): readonly number[] => minutes.map(of);
  return (
    <Panel title="Requests">
      <TimeChart
        label="Requests by outcome"
        unit="requests a minute"
        atMs={minutes.map(({ atMs }) => atMs)}
        text={(value) => grouped(Math.round(value))}
        endLabel="this minute"
        series={[
          { name: "completed", values: values(({ completed }) => completed), tone: "good", kind: "area" },
          { name: "client left", values: values(({ aborted }) => aborted), tone: "idle", kind: "area" },
          { name: "limited", values: values(({ limited }) => limited), tone: "wait", kind: "area" },
          { name: "failed", values: values(({ failed }) => failed), tone: "bad", kind: "area" },
        ]}
      />
    </Panel>
  );
}

function LatencyPanel({ minutes }: { readonly minutes: readonly GatewayMinute[] }): ReactElement {
  const values = (of: (minute: GatewayMinute) => number | null): readonly number[] =>
    minutes.map((minute) => of(minute) ?? 0);
  return (
    <Panel title="Latency">
      <TimeChart
        label="Latency of completed requests"
        unit="milliseconds"
        atMs={minutes.map(({ atMs }) => atMs)}
        text={millisecondsText}
        endLabel="this minute"
        series={[
          { name: "whole answer, p50", values: values((each) => each.durationP50Ms), tone: "run", kind: "line" },
          {
            name: "whole answer, p95",
            values: values((each) => each.durationP95Ms),
            tone: "run",
            kind: "line",
            isDashed: true,
          },
          { name: "first byte, p50", values: values((each) => each.firstByteP50Ms), tone: "stop", kind: "line" },
          {
            name: "first byte, p95",
            values: values((each) => each.firstByteP95Ms),
            tone: "stop",
            kind: "line",
            isDashed: true,
          },
        ]}
      />
    </Panel>
  );
}

const millisecondsText = (value: number): string =>
  value < 10_000 ? grouped(Math.round(value)) : `${Math.round(value / 1000)}k`;

interface CountProps {
  readonly count: number;
  readonly shown: number;
}

function More({ count, shown, noun }: CountProps & { readonly noun: string }): ReactElement | null {
  if (count <= shown) return null;
  return (
    <span className="text-xs text-ink-3">
      {grouped(shown)} of {plural(count, noun)}
    </span>
  );
}

function Since({
  count,
  shown,
  atMs,
  nowMs,
}: CountProps & { readonly atMs: number; readonly nowMs: number }): ReactElement {
  return (
    <span className="text-xs text-ink-3">
      {count > shown ? `${grouped(shown)} of ${plural(count, "team")}, ` : ""}since {momentText(atMs, nowMs)}
    </span>
  );
}

function ErrorList({
  errors,
  nowMs,
}: {
  readonly errors: readonly GatewayError[];
  readonly nowMs: number;
}): ReactElement {
  if (errors.length === 0) return <p className="px-4 py-3 text-ink-2">None of the last requests failed.</p>;
  return (
    <ul className="divide-y divide-line">
      {errors.map(({ id, atMs, team, key, model, pool, status, message }) => (
        <li key={id} className="px-4 py-2">
          <p className="flex flex-wrap items-baseline gap-x-3">
            <span className="text-ink-3">{momentText(atMs, nowMs)}</span>
            <span className="font-medium text-bad">{status}</span>
            <span className="min-w-0 break-words">
              {[model, pool].filter((text) => text !== "").join(" · ")}
              {team === "" ? null : <span className="text-ink-2"> from {key === "" ? team : `${team}/${key}`}</span>}
            </span>
          </p>
          <p className="min-w-0 break-words text-ink-2">{message}</p>
          <p className="min-w-0 font-mono text-xs break-all text-ink-3">{id}</p>
        </li>
      ))}
    </ul>
  );
}

function RefusedText({ refused }: Pick<GatewayOverview, "refused">): ReactElement | null {
  if (refused.length === 0) return null;
  const parts = refused.toSorted((a, b) => b.count - a.count).map(({ reason, count }) => `${reason} ${grouped(count)}`);
  return (
    <p className="border-t border-line px-4 py-2 text-ink-2">
      Refused before a replica was chosen, since the start: {parts.join(", ")}.
    </p>
  );
}
