import type { ReplicaTable } from "./candidates.ts";
import type { Chosen, DecisionGround, RoutingRequest } from "./contract.ts";
import { predict, type Demand, type Prediction } from "./latency-model.ts";
import type { PrefixIndex } from "./prefix-index.ts";
import { rendezvousDistance } from "./rendezvous.ts";
import { isUneven, shareOfOwnWork, WeightedTurns } from "./weights.ts";
import type { MeanLengths, ReplicaState } from "./replica-state.ts";
import type { Settings } from "./settings.ts";

type Pool = readonly ReplicaState[];
/** Load of a replica in the unit that a policy compares. */
type LoadOf = (replica: ReplicaState) => number;

/** A replica with fewer requests is within every load bound, because a mean near zero gives no useful bound. */
const FREE_REQUESTS = 4;
/**
 * Weight of a cache miss. The next constant is the weight of recent work relative to outstanding work. Both were chosen
 * with Mooncake's conversation trace.
 */
const MISS_FACTOR = 15;
const RECENT_SHARE = 0.03;
/**
 * Share of the objective for the time per output token (TPOT) that a prediction may use. The rest is left to later
 * requests in the same steps.
 */
const TPOT_MARGIN = 0.8;
/**
 * Ratio of slowness to the mean. Below it, or above its inverse, a replica's measured speed counts as different from
 * its given coefficients.
 */
const MIN_UNLIKE = 0.75;
/** Cost that is added to a replica so that it is chosen only if there is no other. */
const PASSED_OVER = 1e12;
/** Load bound for adapters if the general load bound is infinite. */
const DEFAULT_BOUND = 1.25;

const requestLoad: LoadOf = (replica) => replica.requests / replica.weight;
const workLoad: LoadOf = (replica) => replica.workMs;
/** The increase of `requestLoad` by one more request. */
const oneRequest: LoadOf = (replica) => 1 / replica.weight;

/**
 * Selects among candidates by the policy of the settings. It reuses its scratch memory, so only one decision runs at a
 * time.
 */
export class Selection {
  readonly #settings: Settings;
  readonly #replicas: ReplicaTable;
  readonly #prefixes: PrefixIndex;
  readonly #mean: MeanLengths;
  readonly #matched: Float64Array;
  readonly #demand: Demand = { uncachedTokens: 0, promptTokens: 0, outputTokens: 0, delayMs: 0 };
  readonly #prediction: Prediction = { ttftMs: 0, tpotMs: 0, queueMs: 0 };
  readonly #local: ReplicaState[] = [];
  readonly #holders: ReplicaState[] = [];
  readonly #turns = new WeightedTurns();
  /** The increase of `workLoad` by the request. */
  readonly #ownWork: LoadOf = (replica) => this.#ownWorkMs(replica);
  #hasMatches = false;
  #request: RoutingRequest = { promptTokens: 0 };
  #zone = 0;
  #region = 0;
  #isUneven = false;
  #next = 0;
  // Numbers that the policy returns besides the replica.
  #overBoundCount = 0;
  #meanLoad = 0;
  #load = 0;
  #ground: DecisionGround = "least load";
  #sloCandidateCount: number | undefined;

  constructor(settings: Settings, replicas: ReplicaTable, prefixes: PrefixIndex, mean: MeanLengths) {
    this.#settings = settings;
    this.#replicas = replicas;
    this.#prefixes = prefixes;
    this.#mean = mean;
    this.#matched = new Float64Array(settings.maxReplicas);
  }

  /** Sets the request to which `cachedTokens`, `roundTripMs` and `demandOn` refer. */
  prepare(request: RoutingRequest): void {
    this.#request = request;
    this.#zone = this.#replicas.knownNameId(request.zone);
    this.#region = this.#replicas.knownNameId(request.region);
    const { prefix } = request;
    this.#hasMatches = prefix !== undefined && this.#prefixes.match(prefix, this.#matched);
    this.#overBoundCount = 0;
    this.#sloCandidateCount = undefined;
    this.#meanLoad = 0;
    this.#load = 0;
  }

