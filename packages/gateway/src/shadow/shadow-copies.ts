/**
 * Copies of requests for a revision that is rolled out in the shadow of the present one. A copy is sent after the request has ended,
 * so that it takes nothing from the answer that its client waits for. It is not billed, counts to no limit and to no load, and its
 * answer goes nowhere: the rollout gets its status, its times and its score. Start at `take` and `ended`.
 */
import { hashText } from "@headroom/routing";
import { attemptMessage } from "../exchange/attempt-message.ts";
import type { ModelRoute, PoolRoute } from "../exchange/model-route.ts";
import type { ExchangeRequest, ExchangeSummary } from "../exchange/runtime.ts";
import { HttpTarget, type ResponseTarget } from "../exchange/target.ts";
import type { ClientConnection } from "../http/client-connection.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { Operation } from "../protocols/endpoints.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";
import type { RolloutSplit } from "../replicas/rollout-split.ts";
import { agreementOf, textOfAnswer } from "./agreement.ts";
import { AnswerTap } from "./answer-tap.ts";
import { Scorer } from "./scorer.ts";
import { callShadow, type ShadowAnswer } from "./shadow-call.ts";
import { isCacheUnknown } from "./unknown-cache.ts";

/** Operations without an effect beyond their answer. */
const copied: ReadonlySet<Operation> = new Set([
  "chat",
  "text_completion",
  "messages",
  "embeddings",
  "rerank",
  "score",
]);
/** Operations whose answers have a text that is compared. */
const scored: ReadonlySet<Operation> = new Set(["chat", "text_completion"]);
/** Bodies of requests that are kept for their copies, in bytes. */
const BODY_BYTES_MAX = 67_108_864;

interface Copy {
  readonly route: PoolRoute;
  readonly split: RolloutSplit;
  readonly body: Buffer;
  readonly sessionHash: number | undefined;
  /** Whether the texts of both answers are compared. */
  readonly isScored: boolean;
  /** The answer of the present revision. */
  tap?: AnswerTap;
}

/** A request that was admitted. */
interface AdmittedRequest {
  readonly message: Pick<ExchangeRequest, "endpoint" | "body" | "peek">;
  readonly model: ModelRoute;
  readonly isTranslated: boolean;
}

interface CopiesSetup {
  now(): number;
  log(line: string): void;
}

export class ShadowCopies {
  readonly #setup: CopiesSetup;
  readonly #scorer: Scorer;
  readonly #copies = new WeakMap<ExchangeRequest, Copy>();
  /** Copies of each pool that wait for the end of their request or are in progress. */
  readonly #counts = new Map<Pool, number>();
  readonly #busy = new Map<Replica, number>();
  readonly #cancels = new Set<() => void>();
  #bodyBytes = 0;

  constructor(setup: CopiesSetup) {
    this.#setup = setup;
    this.#scorer = new Scorer((line) => setup.log(line));
  }

  /** Chooses whether the request is copied, and keeps its body if it is. */
  take({ message, model, isTranslated }: AdmittedRequest, head: RequestHead): Copy | undefined {
    const route = model.ownRoutes.find(({ pool }) => pool.split?.isShadow === true);
    const { split } = route?.pool ?? {};
    const { endpoint, body, peek } = message;
    if (route === undefined || split === undefined || !copied.has(endpoint.operation)) return undefined;
    const session = head.session === "" ? peek.session : head.session;
    const sessionHash = session === "" ? undefined : hashText(session);
    if (!split.isCopied(sessionHash, drawn)) return undefined;
    const { pool } = route;
    const count = this.#counts.get(pool) ?? 0;
    if (count >= pool.config.shadow.concurrencyMax || this.#bodyBytes + body.length > BODY_BYTES_MAX) {
      pool.copies.skipped++;
      return undefined;
    }
    this.#counts.set(pool, count + 1);
    this.#bodyBytes += body.length;
    const isScored = scored.has(endpoint.operation) && !isTranslated;
    return { route, split, body: Buffer.from(body), sessionHash, isScored };
  }

  /** The client as target of the answer, which is kept for the comparison if the request is copied. */
  targetOf(copy: Copy | undefined, connection: ClientConnection, { minorVersion }: RequestHead): ResponseTarget {
    const target = new HttpTarget(connection, minorVersion);
    if (copy?.isScored !== true) return target;
    copy.tap = new AnswerTap(target);
    return copy.tap;
  }

  follow(request: ExchangeRequest, copy: Copy | undefined): void {
    if (copy !== undefined) this.#copies.set(request, copy);
  }

