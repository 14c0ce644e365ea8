/**
 * Checks the bounds of defragmentation: a migration happens only in the policy's time window and only if no other
 * request could start. It gathers the recorded number of pairs of idle accelerators, and loses no more per pair than
 * the policy allows.
 */
import { acceleratorsIn, leastParts, rulesOf, lastDueMs } from "@headroom/model";
import type { Attempt, Event, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { foreignOn, heldByNode } from "./recount.ts";

type PlannedMigration = Event & { readonly kind: "evictionPlanned" };

export function checkDefragmentation(
  findings: Findings,
  state: ReadonlyState,
  { events, nowMs }: { events: readonly Event[]; nowMs: number },
): void {
  const migrations = events.filter(
    (event): event is PlannedMigration => event.kind === "evictionPlanned" && event.pairsGathered !== undefined,
  );
  if (migrations.length === 0) return;
  const { defragment, phases } = rulesOf(state.policy);
  findings.expect(
    defragment !== undefined && phases.includes("defragment"),
    () => "work was migrated to gather what is idle, and the policy says nothing of it",
  );
  if (defragment === undefined) return;
  const { during, lossPerPairMs } = defragment;
  const opened = during === undefined ? nowMs : lastDueMs(during.times, nowMs);
  const isOpen = opened !== null && (during === undefined || nowMs < opened + during.lastsMs);
  findings.expect(
    isOpen,
    () => `work was migrated to gather what is idle at ${nowMs} ms, outside of the policy's times`,
  );
  for (const migration of migrations) {
    const pairs = migration.pairsGathered ?? 0;
    findings.expect(pairs > 0, () => `${migration.workloadId} was migrated and gathers nothing`);
    for (const { attemptId } of migration.victims) {
      const attempt = state.attempts.get(attemptId);
      const workload = state.workloads.get(migration.workloadId);
      if (attempt === undefined || workload === undefined) continue;
      const lost = leastLossMs(state, { attempt, workload, nowMs });
      findings.expect(
        lost <= pairs * lossPerPairMs,
        () => `${attemptId} loses ${lost} ms by a migration that gathers ${pairs} pairs`,
      );
    }
  }
  const [only] = migrations;
  if (migrations.length === 1 && only !== undefined && isLastToTake(events, only)) checkPairs(findings, state, only);
}

interface MigratedWork {
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly nowMs: number;
}

/**
 * Lower bound of the work that a migration repeats, in accelerators times ms. Work that a requested checkpoint may
 * still save is left out.
 */
function leastLossMs({ policy }: ReadonlyState, { attempt, workload, nowMs }: MigratedWork): number {
  const { spec, checkpoint } = workload;
  const savedAtMs = checkpoint?.attemptId === attempt.id ? checkpoint.atMs : 0;
  const sinceMs = nowMs - Math.max(attempt.startedAtMs ?? nowMs, savedAtMs);
  const saves = spec.checkpointOnRequest === true && rulesOf(policy).eviction.checkpointTimeoutMs > 0;
  return ((saves ? 0 : sinceMs) + (spec.restartCostMs ?? 0)) * acceleratorsIn(leastParts(spec.gang));
}

/**
 * Whether no other decision changed capacity after the migration was planned, so that the capacity at the time of the
 * plan is known.
 */
const isLastToTake = (events: readonly Event[], migration: PlannedMigration): boolean =>
  events
    .slice(events.indexOf(migration) + 1)
    .every(
      (event) =>
        event.kind === "attemptStopRequested" ||
        event.kind === "checkpointRequested" ||
        (event.kind === "placementNominated" && event.nomination.workloadId === migration.workloadId),
    );

/** Checks that the migration increases the number of pairs of idle accelerators on one node. */
function checkPairs(
  findings: Findings,
  state: ReadonlyState,
  { pairsGathered, victims, workloadId }: PlannedMigration,
): void {
  const [id] = victims.map(({ attemptId }) => attemptId);
  const attempt = id === undefined ? undefined : state.attempts.get(id);
  if (attempt?.stop?.reason !== "migrated") return;
  const nominations = new Map(
    [...state.nominations].filter(([, nomination]) => nomination.afterAttempt !== attempt.id),
  );
  if (nominations.size === state.nominations.size) return;
  const attempts = new Map([...state.attempts, [attempt.id, { ...attempt, stop: null }]]);
  const before: ReadonlyState = Object.assign(Object.create(state) as ReadonlyState, { attempts, nominations });
  const gathered = idlePairs(state, attempt) - idlePairs(before, attempt);
  findings.expect(
    gathered === pairsGathered,
    () => `${workloadId} is said to gather ${pairsGathered} pairs by its migration, it gathers ${gathered}`,
  );
}

/** Number of pairs of whole accelerators of the type that are idle or releasing, not nominated and not used by foreign work. */
function idlePairs(state: ReadonlyState, { acceleratorType }: Attempt): number {
  let pairs = 0;
  for (const [id, held] of heldByNode(state)) {
    const node = state.nodes.get(id);
    if (node === undefined || node.acceleratorType !== acceleratorType) continue;
    const foreign = foreignOn(node);
    let idle = 0;
    for (let index = 0; index < node.acceleratorCount; index++) {
      const of = (layer: ReadonlyMap<number, number>): number => layer.get(index) ?? 0;
      if (!foreign.has(index) && of(held.accelerators) - of(held.terminating) + of(held.nominated) === 0) idle++;
    }
    pairs += (idle * (idle - 1)) / 2;
  }
  return pairs;
}
