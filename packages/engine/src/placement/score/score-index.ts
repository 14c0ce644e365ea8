/**
 * Nodes by score, for policies whose `placement` scores nodes. The index is derived from the state and built when first
 * used.
 */
import { WHOLE_MILLI } from "@headroom/model";
import type { Rules } from "@headroom/model";
import type { DemandKind, WorkerAsk } from "../../state/demand-mix.ts";
import type { ReadonlyDemand } from "../../state/state.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { World } from "../../cluster/world.ts";
import { NO_ROOM } from "./ranking.ts";
import { RebalanceValue, VALUE_PER_MILLI } from "./rebalance-value.ts";
import { balancedScore, drawBelow, isShare, keyOf, largestNode, TIE_STEPS } from "./score.ts";
import type { Score, ScoredNode } from "./score.ts";
import { importedScore } from "../strategy.ts";
import { ScoredType } from "./scored-type.ts";
import type { FreeSums } from "./scored-type.ts";
import { Slot } from "../../cluster/scratch.ts";

/** Maximum of the number of nodes multiplied by the number of rankings. Each node in a ranking takes 16 bytes. */
const RANKED_MAX = 8_000_000;
/**
 * Empty nodes with a given number of accelerators are kept free while their share of the free capacity is below this
 * multiple of their share of recent demand.
 */
const RESERVE_TIMES = 10;
/** Score penalty for using an empty node that is kept free: the value of one accelerator. */
const OPENING_COST = VALUE_PER_MILLI * WHOLE_MILLI * TIE_STEPS;

export interface ScoredChoice {
  readonly type: TypeCapacity;
  readonly slot: NodeSlot;
  /** The accelerator from which a fraction is taken; -1 if the worker uses whole accelerators or none. */
  readonly accelerator: number;
}

export class ScoreIndex {
  readonly #types = new Map<string, ScoredType>();
  #sums: FreeSums = { milli: 0, untouchedMilli: new Map() };
  #score: Score | null = null;
  #rules: Rules | null = null;
  #fleetEpoch = -1;
  /** The sample of demand behind the scores; a new sample is a new array. */
  #sample: readonly DemandKind[] | null = null;

  /**
   * The best node for a worker, or `null` if no node of an accepted type holds the worker. `nth` is the index of the
   * worker in the gang.
   */
  choose(world: World, ask: WorkerAsk, types: readonly TypeCapacity[], nth: number): ScoredChoice | null {
    const score = this.#settled(world);
    const random = world.rules.placement === "random" ? { sequence: world.state.sequence, nth } : null;
    const found = random === null ? this.#best(world, ask, types) : this.#any(ask, types, random.sequence, random.nth);
    if (found === null) return null;
    const { type, position } = found;
    const node = type.node(position);
    return { type: type.type, slot: node.slot, accelerator: isShare(ask) ? score.accelerator(node, ask) : -1 };
  }

  /** The score of a node that holds the worker. */
  scoreOf(world: World, slot: NodeSlot, ask: WorkerAsk): number {
    return this.#settled(world).score(this.#node(slot), ask);
  }

  /** The accelerator of the node from which the scores would take a fraction. */
  acceleratorOf(world: World, slot: NodeSlot, ask: WorkerAsk): number {
    return this.#settled(world).accelerator(this.#node(slot), ask);
  }

  #node(slot: NodeSlot): ScoredNode {
    return (this.#types.get(slot.node.acceleratorType) as ScoredType).node(slot.position);
  }

