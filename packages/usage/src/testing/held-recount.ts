/** Counts held accelerator time a second way: from the states of an engine between the groups of a journal. */
import { createEngine, replayEngine } from "@headroom/engine";
import type { Engine, JournalGroup } from "@headroom/engine";
import { milliOf, shapeOf } from "@headroom/model";

export interface HeldRecount {
  /** Thousandths of accelerator-milliseconds by team, and of all accelerators of all nodes. */
  readonly byTeam: ReadonlyMap<string, number>;
  readonly capacity: number;
  readonly endMs: number;
  readonly engine: Engine;
}

export function recountHeld(groups: readonly JournalGroup[]): HeldRecount {
  const engine = createEngine();
  const byTeam = new Map<string, number>();
  let capacity = 0;
  for (const group of groups) {
    const beforeMs = engine.state.nowMs;
    const [{ atMs } = { atMs: 0 }] = JSON.parse(group.text) as readonly { readonly atMs: number }[];
    const passedMs = engine.state.sequence === 0 ? 0 : atMs - beforeMs;
    if (passedMs > 0) capacity += passedMs * addHeld(engine, byTeam, passedMs);
    replayEngine(engine, [group]);
  }
  return { byTeam, capacity, endMs: engine.state.nowMs, engine };
}

/** Adds what running attempts hold for this time. Returns the thousandths of accelerators of all nodes. */
function addHeld({ state }: Engine, byTeam: Map<string, number>, passedMs: number): number {
  for (const { workloadId, workers, terminating = [] } of state.attempts.values()) {
    const spec = state.workloads.get(workloadId)?.spec;
    if (spec === undefined) throw new Error(`no workload ${workloadId}`);
    let milli = 0;
    for (const worker of [...workers, ...terminating]) {
      const shape = shapeOf(spec.gang, worker);
      milli += shape.accelerators * milliOf(shape);
    }
    if (milli > 0) byTeam.set(spec.team, (byTeam.get(spec.team) ?? 0) + milli * passedMs);
  }
  return [...state.nodes.values()].reduce((sum, { acceleratorCount }) => sum + acceleratorCount * 1_000, 0);
}
