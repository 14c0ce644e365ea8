/**
 * The forecast with another fleet, other teams or another policy: two timelines on forks of one state. Every task has
 * its typical run time in both, so that all differences come from the change.
 */
import { commandId, nodeId } from "@headroom/model";
import type { Command, Input, NodeSpec, Policy, Pool, ProposedChange, Site, Team, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { nodeLike, proposedInputs } from "@headroom/explain";
import { DurationModel, usualDurationRules } from "../estimate/durations.ts";
import { drawnDurationMs, workHistory } from "../estimate/history.ts";
import { progressDurationMs } from "../estimate/progress-durations.ts";
import { playTimeline } from "./timeline.ts";
import { recurringArrivals } from "./recurring-arrivals.ts";
import type { RecurringArrivals } from "./recurring-arrivals.ts";
import type { Timeline, TimelineOptions } from "./timeline.ts";
import type { Interruption } from "./interruptions.ts";
import { TypicalDurations } from "./typical-durations.ts";

export interface WhatIfChange {
  readonly loseNodes: readonly string[];
  /** Time in ms after which the lost nodes return; absent: not within the horizon. */
  readonly returnAfterMs?: number;
  /** Number of copies of an existing node. Several entries for one node add up. */
  readonly addNodes: readonly { readonly like: string; readonly count: number }[];
  /** New sites and pools, with the nodes of the pools; absent: none. */
  readonly added?: {
    readonly sites: readonly Site[];
    readonly pools: readonly Pool[];
    readonly nodes: readonly NodeSpec[];
  };
  /** Hypothetical team definitions. */
  readonly teams: readonly Team[];
  /** `null`: the active policy. */
  readonly policy: Policy | null;
  /** Changes that are proposed; absent: none. */
  readonly proposed?: readonly ProposedChange[];
}

export interface WhatIfOptions {
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
  /** `recorded`: submissions of the recent past recur. `none`: nothing is submitted during the forecast. */
  readonly arrivals: "recorded" | "none";
  /**
   * Middle of the forecast of this state (`estimateStarts`), by workload; `null`: no time can be given. Starts without
   * the change are then those of the forecast, and the change moves them by the difference between the simulated
   * timelines. Absent: starts are the simulated instants.
   */
  readonly forecast?: ReadonlyMap<string, number | null>;
}

/** A workload whose start differs between the two timelines; a `null` time is beyond the horizon. */
export interface MovedStart {
  readonly workloadId: WorkloadId;
  /** Number of the workload's waiting tasks. */
  readonly taskCount: number;
  /** Start of the first task. */
  readonly presentAtMs: number | null;
  readonly changedAtMs: number | null;
  /** Start of the last task. */
  readonly presentLastAtMs: number | null;
  readonly changedLastAtMs: number | null;
}

/** Running work whose interruption differs between the two timelines; `null`: not interrupted. */
export interface InterruptedWork {
  readonly workloadId: WorkloadId;
  readonly present: Interruption | null;
  readonly changed: Interruption | null;
}

export interface WhatIf {
  /** Submissions that recur in both timelines; `null`: none were requested. */
  readonly arrivals: RecurringArrivals | null;
  readonly present: Timeline;
  readonly changed: Timeline;
  /** Starts of waiting work, in the order of submission. */
  readonly moved: readonly MovedStart[];
  /** Interruptions of running work, in the order of submission. */
  readonly interrupted: readonly InterruptedWork[];
}

/** Compares the two timelines. The engine stays unchanged. */
export function whatIf(engine: Engine, change: WhatIfChange, options: WhatIfOptions): WhatIf {
  const durationMs = typicalDurations(engine, options.nowMs);
  const recurring = options.arrivals === "recorded" ? recurringArrivals(engine.state, options) : null;
  const arrivals = recurring?.arrivals ?? [];
  const timeline = (inputs: readonly Input[], later?: TimelineOptions["later"]): Timeline =>
    playTimeline({ engine, ...options, inputs, arrivals, durationMs, ...(later === undefined ? {} : { later }) });
  const present = timeline([]);
  const changed = timeline(inputsOf(engine, change), returnOf(engine, change));
  const timelines = { present, changed };
  const moved = movedStarts(timelines, options);
  return { arrivals: recurring, ...timelines, moved, interrupted: interruptedWork(engine, timelines) };
}

function movedStarts(
  { present, changed }: Pick<WhatIf, "present" | "changed">,
  { forecast, nowMs }: WhatIfOptions,
): readonly MovedStart[] {
  return [...present.starts].flatMap(([workloadId, { taskCount, firstAtMs, lastAtMs }]) => {
    const other = changed.starts.get(workloadId);
    const played: MovedStart = {
      workloadId,
      taskCount,
      presentAtMs: firstAtMs,
      changedAtMs: other?.firstAtMs ?? null,
      presentLastAtMs: lastAtMs,
      changedLastAtMs: other?.lastAtMs ?? null,
    };
    if (isUnmoved(played)) return [];
    const forecastMs = forecast?.get(workloadId);
    const moved = forecastMs === undefined ? played : shifted(played, forecastMs, nowMs);
    return isUnmoved(moved) ? [] : [moved];
  });
}

const isUnmoved = ({ presentAtMs, changedAtMs, presentLastAtMs, changedLastAtMs }: MovedStart): boolean =>
  presentAtMs === changedAtMs && presentLastAtMs === changedLastAtMs;

/**
 * Converts simulated starts to the time scale of the forecast. The first start without the change becomes the
 * forecast's start. A start that the change brings forward keeps its share of the wait (an immediate start stays
 * immediate); a start that the change delays keeps its delay.
 */
function shifted(played: MovedStart, forecastMs: number | null, nowMs: number): MovedStart {
  const { presentAtMs, changedAtMs, presentLastAtMs, changedLastAtMs } = played;
  if (forecastMs === null) return { ...played, presentAtMs: null, presentLastAtMs: null };
  // Without a simulated start in the present timeline no difference can be measured. If the change brings the start
  // within the horizon, the start is shown no later than the forecast.
  if (presentAtMs === null)
    return { ...played, presentAtMs: forecastMs, changedAtMs: changedAtMs && Math.min(changedAtMs, forecastMs) };
  const share = presentAtMs > nowMs ? (forecastMs - nowMs) / (presentAtMs - nowMs) : 1;
  const by = (atMs: number | null): number | null => {
    if (atMs === null) return null;
    const scaledMs = nowMs + Math.round((atMs - nowMs) * share);
    return Math.max(nowMs, atMs < presentAtMs ? scaledMs : atMs + forecastMs - presentAtMs);
  };
  return {
    ...played,
    presentAtMs: forecastMs,
    changedAtMs: by(changedAtMs),
    presentLastAtMs: by(presentLastAtMs),
    changedLastAtMs: by(changedLastAtMs),
  };
}

function interruptedWork(
  { state }: Engine,
  timelines: Pick<WhatIf, "present" | "changed">,
): readonly InterruptedWork[] {
  return [...state.workloads.keys()].flatMap((workloadId) => {
    const present = timelines.present.interruptions.get(workloadId) ?? null;
    const changed = timelines.changed.interruptions.get(workloadId) ?? null;
    return isAlike(present, changed) ? [] : [{ workloadId, present, changed }];
  });
}

const isAlike = (one: Interruption | null, other: Interruption | null): boolean =>
  one?.atMs === other?.atMs && one?.againAtMs === other?.againAtMs && one?.taskCount === other?.taskCount;

/** Run times by task. Both timelines, and all restarts of the task, use the same time. */
function typicalDurations({ state }: Engine, nowMs: number): TimelineOptions["durationMs"] {
  const history = workHistory(state);
  const typical = new TypicalDurations(new DurationModel(history.records, usualDurationRules, history.imported));
  const known = new Map<string, number>();
  return (workload, task, elapsedMs, running) => {
    const byProgressMs = running === null ? null : progressDurationMs(workload, running, { nowMs, uniform: 0.5 });
    if (byProgressMs !== null) return byProgressMs;
    const key = `${workload.id} ${task}`;
    const before = known.get(key);
    if (before !== undefined && before >= elapsedMs) return before;
    const durationMs = drawnDurationMs(typical, history, workload, elapsedMs);
    known.set(key, durationMs);
    return durationMs;
  };
}

const by = { commandId: commandId("what-if"), actor: "what-if", idempotencyKey: null } as const;

function inputsOf(
  engine: Engine,
  { loseNodes, addNodes, added, teams, policy, proposed = [] }: WhatIfChange,
): readonly Input[] {
  const commands: Command[] = [];
  const { sites = [], pools = [], nodes = [] } = added ?? {};
  if (teams.length + sites.length + pools.length > 0)
    commands.push({ ...by, kind: "apply", sites, pools, teams, workloads: [] });
  if (policy !== null) commands.push({ ...by, kind: "setPolicy", policy });
  return [
    ...commands,
    ...proposedInputs(engine, proposed),
    ...loseNodes.map((id): Input => ({ kind: "nodeUnreachable", nodeId: nodeId(id), detail: "what if it were lost" })),
    ...nodes.map((node): Input => ({ kind: "nodeSeen", node })),
    ...[...countsByNode(addNodes)].flatMap(([like, count]) => nodesLike(engine, like, count)),
  ];
}

function returnOf(
  { state }: Engine,
  { loseNodes, returnAfterMs: afterMs }: WhatIfChange,
): TimelineOptions["later"] | undefined {
  if (afterMs === undefined) return undefined;
  const inputs = loseNodes.flatMap((id): Input[] => {
    const known = state.nodes.get(nodeId(id));
    if (known === undefined || known.health === "lost") return [];
    return [{ kind: "nodeSeen", node: { ...nodeLike(known, 0), id: known.id } }];
  });
  return { afterMs, inputs };
}

/** Number of copies by node, summed over all entries of the node. */
function countsByNode(addNodes: WhatIfChange["addNodes"]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { like, count } of addNodes) counts.set(like, (counts.get(like) ?? 0) + count);
  return counts;
}

/** Names for the copies of a node; empty if the node does not exist. Node ids in use are skipped. */
function nodesLike({ state }: Engine, like: string, count: number): readonly Input[] {
  const known = state.nodes.get(nodeId(like));
  if (known === undefined) return [];
  const inputs: Input[] = [];
  for (let index = 0; inputs.length < count; index++) {
    const node = nodeLike(known, index);
    if (!state.nodes.has(node.id)) inputs.push({ kind: "nodeSeen", node });
  }
  return inputs;
}
