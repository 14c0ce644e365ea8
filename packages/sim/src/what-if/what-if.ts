/**
 * What would become of the next hours if nodes came or went, or a team or the policy were another: two courses on forks of one
 * state, in which every task lasts the same, so that what differs between them comes of the change alone.
 */
import { commandId, nodeId, nodeLike } from "@headroom/engine";
import type { Command, Engine, Input, Policy, Team, WorkloadId } from "@headroom/engine";
import { DurationModel, usualDurationRules } from "../estimate/durations.ts";
import { drawnDurationMs, workHistory } from "../estimate/history.ts";
import { playCourse } from "./course.ts";
import type { Course, CourseOptions } from "./course.ts";

export interface WhatIfChange {
  readonly loseNodes: readonly string[];
  /** So many nodes in every way like one that is there; what is said of one node twice adds up. */
  readonly addNodes: readonly { readonly like: string; readonly count: number }[];
  /** Teams as they would be defined. */
  readonly teams: readonly Team[];
  /** `null`: the one in force. */
  readonly policy: Policy | null;
}

export interface WhatIfOptions {
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
  readonly seed: number;
}

/** A start that differs between the two courses; `null`: not within the horizon. */
export interface MovedStart {
  readonly workloadId: WorkloadId;
  readonly presentAtMs: number | null;
  readonly changedAtMs: number | null;
}

export interface WhatIf {
  readonly present: Course;
  readonly changed: Course;
  /** Those of work that waits now, in the order of submission. */
  readonly moved: readonly MovedStart[];
}

/** Leaves the engine as it was. */
export function whatIf(engine: Engine, change: WhatIfChange, options: WhatIfOptions): WhatIf {
  const durationMs = imaginedDurations(engine, options.seed);
  const course = (inputs: readonly Input[]): Course => playCourse({ engine, ...options, inputs, durationMs });
  const present = course([]);
  const changed = course(inputsOf(engine, change));
  const moved: MovedStart[] = [];
  for (const { id, phase } of engine.state.workloads.values()) {
    if (phase !== "pending") continue;
    const presentAtMs = present.starts.get(id) ?? null;
    const changedAtMs = changed.starts.get(id) ?? null;
    if (presentAtMs !== changedAtMs) moved.push({ workloadId: id, presentAtMs, changedAtMs });
  }
  return { present, changed, moved };
}

/** One draw for each task, whichever course asks first. */
function imaginedDurations({ state }: Engine, seed: number): CourseOptions["durationMs"] {
  const history = workHistory(state);
  const scenario = new DurationModel(history.records, usualDurationRules).scenario(seed);
  const known = new Map<string, number>();
  return (workload, task, elapsedMs) => {
    const key = `${workload.id} ${task}`;
    const imagined = known.get(key);
    if (imagined !== undefined && imagined >= elapsedMs) return imagined;
    const drawn = drawnDurationMs(scenario, history, workload, elapsedMs);
    known.set(key, drawn);
    return drawn;
  };
}

const by = { commandId: commandId("what-if"), actor: "what-if", idempotencyKey: null } as const;

function inputsOf(engine: Engine, { loseNodes, addNodes, teams, policy }: WhatIfChange): readonly Input[] {
  const commands: Command[] = [];
  if (teams.length > 0) commands.push({ ...by, kind: "apply", sites: [], pools: [], teams, workloads: [] });
  if (policy !== null) commands.push({ ...by, kind: "setPolicy", policy });
  return [
    ...commands,
    ...loseNodes.map((id): Input => ({ kind: "nodeUnreachable", nodeId: nodeId(id), detail: "what if it were lost" })),
    ...[...countsByNode(addNodes)].flatMap(([like, count]) => nodesLike(engine, like, count)),
  ];
}

/** A node that is named several times is copied as often as all of them say together. */
function countsByNode(addNodes: WhatIfChange["addNodes"]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { like, count } of addNodes) counts.set(like, (counts.get(like) ?? 0) + count);
  return counts;
}

/** Nothing, where there is no such node. Names that are taken are passed over. */
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
