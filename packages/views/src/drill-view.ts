/** Drills: the expected effects of a loss, and the interruptions that were observed. Both have the same form. */
import { DRILL_LABEL, nodeId } from "@headroom/model";
import type { NodeId, WorkloadId } from "@headroom/model";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { IncidentFold } from "@headroom/health";
import { whatIfHorizonMs } from "@headroom/protocol";
import type { Drill, DrillForecast, DrillWork } from "@headroom/protocol";
import type { Interruption, Present } from "@headroom/sim";
import { titleOf } from "./incident-view.ts";
import { durationText, grouped, plural } from "./plain-text.ts";
import { startsEarlier } from "./what-if-figures.ts";
import type { WhatIfPlayer } from "./what-if-view.ts";

/** Time in ms after the return of the nodes in which interrupted work must start again. */
const RECOVERY_MS = 12 * 3_600_000;
const SAMPLES = 24;
const WORK_SHOWN_MAX = 500;
const HOUR_MS = 3_600_000;

/** A running workload on lost nodes, with the price of an accelerator for an hour. */
export interface HitWorkload {
  readonly name: string;
  readonly team: string;
  readonly microUsdPerHour: number;
}

/** Nodes that no document of a pool allows for drills. Only operators write these documents; labels of executors do not count. */
export function nodesWithoutDrills({ nodes, pools }: ReadonlyState, ids: readonly NodeId[]): readonly NodeId[] {
  return ids.filter((id) => {
    const node = nodes.get(id);
    const pool = node === undefined ? undefined : pools.get(node.pool);
    const labels: Readonly<Record<string, string>> = { ...pool?.labels, ...pool?.nodeLabels?.[id] };
    return labels[DRILL_LABEL] !== "allowed";
  });
}

/** Workloads with workers on the nodes. */
export function workloadsOn(
  { attempts, workloads, nodes, pools }: ReadonlyState,
  ids: readonly NodeId[],
): ReadonlyMap<WorkloadId, HitWorkload> {
  const lost = new Set(ids);
  const hit = new Map<WorkloadId, HitWorkload>();
  for (const { workloadId, workers } of attempts.values()) {
    const on = workers.find(({ node }) => lost.has(node))?.node;
    if (on === undefined || hit.has(workloadId)) continue;
    const spec = workloads.get(workloadId)?.spec;
    const node = nodes.get(on);
    const microUsdPerHour = node === undefined ? 0 : (pools.get(node.pool)?.priceMicroUsdPerHour ?? 0);
    hit.set(workloadId, { name: spec?.name ?? workloadId, team: spec?.team ?? "", microUsdPerHour });
  }
  return hit;
}

type Totals = Omit<Drill["observed"], "isSettled">;

export function drillTotals(
  interruptions: ReadonlyMap<WorkloadId, Interruption>,
  hit: ReadonlyMap<WorkloadId, HitWorkload>,
): Totals {
  const work = [...interruptions].flatMap(([workloadId, interruption]): DrillWork[] => {
    const known = hit.get(workloadId);
    if (known === undefined) return [];
    const { taskCount, atMs, againAtMs, againOn, lostAcceleratorMs } = interruption;
    const lostMicroUsd = Math.round((lostAcceleratorMs / HOUR_MS) * known.microUsdPerHour);
    const { name, team } = known;
    return [
      { workloadId, name, team, taskCount, atMs, againAtMs, againOn: [...againOn], lostAcceleratorMs, lostMicroUsd },
    ];
  });
  const sum = (amount: (each: DrillWork) => number): number => work.reduce((total, each) => total + amount(each), 0);
  return {
    work: work.slice(0, WORK_SHOWN_MAX),
    interruptedCount: work.length,
    waitingCount: work.filter(({ againAtMs }) => againAtMs === null).length,
    slowestMs: work.reduce((slowest, { atMs, againAtMs }) => Math.max(slowest, (againAtMs ?? atMs) - atMs), 0),
    lostAcceleratorMs: sum((each) => each.lostAcceleratorMs),
    lostMicroUsd: sum((each) => each.lostMicroUsd),
  };
}

interface Loss {
  readonly nodes: readonly string[];
  readonly forMs: number;
}

