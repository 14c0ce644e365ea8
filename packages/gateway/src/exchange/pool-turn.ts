/** The turn of a request in a pool whose requests wait in the gateway while its replicas are full (`fair`). */
import type { FairTurn } from "../fairness/fair-queue.ts";
import type { Pool } from "../replicas/pool.ts";
import type { UsageRecord } from "../usage/record.ts";
import type { PoolRoute } from "./model-route.ts";
import type { RouteCursor } from "./route-cursor.ts";
import type { ExchangeRequest, ExchangeSummary } from "./runtime.ts";

/** Callbacks of the exchange whose turn it is. */
export interface TurnOwner {
  /** Called when it is the turn of the request, which waited, or when it has to go to the next pool. */
  goesOn(error: undefined): void;
  /** Stops a line of a batch at once, so that it waits again. Returns false if its answer has begun to leave the gateway. */
  givesWay(): boolean;
}

export class PoolTurn {
  readonly #request: ExchangeRequest;
  readonly #owner: TurnOwner;
  readonly #routes: RouteCursor;
  #turn: FairTurn | undefined;
  #pool: Pool | undefined;
  /** Time at which the wait began. */
  sinceMs = 0;

  constructor(request: ExchangeRequest, owner: TurnOwner, routes: RouteCursor) {
    this.#request = request;
    this.#routes = routes;
    this.#owner = owner;
  }

  /** `go`: it is the request's turn in the pool, or the pool has no queue. `full`: the queue has no room. */
  at({ pool }: PoolRoute, nowMs: number): "go" | "waits" | "full" {
    const { caller, endpoint, model, peek, bodyBytes, isBatch, urgency } = this.#request;
    // The end of an attempt can make a line give way before its next one.
    if (this.#turn?.queue === pool.fair && this.#turn !== undefined)
      return this.#turn.state === "waiting" ? "waits" : "go";
    this.end(undefined);
    const { fair } = pool;
    // Without a replica the request wakes the pool, or goes elsewhere. The others cost a replica nothing that matters.
    const isFree = endpoint.operation === "count_tokens" || endpoint.operation === "stored_response";
    if (fair === undefined || isFree || !pool.hasAvailable(nowMs, caller.allowedRegions)) return "go";
    this.#turn = fair.take({
      team: caller.account,
      weight: caller.weight,
      isBatch,
      priority: urgency.priority,
      promptTokens: model.estimatedPromptTokens(bodyBytes),
      outputMax: endpoint.isGenerating ? (peek.outputTokensMax ?? Infinity) * peek.choiceCount : 0,
      bytes: bodyBytes,
      start: () => this.#owner.goesOn(undefined),
      giveWay: () => this.#owner.givesWay(),
      displaced: () => {
        this.#leavesQueue();
        this.#owner.goesOn(undefined);
      },
    });
    if (this.#turn === undefined) return "full";
    this.#pool = pool;
    return this.#turn.state === "waiting" ? "waits" : "go";
  }

  /**
   * Whether a request stops waiting. Without replicas it goes on as if there were no queue. After `waitMax` it goes to the next
   * pool; a line of a batch that none takes is tried again later, so that the others of its gateway go on, and so that it can end.
   */
  isOver(nowMs: number): boolean {
    const pool = this.#pool;
    if (pool === undefined || this.#turn?.state !== "waiting") return false;
    const { allowedRegions } = this.#request.caller;
    const { fair } = pool.config;
    const isDeserted =
      !pool.hasAvailable(nowMs, allowedRegions) && pool.backOffEndMs(nowMs, allowedRegions) === undefined;
    const hasQueue = fair !== undefined && !isDeserted;
    if (hasQueue && nowMs - this.sinceMs < fair.waitMax) return false;
    this.end(undefined);
    if (!hasQueue) return true;
    this.#leavesQueue();
    return true;
  }

  #leavesQueue(): void {
    this.#routes.reason = "overloaded";
    this.#routes.advance();
  }

  /** `record`: what the request used; undefined if it reached no replica. */
  end(record: Pick<UsageRecord, "promptTokens" | "cachedTokens" | "completionTokens"> | undefined): void {
    const tokens =
      record === undefined
        ? undefined
        : {
            promptTokens: Math.max(0, record.promptTokens - record.cachedTokens),
            outputTokens: record.completionTokens,
          };
    this.#turn?.end(tokens);
    this.#turn = undefined;
  }
}

/** Whether it is a line of a batch that found no slot. It has not failed, and does not count as a request. */
export function isTriedAgain({ isBatch, model }: ExchangeRequest, { attempts, refusal }: ExchangeSummary): boolean {
  if (!isBatch || attempts.length > 0 || refusal?.kind !== "overloaded") return false;
  return model.ownRoutes.some(({ pool }) => pool.fair !== undefined);
}