  /**
   * The request has ended, and its copy begins. A request that reached no replica, or whose client left, is not copied. Neither
   * is one that went to another pool: its answer is of another engine or model, with which the revision is not compared.
   */
  ended(request: ExchangeRequest, summary: ExchangeSummary): void {
    const copy = this.#copies.get(request);
    if (copy === undefined) return;
    this.#copies.delete(request);
    const isOfPool = summary.attempts.at(-1)?.pool === copy.route.pool.name;
    const isServed = isOfPool && summary.record.outcome !== "aborted";
    const replica = isServed ? this.#replicaFor(copy, request) : undefined;
    if (replica === undefined) return this.#over(copy);
    this.#busy.set(replica, (this.#busy.get(replica) ?? 0) + 1);
    copy.route.pool.copies.sent++;
    const { id, endpoint } = request;
    const own = { ...request, id: `${id}-copy`, body: copy.body, traceparent: "", tracestate: "" };
    const message = attemptMessage(own, { route: copy.route, replica, continuation: undefined });
    const target = { pool: copy.route.pool, replica, operation: endpoint.operation, now: () => this.#setup.now() };
    const cancel = callShadow(message, target, (answer) => {
      this.#cancels.delete(cancel);
      const busyCount = this.#busy.get(replica) ?? 1;
      if (busyCount > 1) this.#busy.set(replica, busyCount - 1);
      else this.#busy.delete(replica);
      this.#answered({ copy, request, summary, replica, busyCount }, answer);
    });
    this.#cancels.add(cancel);
  }

  /** Ends the copies in progress. */
  stop(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
    this.#scorer.stop();
  }

  #over({ route, body }: Copy): void {
    const { pool } = route;
    this.#bodyBytes -= body.length;
    const count = (this.#counts.get(pool) ?? 1) - 1;
    if (count > 0) this.#counts.set(pool, count);
    else this.#counts.delete(pool);
  }

  /** The replica of the new revision for the session, or with the fewest copies. Undefined if none takes requests. */
  #replicaFor({ route, split, sessionHash }: Copy, { caller }: ExchangeRequest): Replica | undefined {
    const { pool } = route;
    if (pool.split !== split || !split.isShadow) return undefined;
    const nowMs = this.#setup.now();
    const able = [...pool.replicas.values()].filter(
      (each) =>
        split.isCanary(each.id) &&
        each.isAvailable(nowMs) &&
        (caller.allowedRegions === undefined || caller.allowedRegions.includes(each.region)),
    );
    // The last three digits chose whether the session is copied.
    if (sessionHash !== undefined) return able[Math.floor(sessionHash / 1000) % able.length];
    return able.toSorted((a, b) => (this.#busy.get(a) ?? 0) - (this.#busy.get(b) ?? 0))[0];
  }

  #answered(
    ended: {
      readonly copy: Copy;
      readonly request: ExchangeRequest;
      readonly summary: ExchangeSummary;
      readonly replica: Replica;
      readonly busyCount: number;
    },
    answer: ShadowAnswer | undefined,
  ): void {
    const { copy, request, summary, replica, busyCount } = ended;
    const { split, route } = copy;
    this.#over(copy);
    const isFailed = answer === undefined || answer.status >= 500;
    if (isFailed) route.pool.copies.failed++;
    if (route.pool.split !== split) return;
    split.ended(replica.id, isFailed);
    if (answer === undefined || answer.status !== 200) return;
    if (answer.isStream) {
      const times = timesOf(request, answer);
      const firstTokenMs = isCacheUnknown(summary) ? Number.NaN : times.firstTokenMs;
      split.observe({ replicaId: replica.id, busyCount, ...times, firstTokenMs });
    }
    void this.#score(copy, answer, summary.isStream).catch((error: unknown) =>
      this.#setup.log(`a copied request was not scored: ${String(error)}`),
    );
  }

  /** Scores both answers by the operator's command, or the copy's by its agreement with the other one. */
  async #score({ route, split, body, tap }: Copy, answer: ShadowAnswer, isProductionStream: boolean): Promise<void> {
    const [own, other] = [answer.kept.text(), tap?.kept.text()];
    const text = own === undefined ? undefined : textOfAnswer(own, answer.isStream);
    const production = other === undefined ? undefined : textOfAnswer(other, isProductionStream);
    if (text === undefined || production === undefined) return;
    const { scorer } = route.pool.config.shadow;
    const scores =
      scorer === undefined
        ? [agreementOf(text, production), 1]
        : await this.#scorer.scores(scorer, body.toString("utf8"), [text, production]);
    if (scores !== undefined && route.pool.split === split) split.scored(scores[0]!, scores[1]!);
  }
}

/** 32 bits. */
const drawn = (): number => Math.floor(Math.random() * 2 ** 32);

function timesOf(
  { model, bodyBytes }: ExchangeRequest,
  { usage, outputCount, firstByteMs, durationMs }: ShadowAnswer,
): { readonly firstTokenMs: number; readonly perTokenMs: number; readonly uncachedTokens: number } {
  const tokens = usage?.completionTokens ?? outputCount;
  const promptTokens = usage?.promptTokens ?? model.estimatedPromptTokens(bodyBytes);
  return {
    firstTokenMs: firstByteMs,
    perTokenMs: tokens > 1 ? (durationMs - firstByteMs) / (tokens - 1) : Number.NaN,
    uncachedTokens: promptTokens - (usage?.cachedTokens ?? 0),
  };
}