export function drillForecast(
  { engine, sequence, nowMs }: Present,
  { nodes, forMs }: Loss,
  play: WhatIfPlayer,
): DrillForecast {
  const { state } = engine;
  const lost = nodes.map(nodeId).filter((id) => state.nodes.has(id));
  const horizonMs = Math.min(whatIfHorizonMs.max, forMs + RECOVERY_MS);
  const change = { loseNodes: lost, returnAfterMs: forMs, addNodes: [], teams: [], policy: null };
  const span = { nowMs, horizonMs, stepMs: Math.ceil(horizonMs / SAMPLES), arrivals: "recorded" } as const;
  const { changed, moved, interrupted } = play(engine, change, span);
  const byLoss = new Set(interrupted.filter((each) => each.changed !== null).map(({ workloadId }) => workloadId));
  const interruptions = new Map([...changed.interruptions].filter(([workloadId]) => byLoss.has(workloadId)));
  // Work elsewhere can be evicted for work of the lost nodes.
  const hit = new Map([...workloadsOn(state, [...state.nodes.keys()]), ...workloadsOn(state, lost)]);
  const totals = drillTotals(interruptions, hit);
  const away = awayOf(state, lost, forMs);
  const incidents = incidentsOf(engine, lost, nowMs);
  const laterCount = moved.filter((each) => !startsEarlier(each)).length;
  const sentence = sentenceOf({ ...totals, ...away, laterCount, nodes: lost, incidentCount: incidents.length });
  return {
    sequence,
    fromMs: nowMs,
    forMs,
    horizonMs,
    nodes: [...lost],
    ...away,
    incidents,
    laterCount,
    ...totals,
    sentence,
  };
}

function awayOf(
  { nodes, pools }: ReadonlyState,
  lost: readonly NodeId[],
  forMs: number,
): Pick<DrillForecast, "accelerators" | "awayAcceleratorMs" | "awayMicroUsd"> {
  let [accelerators, awayMicroUsd] = [0, 0];
  for (const id of lost) {
    const node = nodes.get(id);
    if (node === undefined || node.health === "lost") continue;
    accelerators += node.acceleratorCount;
    awayMicroUsd += node.acceleratorCount * (forMs / HOUR_MS) * (pools.get(node.pool)?.priceMicroUsdPerHour ?? 0);
  }
  return { accelerators, awayAcceleratorMs: accelerators * forMs, awayMicroUsd: Math.round(awayMicroUsd) };
}

/** Incidents that the losses would open. */
function incidentsOf({ state }: Engine, lost: readonly NodeId[], atMs: number): DrillForecast["incidents"] {
  const fold = IncidentFold.after(state);
  let { sequence } = fold;
  for (const id of lost)
    if (state.nodes.get(id)?.health !== "lost")
      fold.apply(++sequence, { kind: "nodeLost", version: 1, atMs, nodeId: id, detail: "drill" });
  return fold.incidents().map((facts) => ({
    title: titleOf(facts),
    nodes: facts.extent.nodes,
    accelerators: facts.extent.accelerators,
    workloads: new Set(facts.failures.flatMap(({ hits }) => hits.map(({ workloadId }) => workloadId))).size,
  }));
}

interface Sentence extends Totals {
  readonly accelerators: number;
  readonly laterCount: number;
  readonly nodes: readonly NodeId[];
  readonly incidentCount: number;
}

function sentenceOf({ nodes, accelerators, laterCount, incidentCount, ...totals }: Sentence): string {
  const { interruptedCount, waitingCount, slowestMs, lostAcceleratorMs } = totals;
  const lost = `Lost: ${plural(nodes.length, "node")} with ${plural(accelerators, "accelerator")}, ${plural(incidentCount, "incident")}`;
  const again = interruptedCount - waitingCount;
  const back = again === 0 ? "" : `, ${grouped(again)} run again, the last after ${durationText(slowestMs)}`;
  const hours = Math.round(lostAcceleratorMs / (HOUR_MS / 10)) / 10;
  return `${lost}; ${plural(interruptedCount, "workload")} interrupted${back}; ${grouped(hours)} accelerator-hours are repeated; starts later: ${plural(laterCount, "waiting workload")}.`;
}
