/**
 * The dry run of defragmentation: migrations that are possible now, regardless of schedule and queue, on a fork of the
 * live state.
 */
import { Batch, worldOf, gather, evictionLoss } from "@headroom/engine/internals";
import type { World } from "@headroom/engine/internals";
import { usualDefragmentation } from "@headroom/model";
import type { AttemptId, NodeId, WorkloadId, DefragmentRules } from "@headroom/model";
import { clockOf, forkEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

export interface ForeseenMigration {
  readonly workloadId: WorkloadId;
  readonly attemptId: AttemptId;
  readonly accelerators: number;
  readonly from: NodeId;
  readonly to: NodeId;
  /** Increase in the number of pairs of idle accelerators that are on one node. */
  readonly pairsGathered: number;
  /** Work that has to be repeated, in accelerators times ms. */
  readonly lostAcceleratorMs: number;
}

/**
 * For one accelerator type: the number of nodes by their number of idle accelerators. Nodes that take no work are left
 * out.
 */
export interface IdleBlocks {
  readonly acceleratorType: string;
  readonly nodesByIdle: readonly { readonly idle: number; readonly nodes: number }[];
}

export interface DefragmentationForecast {
  readonly rules: DefragmentRules;
  /** Whether the active policy defragments at all. */
  readonly isActive: boolean;
  readonly migrations: readonly ForeseenMigration[];
  readonly before: readonly IdleBlocks[];
  readonly after: readonly IdleBlocks[];
}

/** Computes the possible migrations and leaves the engine unchanged. `migrationsMax`: maximum number of migrations. */
export function foreseeDefragmentation(live: Engine, migrationsMax: number): DefragmentationForecast {
  const engine = forkEngine(live);
  const world = worldOf(engine);
  const nowMs = clockOf(live);
  world.calendar.nowMs = nowMs;
  world.decayedUsage.nowMs = nowMs;
  const own = world.rules.defragment;
  const rules = own ?? usualDefragmentation;
  const before = idleBlocks(world);
  const migrations: ForeseenMigration[] = [];
  // Each migration is planned by itself, because its loss is computed just before it is made.
  while (migrations.length < migrationsMax) {
    const lossOf = new Map(
      [...world.state.attempts.values()].map((attempt) => [attempt.id, evictionLoss(world, attempt, nowMs)]),
    );
    const batch = new Batch(world, nowMs);
    if (gather(batch, rules, 1) === 0) break;
    migrations.push(...migrationsOf(batch, lossOf));
  }
  return {
    rules,
    isActive: own !== undefined && world.rules.phases.includes("defragment"),
    migrations,
    before,
    after: idleBlocks(world),
  };
}

function migrationsOf({ events, world }: Batch, lossOf: ReadonlyMap<AttemptId, number>): ForeseenMigration[] {
  return events.flatMap((event): ForeseenMigration[] => {
    if (event.kind !== "placementNominated" || event.nomination.afterAttempt === undefined) return [];
    const { workloadId, workers, afterAttempt: attemptId } = event.nomination;
    const attempt = world.state.attempts.get(attemptId);
    const plan = events.find((each) => each.kind === "evictionPlanned" && each.workloadId === workloadId);
    const [from] = attempt?.workers ?? [];
    const [to] = workers;
    const spec = world.state.workloads.get(workloadId)?.spec;
    if (from === undefined || to === undefined || spec === undefined) return [];
    return [
      {
        workloadId,
        attemptId,
        accelerators: workers.length * spec.gang.accelerators,
        from: from.node,
        to: to.node,
        pairsGathered: plan?.kind === "evictionPlanned" ? (plan.pairsGathered ?? 0) : 0,
        lostAcceleratorMs: lossOf.get(attemptId) ?? 0,
      },
    ];
  });
}

function idleBlocks({ capacity }: World): readonly IdleBlocks[] {
  return capacity.allTypes.flatMap(({ type, slots }) => {
    const nodes = new Map<number, number>();
    for (const slot of slots) {
      const idle = slot.freeCount + slot.releasingCount;
      if (slot.usable && slot.totalCount > 0) nodes.set(idle, (nodes.get(idle) ?? 0) + 1);
    }
    const nodesByIdle = [...nodes]
      .toSorted(([left], [right]) => left - right)
      .map(([idle, count]) => ({ idle, nodes: count }));
    return nodesByIdle.length === 0 ? [] : [{ acceleratorType: type, nodesByIdle }];
  });
}
