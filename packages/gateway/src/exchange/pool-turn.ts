/** The turn of a request in a pool whose requests wait in the gateway while its replicas are full (`fair`). */
import type { FairTurn } from "../fairness/fair-queue.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { UsageRecord } from "../usage/record.ts";
import type { PoolRoute } from "./model-route.ts";
import type { ExchangeRequest } from "./runtime.ts";

/** Callbacks of the exchange whose turn it is. */
export interface TurnOwner {
  /** Called when it is the turn of the request, which waited. */
  goesOn(error: undefined): void;
  /** Stops a line of a batch at once, so that it waits again. Returns false if its answer has begun to leave the gateway. */
  givesWay(): boolean;
}

export class PoolTurn {
  readonly #request: ExchangeRequest;
  readonly #owner: TurnOwner;
  #turn: FairTurn | undefined;
  #sinceMs = 0;
  #waitMaxMs = 0;

  constructor(request: ExchangeRequest, owner: TurnOwner) {
    this.#request = request;
    this.#owner = owner;
  }

  /** `go`: it is the request's turn in the pool, or the pool has no queue. `full`: the queue has no room. */
  at({ pool }: PoolRoute, nowMs: number): "go" | "waits" | "full" {
    const { caller, endpoint, model, peek, bodyBytes, isBatch } = this.#request;
    if (this.#turn !== undefined && this.#turn.queue === pool.fair) return "go";
    this.end(undefined);
    const { fair } = pool;
    // Without a replica the request wakes the pool, or goes elsewhere. The others cost a replica nothing that matters.
    const isFree = endpoint.operation === "count_tokens" || endpoint.operation === "stored_response";
    if (fair === undefined || isFree || !pool.hasAvailable(nowMs, caller.allowedRegions)) return "go";
    this.#turn = fair.take({
      team: caller.team,
      weight: caller.weight,
      isBatch,
      promptTokens: model.estimatedPromptTokens(bodyBytes),
      outputMax: endpoint.isGenerating ? (peek.outputTokensMax ?? Infinity) * peek.choiceCount : 0,
      bytes: bodyBytes,
      start: () => this.#owner.goesOn(undefined),
      giveWay: () => this.#owner.givesWay(),
    });
    if (this.#turn === undefined) return "full";
    this.#sinceMs = nowMs;
    this.#waitMaxMs = isBatch ? Infinity : (pool.config.fair?.waitMax ?? Infinity);
    return this.#turn.state === "waiting" ? "waits" : "go";
  }

  /** The error of a request that has waited for too long. */
  overdue(nowMs: number): ApiError | undefined {
    if (this.#turn?.state !== "waiting" || nowMs - this.#sinceMs < this.#waitMaxMs) return undefined;
    const message = `The replicas of ${this.#request.model.name} were full for ${Math.round(this.#waitMaxMs / 1000)} s. Try again later.`;
    return { kind: "overloaded", message, retryAfterMs: 1000 };
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
