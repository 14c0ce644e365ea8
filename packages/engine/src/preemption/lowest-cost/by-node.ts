/**
 * Search for requests that need several accelerators of one node while work above its team's entitlement is scattered.
 * The search of `lowest-cost.ts` then fails: the cheapest victims are on different nodes, and their teams reach their
 * entitlements before any node is free. This search clears whole nodes, the cheapest first; victims are evicted or
 * migrate (`evict-or-migrate.ts`).
 */
import type { Batch } from "../../batch/batch.ts";
import { checkpointTimeoutOf } from "../../policy/checkpoint-timeout.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { findPlacement } from "../../placement/place.ts";
import { acceptableTypes, wholeNeeded } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { ReleasingRoom } from "../../placement/releasing-room.ts";
import { drainCandidatesFor } from "./drain-candidates.ts";
import type { DrainCandidate } from "./drain-candidates.ts";
import { isAsLarge, isStuck, mayStrangersMove, planFor } from "./evict-or-migrate.ts";
import { steadily, wholeOf } from "../candidates.ts";
import type { VictimCandidate } from "../candidates.ts";
import { MOVE_LOSS_MS_MAX } from "./consolidate.ts";
import type { Plan } from "../plan.ts";
import { isEvictable, isOnAny } from "../eligibility.ts";
import type { CostSearch } from "./cost-search.ts";
import type { Planning, Search } from "../strategy.ts";

/** Maximum number of node selections tried; each excludes victims that found no other place before. */
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
    const plan = yield new NodeSearch(batch, search, { units, stuck });
    search.tentativeEvictions.returnAll();
    // For a single worker, the search has already tried every node by itself.
    if (plan !== null || stuck.length === before || preemptor.request.workers === 1) return plan;
  }
  return null;
}

interface Clearance {
  /** Candidates that may be evicted or migrate. */
  readonly units: readonly VictimCandidate[];
  /** Candidates that found no other place. */
  readonly stuck: VictimCandidate[];
}

/**
 * Clears nodes, the cheapest first, until the preemptor fits. A single worker tries one node at a time; a gang clears
 * several nodes together.
 */
class NodeSearch implements Search<DrainCandidate, Placement, Plan> {
  readonly #batch: Batch;
  readonly #search: CostSearch;
  readonly #clearance: Clearance;
  readonly #room: ReleasingRoom;
  readonly #isSingle: boolean;
  #isOver = false;

  constructor(batch: Batch, search: CostSearch, clearance: Clearance) {
    this.#batch = batch;
    this.#search = search;
    this.#clearance = clearance;
    this.#room = new ReleasingRoom(batch.world, search.preemptor.request);
    this.#isSingle = search.preemptor.request.workers === 1;
  }

  get candidates(): Iterable<DrainCandidate> {
    return this.#candidates();
  }

  *#candidates(): Generator<DrainCandidate> {
    const { units } = this.#clearance;
    for (const candidate of drainCandidatesFor(this.#batch, this.#search, this.#search.preemptor, units)) {
      if (this.#isOver) return;
      yield candidate;
    }
  }

  simulate({ units }: DrainCandidate): Placement | null {
    const { tentativeEvictions } = this.#search;
    const evict = (): Placement | null => {
      for (const unit of units) tentativeEvictions.take(unit);
      this.#room.changed(units.flatMap(({ attempt }) => attempt.workers));
      return this.#room.suffices ? this.#fits() : null;
    };
    const placement = tentativeEvictions.tentatively(evict, (found) => found !== null || !this.#isSingle);
    if (placement === null && this.#isSingle) this.#room.changed(units.flatMap(({ attempt }) => attempt.workers));
    return placement;
  }

  minimise(placement: Placement): Plan | null {
    const { tentativeEvictions } = this.#search;
    const { stuck } = this.#clearance;
    const { needed, found } = tentativeEvictions.minimise(() => this.#fits(), placement);
    const answer = planFor(this.#batch, this.#search, found, needed, stuck);
    if (isStuck(answer)) stuck.push(answer.stuck);
    else if (answer !== null) return answer;
    this.#isOver = !this.#isSingle;
    if (this.#isOver) return null;
    // The next node may hold other victims.
    tentativeEvictions.returnAll();
    this.#room.changed(needed.flatMap(({ attempt }) => attempt.workers));
    return null;
  }

  #fits(): Placement | null {
    return findPlacement(this.#batch.world, this.#search.preemptor.request, "releasing");
  }
}

/**
 * Work of teams within their entitlements that can migrate at low cost because it writes checkpoints on request. The
 * maximum loss is used and not the current one, because the existence of a plan must not depend on time.
 */
function strangersFor(batch: Batch, { preemptor, donors }: CostSearch): VictimCandidate[] {
  const { world } = batch;
  if (!mayStrangersMove(world, preemptor)) return [];
  const own = preemptor.waiting.first();
  const types = new Set(acceptableTypes(world, preemptor.request).map(({ type }) => type));
  const found: VictimCandidate[] = [];
  for (const [team, { always }] of world.evictable) {
    if (donors.has(team)) continue;
    for (const attempt of always.attempts) {
      const workload = workloadOf(world, attempt.workloadId);
      const { spec } = workload;
      const timeoutMs = checkpointTimeoutOf(world.rules, spec);
      if (timeoutMs === 0 || timeoutMs + (spec.restartCostMs ?? 0) > MOVE_LOSS_MS_MAX) continue;
      if (workload.id === own?.id || !isEvictable(batch, attempt) || !isOnAny(world, attempt, types)) continue;
      found.push(wholeOf(batch, workload, attempt));
    }
  }
  return found.sort(steadily);
}
