/**
 * Converts selected victims to a plan. Work that the preemptor is entitled to evict is evicted, all other work
 * migrates. Migrating work moves to idle capacity, or to capacity that is freed elsewhere by evicting further work of
 * teams above their entitlements.
 */
import { preemptibilityOf } from "@headroom/model";
import type { NodeId, Attempt } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../../placement/place.ts";
import { isInGroups } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { drainCandidatesFor, merged } from "./drain-candidates.ts";
import { piecesOf } from "../candidates.ts";
import type { VictimCandidate } from "../candidates.ts";
import { MIGRATIONS_MAX } from "./consolidate.ts";
import { victimsOf } from "../plan.ts";
import type { Plan } from "../plan.ts";
import { returningBucket, settle } from "../place-again.ts";
import type { Returning } from "../place-again.ts";
import { isEligibleVictim } from "./cost-search.ts";
import type { CostSearch } from "./cost-search.ts";

/** A victim that would have to migrate and finds no other place. */
export interface Stuck {
  readonly stuck: VictimCandidate;
}

export const isStuck = (answer: Plan | Stuck | null): answer is Stuck => answer !== null && "stuck" in answer;

/**
 * Returns whether the request may cause migrations. A gang's growth does not justify them. If the policy forgets
 * nominations after a round, migrating work could not keep its destination.
 */
const isWorthMigrations = ({ rules: { eviction } }: World, { isGrowth }: PlacementRequest): boolean =>
  !isGrowth && eviction.nominations === "kept" && eviction.migrationsMax !== 0;

/**
 * Returns whether work of teams within their entitlements may also migrate. The policy must have the phase
 * `consolidate`.
 */
export const mayStrangersMigrate = (world: World, preemptor: QueueBucket): boolean =>
  isWorthMigrations(world, preemptor.request) &&
  !isInGroups(preemptor.request) &&
  world.rules.phases.includes("consolidate");

/**
 * Returns whether the unit is at least as large as a whole gang in `stuck`, which found no place. Such a unit would
 * find none either. Single workers in `stuck` do not count, because no place was searched for them.
 */
export const isAsLarge = (unit: VictimCandidate, stuck: readonly VictimCandidate[]): boolean =>
  stuck.some(
    ({ attempt, workload, keeps }) =>
      keeps === 0 &&
      unit.attempt.workers.length >= attempt.workers.length &&
      unit.workload.spec.gang.accelerators >= workload.spec.gang.accelerators,
  );

/**
 * Evicts the needed victims that the preemptor is entitled to, and migrates the others. `stuck`: units that found no
 * place earlier; a unit as large as one of them is not tried.
 */
export function planFor(
  batch: Batch,
  search: CostSearch,
  placement: Placement,
  needed: readonly VictimCandidate[],
  stuck: readonly VictimCandidate[] = [],
): Plan | Stuck | null {
  const { world } = batch;
  const { preemptor, ledger, tentativeEvictions } = search;
  tentativeEvictions.returnAll();
  const staying = takeEligible(batch, search, merged(needed));
  if (staying.length === 0) return { preemptor, placement, victims: victimsOf(needed, []) };
  if (!isWorthMigrations(world, preemptor.request)) return null;
  // `preemptible: aboveGuarantee` also protects from migration.
  if (staying.some(({ workload }) => preemptibilityOf(world.rules, workload.spec) !== "always")) return null;
  if (staying.length > (world.rules.eviction.migrationsMax ?? MIGRATIONS_MAX)) return null;
  if (staying.some((unit) => isAsLarge(unit, stuck))) return null;
  const worker = staying.find(({ keeps }) => keeps > 0);
  if (worker !== undefined) return { stuck: worker };
  for (const victim of staying) tentativeEvictions.take(victim);
  ledger.occupy(preemptor.request, placement);
  const migrating: Returning[] = [];
  for (const unit of staying) {
    const bucket = returningBucket(world, unit);
    const again =
      findPlacement(world, bucket.request, "releasing") ?? placeBesideOthers(batch, search, bucket, placement);
    if (again === null) return { stuck: unit };
    ledger.occupy(bucket.request, again);
    migrating.push({ unit, bucket, placement: again });
  }
  const terminating = tentativeEvictions.taken.filter(
    ({ attempt }) => !staying.some((unit) => unit.attempt === attempt),
  );
  const gone = terminating.map((unit): Returning => ({ unit, bucket: returningBucket(world, unit), placement: null }));
  const settled = settle(world, ledger, preemptor, placement, [...gone, ...migrating]);
  tentativeEvictions.returnAll();
  // A unit that would be placed where it runs did not have to migrate, so evictions for it would be needless.
  if (settled === null || settled.migrations.length < staying.length) return null;
  // Victims evicted for migrating work were selected after the pass by size, so a last pass checks all victims.
  if (takeEligible(batch, search, merged(terminating)).length > 0) return null;
  return { preemptor, placement: settled.placement, victims: settled.victims, migrations: settled.migrations };
}

