/**
 * Search for requests that need several accelerators of one node while work above its team's entitlement is scattered.
 * The search of `lowest-cost.ts` then fails: the cheapest victims are on different nodes, and their teams reach their
 * entitlements before any node is free. This search clears whole nodes, the cheapest first; victims are evicted or
 * migrate (`evict-or-migrate.ts`).
 */
import { checkpointTimeoutOf } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { findPlacement } from "../../placement/place.ts";
import { acceptableTypes, wholeNeeded } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { ReleasingRoom } from "../../placement/releasing-room.ts";
import { drainCandidatesFor } from "./drain-candidates.ts";
import type { DrainCandidate } from "./drain-candidates.ts";
import { isAsLarge, isStuck, mayStrangersMigrate, planFor } from "./evict-or-migrate.ts";
import { steadily, wholeOf } from "../candidates.ts";
import type { VictimCandidate } from "../candidates.ts";
import { MIGRATION_LOSS_MS_MAX } from "./consolidate.ts";
import type { Plan } from "../plan.ts";
import { isEvictable, isOnAny } from "../eligibility.ts";
import type { CostSearch } from "./cost-search.ts";
import type { Planning, Search } from "../strategy.ts";

/**
 * Maximum number of node selections that are tried. Each selection excludes victims that found no other place in an
 * earlier one.
 */
const CHOICES_MAX = 4;

export function* byNode(batch: Batch, search: CostSearch): Planning<Plan> {
  const { preemptor } = search;
  if (wholeNeeded(preemptor.request) === 0 && preemptor.request.workers > 1) return null;
  const victimCandidates = search.victimCandidates.filter(({ keeps }) => keeps === 0);
  const strangers = strangersFor(batch, search);
  const stuck: VictimCandidate[] = [];
  for (let choice = 0; choice < CHOICES_MAX; choice++) {
    const units = [
      ...victimCandidates.filter(({ attempt }) => !stuck.some((unit) => unit.attempt === attempt)),
      ...strangers.filter((unit) => !isAsLarge(unit, stuck)),
    ];
    const before = stuck.length;
    const plan = yield nodeSearch(batch, search, units, stuck);
    search.tentativeEvictions.returnAll();
    // For a single worker, the first search has already tried each node on its own.
    if (plan !== null || stuck.length === before || preemptor.request.workers === 1) return plan;
  }
  return null;
}

/**
 * Clears nodes, the cheapest first, until the preemptor fits. A single worker tries one node at a time; a gang clears
 * several nodes together. `units`: candidates that may be evicted or migrate. `stuck` receives the candidates that find
 * no other place.
 */
function nodeSearch(
  batch: Batch,
  search: CostSearch,
  units: readonly VictimCandidate[],
  stuck: VictimCandidate[],
): Search<DrainCandidate, Placement, Plan> {
  const { preemptor, tentativeEvictions } = search;
  const room = new ReleasingRoom(batch.world, preemptor.request);
  const isSingle = preemptor.request.workers === 1;
  let isOver = false;
  const fits = (): Placement | null => findPlacement(batch.world, preemptor.request, "releasing");
  const recount = (changed: readonly VictimCandidate[]): void =>
    room.changed(changed.flatMap(({ attempt }) => attempt.workers));
  function* candidates(): Generator<DrainCandidate> {
    for (const candidate of drainCandidatesFor(batch, search, preemptor, units)) {
      if (isOver) return;
      yield candidate;
    }
  }
  return {
    candidates: candidates(),
    simulate: ({ units: victims }) => {
      const evict = (): Placement | null => {
        for (const unit of victims) tentativeEvictions.take(unit);
        recount(victims);
        return room.suffices ? fits() : null;
      };
      const placement = tentativeEvictions.tentatively(evict, (found) => found !== null || !isSingle);
      if (placement === null && isSingle) recount(victims);
      return placement;
    },
    minimise: (placement) => {
      const { needed, found } = tentativeEvictions.minimise(fits, placement);
      const answer = planFor(batch, search, found, needed, stuck);
      if (isStuck(answer)) stuck.push(answer.stuck);
      else if (answer !== null) return answer;
      isOver = !isSingle;
      if (isOver) return null;
      // The next node may hold other victims.
      tentativeEvictions.returnAll();
      recount(needed);
      return null;
    },
  };
}

/**
 * Work of teams within their entitlements that can migrate at low cost, because it writes checkpoints on request. The
 * cost is judged by the maximum loss and not by the current loss, because the existence of a plan must not depend on
 * time.
 */
function strangersFor(batch: Batch, { preemptor, donors }: CostSearch): VictimCandidate[] {
  const { world } = batch;
  if (!mayStrangersMigrate(world, preemptor)) return [];
  const own = preemptor.waiting.first();
  const types = new Set(acceptableTypes(world, preemptor.request).map(({ type }) => type));
  const found: VictimCandidate[] = [];
  for (const [team, { always }] of world.evictable) {
    if (donors.has(team)) continue;
    for (const attempt of always.attempts) {
      const workload = workloadOf(world, attempt.workloadId);
      const { spec } = workload;
      const timeoutMs = checkpointTimeoutOf(world.rules, spec);
      if (timeoutMs === 0 || timeoutMs + (spec.restartCostMs ?? 0) > MIGRATION_LOSS_MS_MAX) continue;
      if (workload.id === own?.id || !isEvictable(batch, attempt) || !isOnAny(world, attempt, types)) continue;
      found.push(wholeOf(batch, workload, attempt));
    }
  }
  return found.sort(steadily);
}
