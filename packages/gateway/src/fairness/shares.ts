/**
 * Whose request is next: among teams with a request of the highest priority that waits, the one that got the least work for its
 * weight. Work counts alike in all priorities. Start-time fair queueing (Goyal, Vin and Cheng, 1996)
 * with the counters of the virtual token counter (Sheng et al., OSDI 2024): a request is charged an estimate when it starts,
 * and the difference to what it really took when it ends. A team that was idle has no claim on the time before.
 */

import { priorities } from "./priority.ts";

/** Teams without requests that are kept because they got more than the others. */
const IDLE_MAX = 10_000;
/** Weight of the newest request in the mean output of a team. */
const OUTPUT_WEIGHT = 0.1;
const OUTPUT_FIRST = 128;
/** Work of an output token in prompt tokens: prompts are computed in parallel. */
const OUTPUT_WORK = 2;

export interface WorkTokens {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

const workOf = ({ promptTokens, outputTokens }: WorkTokens): number =>
  Math.max(1, promptTokens + OUTPUT_WORK * outputTokens);

class TeamShare<Request> {
  /** Work that the team got, divided by its weight. */
  served = 0;
  outputMean = OUTPUT_FIRST;
  running = 0;
  /** Waiting requests by rank of their priority, each in order of arrival. */
  readonly waiting: readonly Request[][] = priorities.map(() => []);

  get isIdle(): boolean {
    return this.running === 0 && this.waiting.every((list) => list.length === 0);
  }
}

interface Sharing {
  readonly team: string;
  readonly weight: number;
  /** Position in `priorities`. */
  readonly rank: number;
}

export class Shares<Request extends Sharing> {
  readonly #teams = new Map<string, TeamShare<Request>>();
  /** Counter of the team that was served last: that of a team which comes back is at least as large. */
  #floor = 0;
  #waitingCount = 0;

  get waitingCount(): number {
    return this.#waitingCount;
  }

  add(request: Request): void {
    this.#active(request.team).waiting[request.rank]!.push(request);
    this.#waitingCount++;
  }

  /** Puts a request back before the others of its team. */
  addFirst(request: Request): void {
    this.#active(request.team).waiting[request.rank]!.unshift(request);
    this.#waitingCount++;
  }

  remove(request: Request): void {
    const share = this.#teams.get(request.team);
    const list = share?.waiting[request.rank];
    const at = list?.indexOf(request) ?? -1;
    if (share === undefined || list === undefined || at < 0) return;
    list.splice(at, 1);
    this.#waitingCount--;
    this.#forget(request.team, share);
  }

  /** Takes the next request, whose work is charged by `started`. Undefined if none waits. */
  next(): Request | undefined {
    if (this.#waitingCount === 0) return undefined;
    for (let rank = priorities.length - 1; rank >= 0; rank--) {
      let least: TeamShare<Request> | undefined;
      for (const share of this.#teams.values())
        if (share.waiting[rank]!.length > 0 && (least === undefined || share.served < least.served)) least = share;
      if (least === undefined) continue;
      this.#waitingCount--;
      return least.waiting[rank]!.shift();
    }
    return undefined;
  }

  /**
   * The request that makes room for one of a higher priority: of the lowest priority below `rank` that waits, the newest of the team
   * that has the most waiting. Undefined if all have this priority or a higher one.
   */
  lastBelow(rank: number): Request | undefined {
    for (let below = 0; below < rank; below++) {
      let most: Request[] = [];
      for (const { waiting } of this.#teams.values()) if (waiting[below]!.length > most.length) most = waiting[below]!;
      if (most.length > 0) return most.at(-1);
    }
    return undefined;
  }

  /** Sum over the requests that wait with a lower priority than that of `rank`. */
  sumBelow(rank: number, valueOf: (request: Request) => number): number {
    let sum = 0;
    for (const { waiting } of this.#teams.values())
      for (const list of waiting.slice(0, rank)) for (const each of list) sum += valueOf(each);
    return sum;
  }

  /** Number of requests that wait with the priority of this rank. */
  waitingAt(rank: number): number {
    let count = 0;
    for (const { waiting } of this.#teams.values()) count += waiting[rank]!.length;
    return count;
  }

  /** Charges the estimate of a request that starts, and returns it. `outputMax`: the most that it may generate. */
  started({ team, weight }: Sharing, promptTokens: number, outputMax: number): number {
    const share = this.#active(team);
    const work = workOf({ promptTokens, outputTokens: Math.min(outputMax, share.outputMean) });
    this.#floor = Math.max(this.#floor, share.served);
    share.served += work / weight;
    share.running++;
    return work;
  }

  /** Charges what the request took beyond its estimate. `tokens` undefined: it did not run to its end. */
  ended({ team, weight }: Sharing, estimate: number, tokens: WorkTokens | undefined): void {
    const share = this.#active(team);
    share.running--;
    share.served += ((tokens === undefined ? 0 : workOf(tokens)) - estimate) / weight;
    if (tokens !== undefined) share.outputMean += OUTPUT_WEIGHT * (tokens.outputTokens - share.outputMean);
    this.#forget(team, share);
  }

  #active(team: string): TeamShare<Request> {
    const known = this.#teams.get(team);
    const share = known ?? new TeamShare<Request>();
    if (known === undefined) this.#teams.set(team, share);
    if (share.isIdle) share.served = Math.max(share.served, this.#floor);
    return share;
  }

  /** A team that is idle and got no more than the others begins like a new one. */
  #forget(team: string, share: TeamShare<Request>): void {
    if (!share.isIdle) return;
    if (share.served <= this.#floor || this.#teams.size > IDLE_MAX) this.#teams.delete(team);
  }
}