/**
 * A place for a migrating unit of one worker, on one node where further victims of teams above their entitlements are
 * evicted for it. `kept` is the preemptor's place.
 */
function placeBesideOthers(batch: Batch, search: CostSearch, bucket: QueueBucket, kept: Placement): Placement | null {
  const { tentativeEvictions } = search;
  if (bucket.request.workers > 1 || isInGroups(bucket.request)) return null;
  const taken = new Set<Attempt>(tentativeEvictions.taken.map(({ attempt }) => attempt));
  const mayLeave = (unit: VictimCandidate): boolean =>
    tentativeEvictions.tentatively(() => takeIfEligible(batch, search, unit));
  const whole = search.victimCandidates.filter(({ attempt, keeps }) => keeps === 0 && !taken.has(attempt));
  const units = whole.filter((unit) => mayLeave({ ...unit, upTo: unit.attempt.workers.length }));
  const cleared = new Set<NodeId>(kept.workers.map(({ node }) => node));
  for (const drainCandidate of drainCandidatesFor(batch, search, bucket, units)) {
    if (cleared.has(drainCandidate.slot.node.id)) continue;
    const leave = (): Placement | null =>
      drainCandidate.units.every((unit) => takeIfEligible(batch, search, unit))
        ? findPlacement(batch.world, bucket.request, "releasing")
        : null;
    const placement = tentativeEvictions.tentatively(leave, (place) => place !== null);
    if (placement !== null) return placement;
  }
  return null;
}

/**
 * Evicts a unit if the preemptor is entitled to evict every part of it, and otherwise evicts nothing. An elastic gang
 * is evicted worker by worker.
 */
function takeIfEligible(batch: Batch, search: CostSearch, unit: VictimCandidate): boolean {
  const { donors, tentativeEvictions } = search;
  if (!donors.has(unit.workload.spec.team)) return false;
  const pieces = piecesOf(batch, unit);
  const takeAll = (): boolean => {
    for (const piece of pieces) {
      if (!isEligibleVictim(batch, search, piece)) return false;
      tentativeEvictions.take(piece);
    }
    return true;
  };
  // A unit with a single part needs no undo. This saves time, because thousands of units may be tried.
  return pieces.length === 1 ? takeAll() : tentativeEvictions.tentatively(takeAll, (isTaken) => isTaken);
}

/**
 * Evicts the needed victims that the preemptor is entitled to evict, and returns the other needed victims. A first pass
 * evicts by priority, the lowest first. A second pass evicts the victims of the first pass by size, the largest first.
 * It spares a victim if its team has already fallen to its entitlement.
 */
function takeEligible(
  batch: Batch,
  search: CostSearch,
  needed: readonly VictimCandidate[],
): readonly VictimCandidate[] {
  const sizeOf = ({ attempt, workload: { spec }, keeps, upTo }: VictimCandidate): number =>
    amountHeld(batch.world, spec.gang, { ...attempt, workers: attempt.workers.slice(keeps, upTo) }).acceleratorsMilli;
  const bySize = needed.toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const byPriority = bySize.toSorted((left, right) => left.workload.spec.priority - right.workload.spec.priority);
  const asked = new Set(byPriority.filter((unit) => takeIfEligible(batch, search, unit)));
  search.tentativeEvictions.returnAll();
  return bySize.filter((unit) => !(asked.has(unit) && takeIfEligible(batch, search, unit)));
}