  choose(request: RoutingRequest, candidates: Pool, nowMs: number): Chosen {
    this.prepare(request);
    const isPredicting = this.#settings.policy === "predicted-latency";
    const pool = isPredicting ? candidates : this.#narrowByAdapter(this.#narrowByLocality(candidates));
    const replica = this.#select(pool, nowMs);
    if (isPredicting || replica.spec.latency !== undefined) {
      replica.advance(nowMs);
      predict(replica, this.demandOn(replica), this.#prediction);
    }
    const isPredicted = isPredicting || replica.spec.latency !== undefined;
    return {
      kind: "chosen",
      replicaId: replica.id,
      ground: pool.length === 1 && this.#ground !== "adapter" ? "only candidate" : this.#ground,
      candidateCount: candidates.length,
      replicaCount: this.#replicas.size,
      load: this.#load,
      meanLoad: this.#meanLoad,
      overBoundCount: this.#overBoundCount,
      cachedTokens: this.cachedTokens(replica),
      predictedTtftMs: isPredicted ? this.#prediction.ttftMs : undefined,
      predictedTpotMs: isPredicted ? this.#prediction.tpotMs : undefined,
      sloCandidateCount: this.#sloCandidateCount,
      roundTripMs: this.roundTripMs(replica),
      slot: replica.slot,
    };
  }

  cachedTokens(replica: ReplicaState): number {
    if (!this.#hasMatches) return 0;
    return Math.min(this.#matched[replica.slot] as number, Math.max(this.#request.promptTokens - 1, 0));
  }

  roundTripMs(replica: ReplicaState): number {
    if (replica.roundTripMs >= 0) return replica.roundTripMs;
    const { sameZone, sameRegion, otherRegion } = this.#settings.roundTripMs;
    if (this.#zone !== 0 && replica.zone === this.#zone) return sameZone;
    if (this.#region !== 0 && replica.region !== 0) return replica.region === this.#region ? sameRegion : otherRegion;
    return sameZone;
  }

  /** The demand of the request on this replica. It is valid until the next call. */
  demandOn(replica: ReplicaState): Demand {
    const request = this.#request;
    const demand = this.#demand;
    demand.promptTokens = request.promptTokens;
    demand.uncachedTokens = Math.max(request.promptTokens - this.cachedTokens(replica), 1);
    demand.outputTokens = request.expectedOutputTokens ?? this.#mean.outputTokens;
    const isLoaded = request.adapter === undefined || replica.adapters.has(request.adapter);
    demand.delayMs = this.roundTripMs(replica) + (isLoaded ? 0 : this.#settings.adapterLoadMs);
    return demand;
  }

  #select(pool: Pool, nowMs: number): ReplicaState {
    this.#isUneven = isUneven(pool);
    switch (this.#settings.policy) {
      case "round-robin":
        return this.#roundRobin(pool);
      case "least-requests":
        return this.#leastLoad(pool, requestLoad, oneRequest);
      case "least-work":
        return this.#leastLoad(pool, workLoad, this.#ownWork);
      case "power-of-two":
        return this.#lesserOfTwo(pool);
      case "prefix":
        return this.#byPrefix(pool, nowMs);
      case "session":
        return this.#bySession(pool);
      case "predicted-latency":
        return this.#byPrediction(pool, nowMs);
    }
  }

  #roundRobin(pool: Pool): ReplicaState {
    this.#ground = "round robin";
    if (this.#isUneven) return this.#turns.next(pool);
    this.#next = (this.#next + 1) % pool.length;
    return pool[this.#next] as ReplicaState;
  }

  /**
   * The replica with the least load. If several are equal, the first one from a drawn position on. With unequal weights,
   * a random part of what the request adds (`ownOf`) counts, too.
   */
  #leastLoad(pool: Pool, loadOf: LoadOf, ownOf: LoadOf): ReplicaState {
    const from = this.#settings.draw() % pool.length;
    let best = pool[from] as ReplicaState;
    let least = Infinity;
    let total = 0;
    for (let step = 0; step < pool.length; step += 1) {
      const replica = pool[(from + step) % pool.length] as ReplicaState;
      const load = loadOf(replica);
      total += load;
      const counted = this.#isUneven ? load + this.#ownShare() * ownOf(replica) : load;
      if (counted >= least) continue;
      best = replica;
      least = counted;
    }
    this.#ground = "least load";
    this.#load = loadOf(best);
    this.#meanLoad = total / pool.length;
    return best;
  }

  /**
   * The less loaded of two drawn replicas (Mitzenmacher, "The power of two choices in randomized load balancing",
   * 2001). Only these two are compared.
   */
  #lesserOfTwo(pool: Pool): ReplicaState {
    const firstAt = this.#settings.draw() % pool.length;
    let first = pool[firstAt] as ReplicaState;
    this.#ground = "lesser of two";
    if (pool.length === 1) return first;
    let second = pool[(firstAt + 1 + (this.#settings.draw() % (pool.length - 1))) % pool.length] as ReplicaState;
    if (this.#isUneven) {
      // Drawn by weight, and possibly the same one twice: a light replica is compared as rarely as its weight says.
      first = this.#drawnByWeight(pool);
      second = this.#drawnByWeight(pool);
    }
    const firstLoad = workLoad(first);
    const secondLoad = workLoad(second);
    this.#load = Math.min(firstLoad, secondLoad);
    this.#meanLoad = (firstLoad + secondLoad) / 2;
    return secondLoad < firstLoad ? second : first;
  }

  /**
   * The first replica in rendezvous order that is within the load bound (consistent hashing with bounded loads, 2016).
   */
  #bySession(pool: Pool): ReplicaState {
    const { sessionHash } = this.#request;
    if (sessionHash === undefined) return this.#leastLoad(pool, workLoad, this.#ownWork);
    const bound = this.#settings.loadBound;
    const share = bound === Infinity ? Infinity : this.#boundPerWeight(pool, bound);
    let best: ReplicaState | undefined;
    let bestDistance = Infinity;
    let nearest = Infinity;
    for (const replica of pool) {
      const distance = rendezvousDistance(sessionHash, replica.idHash, replica.weight);
      nearest = Math.min(nearest, distance);
      if (distance >= bestDistance || replica.requests + 1 > Math.max(FREE_REQUESTS, share * replica.weight)) continue;
      best = replica;
      bestDistance = distance;
    }
    if (best === undefined) return this.#leastLoad(pool, requestLoad, oneRequest);
    this.#ground = "session";
    this.#overBoundCount = bestDistance > nearest ? 1 : 0;
    this.#load = requestLoad(best);
    return best;
  }

  /** Maximum number of requests per weight that the bound allows, with this request counted. */
  #boundPerWeight(pool: Pool, bound: number): number {
    let requests = 1;
    let weight = 0;
    for (const replica of pool) {
      requests += replica.requests;
      weight += replica.weight;
    }
    this.#meanLoad = requests / weight;
    return Math.ceil((bound * requests) / weight);
  }

  /**
   * The replica with the lowest `#costMs` plus a share of recent work, which spreads new conversations. Replicas whose
   * recent work exceeds the load bound are skipped, and their conversations move.
   */
  #byPrefix(pool: Pool, nowMs: number): ReplicaState {
    const boundMs = this.#recentWorkBoundMs(pool, nowMs);
    const mostCached = this.#mostCached(pool);
    const outputTokens = this.#request.expectedOutputTokens ?? this.#mean.outputTokens;
    const from = this.#settings.draw() % pool.length;
    let best = pool[from] as ReplicaState;
    let bestCost = Infinity;
    let bestCached = 0;
    let total = 0;
    for (let step = 0; step < pool.length; step += 1) {
      const replica = pool[(from + step) % pool.length] as ReplicaState;
      const cached = this.cachedTokens(replica);
      const addedMs = replica.requestWorkMs(this.#request.promptTokens - cached, outputTokens);
      const isOver = replica.recentWorkMs + addedMs > boundMs;
      if (isOver && cached > 0) this.#overBoundCount += 1;
      total += replica.workMs;
      let cost =
        this.#costMs(replica, this.#ownShare() * addedMs, mostCached - cached) + RECENT_SHARE * replica.recentWorkMs;
      // The added cost exceeds the cost of any replica within the bound. If all replicas are above the bound, their
      // order stays the same.
      if (isOver) cost += PASSED_OVER;
      if (cost >= bestCost) continue;
      best = replica;
      bestCost = cost;
      bestCached = cached;
    }
    this.#ground = bestCached > 0 ? "prefix" : "least load";
    this.#load = best.workMs;
    this.#meanLoad = total / pool.length;
    return best;
  }

  /**
   * Cost of placing the request on this replica: the added work, the waiting work, and prefill that is repeated
   * although another replica has it cached. The last part is multiplied, because it also delays later requests.
   */
  #costMs(replica: ReplicaState, addedMs: number, missedTokens: number): number {
    return addedMs + replica.workMs + MISS_FACTOR * missedTokens * replica.prefillWorkMs;
  }

  #ownWorkMs(replica: ReplicaState): number {
    const { promptTokens, expectedOutputTokens } = this.#request;
    return replica.requestWorkMs(promptTokens, expectedOutputTokens ?? this.#mean.outputTokens);
  }

  /** How much of the request's own work counts. It is random where weights differ, so that each replica gets its share. */
  #ownShare(): number {
    return this.#isUneven ? shareOfOwnWork(this.#settings.draw) : 1;
  }

  #drawnByWeight(pool: Pool): ReplicaState {
    let best = pool[0] as ReplicaState;
    let least = Infinity;
    for (const replica of pool) {
      const rank = shareOfOwnWork(this.#settings.draw) / replica.weight;
      if (rank >= least) continue;
      best = replica;
      least = rank;
    }
    return best;
  }

  #mostCached(pool: Pool): number {
    let most = 0;
    if (this.#hasMatches) for (const replica of pool) most = Math.max(most, this.cachedTokens(replica));
    return most;
  }

  /**
   * Maximum recent work that the load bound allows. The mean leaves out replicas that joined within the window, because
   * they have had little time to get work.
   */
  #recentWorkBoundMs(pool: Pool, nowMs: number): number {
    let settledCount = 0;
    let settledMs = 0;
    let allMs = 0;
    let requestMs = 0;
    for (const replica of pool) {
      replica.advance(nowMs);
      allMs += replica.recentWorkMs;
      requestMs += replica.requestWorkMs(this.#mean.promptTokens, this.#mean.outputTokens);
      if (!replica.isSettled(nowMs)) continue;
      settledCount += 1;
      settledMs += replica.recentWorkMs;
    }
    const meanMs = settledCount > 0 ? settledMs / settledCount : allMs / pool.length;
    return this.#settings.loadBound * meanMs + (FREE_REQUESTS * requestMs) / pool.length;
  }

  /**
   * With an SLO: the replica with the lowest cost among those that meet the SLO with a margin; if there are none, among
   * those that meet it; else among all. A cost counts more if less of the time to the first token is left. (Preferring
   * the largest margin alone would fill fast replicas until they are as slow as the others.) Without an SLO, cost and
   * time to the first token decide.
   */
  #byPrediction(pool: Pool, nowMs: number): ReplicaState {
    const { ttftMs = Infinity, tpotMs = Infinity } = this.#request.slo ?? {};
    const hasSlo = ttftMs !== Infinity || tpotMs !== Infinity;
    const prediction = this.#prediction;
    const mostCached = this.#mostCached(pool);
    let meanSlowness = 0;
    for (const replica of pool) meanSlowness += replica.slowness / pool.length;
    const from = this.#settings.draw() % pool.length;
    let best = pool[from] as ReplicaState;
    let bestScore = Infinity;
    let total = 0;
    let meeting = 0;
    for (let step = 0; step < pool.length; step += 1) {
      const replica = pool[(from + step) % pool.length] as ReplicaState;
      replica.advance(nowMs);
      const demand = this.demandOn(replica);
      predict(replica, demand, prediction);
      const latencyMs = prediction.ttftMs + demand.outputTokens * prediction.tpotMs;
      total += latencyMs;
      const addedMs = replica.requestWorkMs(demand.uncachedTokens, demand.outputTokens);
      const ownShare = this.#ownShare();
      let score = this.#costMs(replica, ownShare * addedMs, mostCached - this.cachedTokens(replica));
      const slowness = replica.slowness / meanSlowness;
      // Small differences of speed are ignored, because errors of measurement must not shift load between equal
      // replicas.
      if (slowness < MIN_UNLIKE || slowness > 1 / MIN_UNLIKE) score *= slowness;
      if (hasSlo) {
        const usedTtft = prediction.ttftMs / ttftMs;
        const usedTpot = prediction.tpotMs / tpotMs;
        if (usedTtft <= 1 && usedTpot <= 1) {
          meeting += 1;
          score /= 1.02 - usedTtft;
          if (usedTpot > TPOT_MARGIN) score += PASSED_OVER;
        } else score += 2 * PASSED_OVER;
      } else score += this.#isUneven ? (ownShare * prediction.ttftMs) / replica.weight : prediction.ttftMs;
      // The prediction knows no end of the wait for a free adapter slot.
      if (this.#waitsForAdapter(replica)) score += PASSED_OVER;
      if (score >= bestScore) continue;
      best = replica;
      bestScore = score;
      this.#load = latencyMs;
    }
    this.#sloCandidateCount = hasSlo ? meeting : undefined;
    this.#ground = hasSlo && bestScore < 2 * PASSED_OVER ? "meets SLO" : "least latency";
    this.#meanLoad = total / pool.length;
    return best;
  }

  /** Whether the request's adapter is not loaded and no slot is free for it. */
  #waitsForAdapter(replica: ReplicaState): boolean {
    const { adapter } = this.#request;
    return adapter !== undefined && !replica.adapters.has(adapter) && replica.adapters.size >= replica.maxAdapters;
  }

  /** The replicas of the client's zone, or else of its region. All replicas if those are much busier than the mean. */
  #narrowByLocality(pool: Pool): Pool {
    if (this.#zone === 0 && this.#region === 0) return pool;
    const zone = this.#zone > 0 ? this.#nearBy(pool, (replica) => replica.zone === this.#zone) : undefined;
    if (zone !== undefined) return zone;
    const region = this.#region > 0 ? this.#nearBy(pool, (replica) => replica.region === this.#region) : undefined;
    return region ?? pool;
  }

  #nearBy(pool: Pool, isNear: (replica: ReplicaState) => boolean): Pool | undefined {
    const local = this.#local;
    local.length = 0;
    let localRequests = 0;
    let localWeight = 0;
    let requests = 0;
    let weight = 0;
    for (const replica of pool) {
      requests += replica.requests;
      weight += replica.weight;
      if (!isNear(replica)) continue;
      local.push(replica);
      localRequests += replica.requests;
      localWeight += replica.weight;
    }
    if (local.length === 0) return undefined;
    const bound = this.#settings.localityBound * ((requests + 1) / weight) + 1;
    return localRequests / localWeight <= bound ? local : undefined;
  }

  /**
   * The replicas that hold the adapter and are within the load bound. If there are none, the replicas with a free
   * adapter slot, or else all.
   */
  #narrowByAdapter(pool: Pool): Pool {
    const { adapter } = this.#request;
    if (adapter === undefined) return pool;
    const bound = this.#settings.loadBound === Infinity ? DEFAULT_BOUND : this.#settings.loadBound;
    const share = this.#boundPerWeight(pool, bound);
    const holders = this.#holders;
    holders.length = 0;
    for (const replica of pool) {
      if (!replica.adapters.has(adapter)) continue;
      if (replica.requests + 1 <= Math.max(FREE_REQUESTS, share * replica.weight)) holders.push(replica);
      else this.#overBoundCount += 1;
    }
    if (holders.length > 0) return holders;
    for (const replica of pool) {
      if (!replica.adapters.has(adapter) && !this.#waitsForAdapter(replica)) holders.push(replica);
    }
    return holders.length > 0 ? holders : pool;
  }
}
