/**
 * Whose request is next: the team that got the least work for its weight. Start-time fair queueing (Goyal, Vin and Cheng, 1996)
 * with the counters of the virtual token counter (Sheng et al., OSDI 2024): a request is charged an estimate when it starts,
 * and the difference to what it really took when it ends. A team that was idle has no claim on the time before.
 */

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
  readonly waiting: Request[] = [];
}

export class Shares<Request extends { readonly team: string; readonly weight: number }> {
  readonly #teams = new Map<string, TeamShare<Request>>();
  /** Counter of the team that was served last: that of a team which comes back is at least as large. */
  #floor = 0;
  #waitingCount = 0;

  get waitingCount(): number {
    return this.#waitingCount;
  }

  add(request: Request): void {
    this.#active(request.team).waiting.push(request);
    this.#waitingCount++;
  }

  /** Puts a request back before the others of its team. */
  addFirst(request: Request): void {
    this.#active(request.team).waiting.unshift(request);
    this.#waitingCount++;
  }

  remove(request: Request): void {
    const share = this.#teams.get(request.team);
    const at = share?.waiting.indexOf(request) ?? -1;
    if (share === undefined || at < 0) return;
    share.waiting.splice(at, 1);
    this.#waitingCount--;
    this.#forget(request.team, share);
  }

  /** Takes the next request, whose work is charged by `started`. Undefined if none waits. */
  next(): Request | undefined {
    let least: TeamShare<Request> | undefined;
    for (const share of this.#teams.values())
      if (share.waiting.length > 0 && (least === undefined || share.served < least.served)) least = share;
    const request = least?.waiting.shift();
    if (request !== undefined) this.#waitingCount--;
    return request;
  }

  /** Charges the estimate of a request that starts, and returns it. `outputMax`: the most that it may generate. */
  started({ team, weight }: Request, promptTokens: number, outputMax: number): number {
    const share = this.#active(team);
    const work = workOf({ promptTokens, outputTokens: Math.min(outputMax, share.outputMean) });
    this.#floor = Math.max(this.#floor, share.served);
    share.served += work / weight;
    share.running++;
    return work;
  }

  /** Charges what the request took beyond its estimate. `tokens` undefined: it did not run to its end. */
  ended({ team, weight }: Request, estimate: number, tokens: WorkTokens | undefined): void {
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
    if (share.running === 0 && share.waiting.length === 0) share.served = Math.max(share.served, this.#floor);
    return share;
  }

  /** A team that is idle and got no more than the others begins like a new one. */
  #forget(team: string, { running, waiting, served }: TeamShare<Request>): void {
    if (running > 0 || waiting.length > 0) return;
    if (served <= this.#floor || this.#teams.size > IDLE_MAX) this.#teams.delete(team);
  }
}
