/** Pools of a gateway with their replicas: state, requests, what the engine reports of its queue and KV cache. */
import type { GatewayPool, GatewayReplica } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import type { ReactElement } from "react";
import { percentText } from "../../format/amounts.ts";
import { Badge, type Tone } from "../../parts/phase-badge.tsx";

export function PoolList({ pools }: { readonly pools: readonly GatewayPool[] }): ReactElement {
  return (
    <ul className="divide-y divide-line">
      {pools.map((pool) => (
        <li key={pool.name} aria-label={pool.name} className="px-4 py-3">
          <p className="flex flex-wrap items-baseline gap-x-3">
            <span className="font-medium break-words">{pool.name}</span>
            <span className="text-ink-3">{pool.engine}</span>
            <span className={pool.readyCount === 0 ? "text-bad" : "text-ink-2"}>
              {grouped(pool.readyCount)} of {plural(pool.replicaCount, "replica")} ready
            </span>
            <span className="text-ink-2">{plural(pool.requests, "request")} in progress</span>
            {pool.waiting === null ? null : <span className="text-ink-2">{waitingText(pool.waiting)}</span>}
          </p>
          {pool.replicas.length === 0 ? null : <ReplicaTable pool={pool.name} replicas={pool.replicas} />}
          {pool.replicaCount > pool.replicas.length && pool.replicas.length > 0 ? (
            <p className="pt-1 text-xs text-ink-3">and {grouped(pool.replicaCount - pool.replicas.length)} more</p>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

/** "12 waiting (3 high, 9 normal)": priorities of which none waits are left out. */
function waitingText({ low, normal, high }: NonNullable<GatewayPool["waiting"]>): string {
  const counts: [number, string][] = [
    [high, "high"],
    [normal, "normal"],
    [low, "low"],
  ];
  const present = counts.filter(([count]) => count > 0).map(([count, priority]) => `${grouped(count)} ${priority}`);
  return `${grouped(low + normal + high)} waiting${present.length === 0 ? "" : ` (${present.join(", ")})`}`;
}

const columns = ["In progress", "Running", "Queued", "KV cache"];

interface ReplicaTableProps {
  readonly pool: string;
  readonly replicas: readonly GatewayReplica[];
}

/** On a phone, the figures of a replica are shown below its name. */
function ReplicaTable({ pool, replicas }: ReplicaTableProps): ReactElement {
  return (
    <table aria-label={`Replicas of ${pool}`} className="mt-2 w-full text-left">
      <thead className="text-xs text-ink-3">
        <tr>
          <th scope="col" className="py-1 pr-3 font-medium">
            Replica
          </th>
          <th scope="col" className="py-1 pr-3 font-medium">
            State
          </th>
          {columns.map((title) => (
            <th key={title} scope="col" className="hidden py-1 pl-3 text-right font-medium sm:table-cell">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {replicas.map((replica) => (
          <tr key={replica.id} className="align-top">
            <th scope="row" className="py-1 pr-3 font-normal break-all">
              {replica.id}
              <p className="text-xs text-ink-2 sm:hidden">
                {columns.map((title, at) => `${title.toLowerCase()} ${figuresOf(replica)[at]}`).join(", ")}
              </p>
            </th>
            <td className="py-1 pr-3 whitespace-nowrap">
              <Badge tone={toneOf(replica)}>{replica.state}</Badge>
            </td>
            {figuresOf(replica).map((text, at) => (
              <td key={columns[at]} className="hidden py-1 pl-3 text-right sm:table-cell">
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function figuresOf({ requests, running, queued, kvUsage }: GatewayReplica): readonly string[] {
  return [
    grouped(requests),
    running === null ? "–" : grouped(running),
    queued === null ? "–" : grouped(queued),
    kvUsage === null ? "–" : percentText(kvUsage, 1),
  ];
}

function toneOf({ state }: GatewayReplica): Tone {
  if (state === "ready") return "good";
  return state === "draining" || state === "backing off" ? "wait" : "bad";
}