  #best({ state }: World, ask: WorkerAsk, types: readonly TypeCapacity[]): ScoredNodeChoice | null {
    const key = keyOf(ask);
    let best: ScoredNodeChoice | null = null;
    let top = NO_ROOM;
    let ordinal = 0;
    for (const { type: name } of types) {
      const type = this.#types.get(name) as ScoredType;
      for (const { untouchedSize, ranking } of type.ranked(key, ask, this.#score as Score)) {
        const position = ranking.best;
        let score = ranking.scoreOf(position);
        if (score === NO_ROOM) continue;
        if (untouchedSize > 0 && this.#isKept(state.demand, untouchedSize, ask)) score -= OPENING_COST;
        const joined = type.node(position).slot.node.ordinal;
        if (score < top || (score === top && joined > ordinal)) continue;
        best = { type, position };
        top = score;
        ordinal = joined;
      }
    }
    return best;
  }

  /** A node drawn at random from those that hold the worker. */
  #any(ask: WorkerAsk, types: readonly TypeCapacity[], sequence: number, nth: number): ScoredNodeChoice | null {
    const ranked = types.flatMap(({ type: name }) => {
      const type = this.#types.get(name) as ScoredType;
      return type.ranked(keyOf(ask), ask, this.#score as Score).map(({ ranking }) => ({ type, ranking }));
    });
    let left = drawBelow(
      ranked.reduce((sum, { ranking }) => sum + ranking.roomCount, 0),
      sequence,
      `node of worker ${nth}`,
    );
    for (const { type, ranking } of ranked) {
      if (left < ranking.roomCount) return { type, position: ranking.withRoom(left) };
      left -= ranking.roomCount;
    }
    return null;
  }

  /**
   * Returns whether recent demand for whole nodes makes it worthwhile to keep empty nodes with `size` accelerators
   * free.
   */
  #isKept(demand: ReadonlyDemand | null, size: number, ask: WorkerAsk): boolean {
    if (demand === null || ask.accelerators === size) return false;
    const asked = demand.countedMilliBySize.get(size);
    if (asked === undefined) return false;
    const untouched = this.#sums.untouchedMilli.get(size) ?? 0;
    return untouched * demand.countedMilli < RESERVE_TIMES * asked * this.#sums.milli;
  }

  /** Brings all indexes up to date. */
  #settled(world: World): Score {
    const { capacity, rules, state } = world;
    const sample = state.demand?.sample ?? null;
    if (this.#score === null || rules !== this.#rules || capacity.fleetEpoch !== this.#fleetEpoch) this.#rebuild(world);
    else if (sample !== this.#sample) {
      this.#score = this.#scoreFor(world);
      for (const type of this.#types.values()) {
        // The sums describe the node states that were seen last, so pending changes are applied first.
        type.update();
        type.forgetValues();
      }
    }
    this.#sample = sample;
    let ranked = 0;
    for (const type of this.#types.values()) {
      type.update();
      ranked += type.rankedCount;
    }
    if (ranked > RANKED_MAX) for (const type of this.#types.values()) type.forgetRankings();
    return this.#score as Score;
  }

  #rebuild(world: World): void {
    const { capacity, rules } = world;
    this.#rules = rules;
    this.#fleetEpoch = capacity.fleetEpoch;
    this.#sums = { milli: 0, untouchedMilli: new Map() };
    this.#types.clear();
    for (const type of capacity.allTypes)
      this.#types.set(type.type, new ScoredType(type, this.#sums, rules.placement === "balanced"));
    this.#score = this.#scoreFor(world);
    capacity.watch = ({ node, position }) => this.#types.get(node.acceleratorType)?.changed(position);
  }

  #scoreFor(world: World): Score {
    const { rules, capacity, state } = world;
    if (rules.placement !== "balanced") return importedScore(world);
    const sample = state.demand?.sample ?? [];
    const values = new Map(capacity.allTypes.map(({ type }) => [type, new RebalanceValue(sample, type)]));
    return balancedScore((type) => values.get(type) as RebalanceValue, largestNode(capacity.allTypes));
  }
}

interface ScoredNodeChoice {
  readonly type: ScoredType;
  readonly position: number;
}

const scoreIndex = new Slot(() => new ScoreIndex(), { survivesUndo: true });
export const scoresOf = (world: World): ScoreIndex => world.scratch.get(scoreIndex);
