/** Pools that lose more nodes at a time than they have hot spares, by the failure model of their own losses. */
import type { NodeId, Pool } from "@headroom/model";
import type { Failure } from "../incidents/failure.ts";
import type { IncidentFacts } from "../incidents/incident-fold.ts";
import { forecastSpares } from "../spares/failure-model.ts";
import type { FaultInterval } from "../spares/fault-trace.ts";
import { ground, shortReason } from "./finding.ts";
import type { Finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** The model needs a history: with fewer days or losses, chance decides about the number of spares. */
const DAYS_MIN = 14;
const LOSSES_MIN = 10;
/** Largest part of a pool that may become hot spares. */
const SPARES_PART_MAX = 0.2;

export interface SparedPool {
  readonly pool: Pool;
  readonly nodes: ReadonlySet<NodeId>;
}

/** `historyFromMs`: the first instant of which the incidents tell. */
export function spareFindings(
  pools: readonly SparedPool[],
  incidents: readonly IncidentFacts[],
  { historyFromMs, nowMs }: { readonly historyFromMs: number; readonly nowMs: number },
): readonly Finding[] {
  const days = (nowMs - historyFromMs) / DAY_MS;
  if (days < DAYS_MIN) return [];
  return pools.flatMap(({ pool, nodes }) => {
    const losses = incidents
      .flatMap(({ failures }) => failures)
      .filter(({ node, isLost }) => node !== "" && isLost && nodes.has(node));
    const intervals = intervalsOf(losses, historyFromMs);
    if (intervals.length < LOSSES_MIN) return [];
    const { p99Concurrent, observed } = forecastSpares(intervals, 0, days);
    const present = pool.hotSpares ?? 0;
    const hotSpares = Math.min(p99Concurrent, Math.max(1, Math.floor(nodes.size * SPARES_PART_MAX)));
    if (hotSpares <= present) return [];
    const sinceMs = Math.max(...losses.map(({ atMs }) => atMs));
    return [spareFinding(pool, { hotSpares, present, losses: losses.length, days, observed: observed.p99, sinceMs })];
  });
}

function intervalsOf(losses: readonly Failure[], fromMs: number): readonly FaultInterval[] {
  const inDays = (atMs: number): number => (atMs - fromMs) / DAY_MS;
  return losses
    .map(({ atMs, backAtMs }) => ({
      startDays: inDays(atMs),
      endDays: backAtMs === null ? Number.POSITIVE_INFINITY : inDays(backAtMs),
    }))
    .toSorted((left, right) => left.startDays - right.startDays || left.endDays - right.endDays);
}

interface SpareNeed {
  readonly hotSpares: number;
  readonly present: number;
  readonly losses: number;
  readonly days: number;
  /** P99 of the nodes that were away at a time. */
  readonly observed: number;
  /** The newest loss. */
  readonly sinceMs: number;
}

function spareFinding({ name }: Pool, { hotSpares, present, losses, days, observed, sinceMs }: SpareNeed): Finding {
  return {
    id: `spares:${name}:${hotSpares}`,
    kind: "spares",
    sinceMs,
    change: { kind: "spares", pool: name, hotSpares },
    team: null,
    reason: shortReason(`Pool ${name} has ${present} hot spares; its losses need ${hotSpares} for 99% of the time`),
    ground: [
      ground("losses", losses),
      ground("history", Math.floor(days), "days"),
      ground("P99 of nodes away at a time", observed),
    ],
  };
}
