/** The usage of a request at its end, or so far, from the parts of its exchange. */
import type { UsageOutcome, UsageRecord } from "../usage/record.ts";
import type { Attempt } from "./attempt.ts";
import type { BufferedResponse } from "./buffered-response.ts";
import type { Continuation } from "./resume.ts";
import type { ExchangeRequest, ExchangeSummary } from "./runtime.ts";
import { usageRecordOf } from "./settlement.ts";
import type { SseTap } from "./sse-tap.ts";

/** The replica that answered, the decision for it, and what the request stated and reserved. */
export const servedByOf = (
  { urgency }: ExchangeRequest,
  committed: Attempt | undefined,
  reserved: ExchangeSummary["reserved"],
): Pick<ExchangeSummary, "replicaId" | "decision" | "urgency" | "reserved"> => ({
  urgency,
  reserved,
  replicaId: committed?.replica.id ?? "",
  decision: committed?.decision,
});

/** Records of what long streams have used so far. */
export class Checkpoints {
  readonly #everyMs: number;
  #atMs: number;
  #count = 0;

  constructor(startedAtMs: number, everyMs: number) {
    this.#everyMs = everyMs;
    this.#atMs = startedAtMs + everyMs;
  }

  /** Whether a record is due: the time has come, and there are more output tokens than at the last one. */
  take(nowMs: number, outputCount: number): boolean {
    if (nowMs < this.#atMs || outputCount === this.#count) return false;
    [this.#atMs, this.#count] = [nowMs + this.#everyMs, outputCount];
    return true;
  }
}

interface ServedBy {
  readonly tap: SseTap | undefined;
  readonly buffered: BufferedResponse;
  readonly continuation: Continuation | undefined;
  readonly attempt: Attempt | undefined;
}

export function servedUsage(
  request: ExchangeRequest,
  end: { readonly outcome: UsageOutcome; readonly status: number; readonly atMs: number },
  { tap, buffered, continuation, attempt }: ServedBy,
): Omit<UsageRecord, "seq"> {
  return usageRecordOf(request, {
    ...end,
    reported: tap === undefined ? buffered.usage(end.outcome === "completed") : tap.usage,
    counted: tap?.outputCount ?? 0,
    answerBytes: buffered.forwardedBytes,
    continuedTokens: continuation?.tokensBefore ?? 0,
    pool: attempt?.pool,
    overflow: attempt?.route.overflow,
  });
}
