/**
 * Requests of the last hour by minute, with their times: for the page of the gateway. The memory is fixed, whatever
 * clients send.
 */
import type { ExchangeSummary } from "../exchange/runtime.ts";

const MINUTE_COUNT = 60;
const MINUTE_MS = 60_000;
/** Three buckets for each doubling, from 1 ms to four minutes. */
const BUCKETS_PER_DOUBLING = 3;
const BUCKET_COUNT = 54;

export interface MinuteFigures {
  readonly atMs: number;
  readonly completed: number;
  readonly failed: number;
  readonly aborted: number;
  readonly limited: number;
  /** Time to the first byte, and to the end, of completed requests; null without one. */
  readonly firstByteP50Ms: number | null;
  readonly firstByteP95Ms: number | null;
  readonly durationP50Ms: number | null;
  readonly durationP95Ms: number | null;
}

export type CountedOutcome = "completed" | "failed" | "aborted" | "limited";

/** The outcome under which a request is counted: a refusal by a limit is a kind of its own. */
export function countedOutcomeOf({ record, refusal }: ExchangeSummary): CountedOutcome {
  if (refusal?.kind === "rateLimited" || refusal?.kind === "budgetExhausted") return "limited";
  return record.outcome === "open" ? "failed" : record.outcome;
}

export class RecentMinutes {
  readonly #minutes: readonly Minute[] = Array.from({ length: MINUTE_COUNT }, () => new Minute());

  observe(summary: ExchangeSummary): void {
    const { startedAtMs, firstByteAtMs, endedAtMs } = summary;
    const minute = this.#minuteAt(endedAtMs);
    const outcome = countedOutcomeOf(summary);
    minute.counts[outcome]++;
    if (outcome !== "completed") return;
    minute.duration.observe(endedAtMs - startedAtMs);
    if (firstByteAtMs > 0) minute.firstByte.observe(firstByteAtMs - startedAtMs);
  }

  /** The minutes of the last hour, the oldest first. The last one is not over. */
  figures(nowMs: number): readonly MinuteFigures[] {
    const last = Math.floor(nowMs / MINUTE_MS);
    return Array.from({ length: MINUTE_COUNT }, (_, at) => {
      const number = last - MINUTE_COUNT + 1 + at;
      const minute = this.#minutes[number % MINUTE_COUNT]!;
      return figuresOf(number, minute.number === number ? minute : empty);
    });
  }

  #minuteAt(atMs: number): Minute {
    const number = Math.floor(atMs / MINUTE_MS);
    const minute = this.#minutes[number % MINUTE_COUNT]!;
    if (minute.number !== number) minute.begin(number);
    return minute;
  }
}

class Minute {
  number = -1;
  readonly counts: Record<CountedOutcome, number> = { completed: 0, failed: 0, aborted: 0, limited: 0 };
  readonly duration = new Times();
  readonly firstByte = new Times();

  begin(number: number): void {
    this.number = number;
    this.counts.completed = this.counts.failed = this.counts.aborted = this.counts.limited = 0;
    this.duration.clear();
    this.firstByte.clear();
  }
}

class Times {
  readonly #counts = new Uint32Array(BUCKET_COUNT);
  #count = 0;

  observe(ms: number): void {
    const bucket = ms <= 1 ? 0 : Math.floor(Math.log2(ms) * BUCKETS_PER_DOUBLING);
    this.#counts[Math.min(BUCKET_COUNT - 1, bucket)]!++;
    this.#count++;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
  }

  /** The middle of the bucket in which the quantile lies: at most 12% off. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(share * this.#count);
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return Math.round(10 * 2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING)) / 10;
    }
    return null;
  }
}

const empty = new Minute();

function figuresOf(number: number, { counts, duration, firstByte }: Minute): MinuteFigures {
  return {
    atMs: number * MINUTE_MS,
    ...counts,
    firstByteP50Ms: firstByte.quantile(0.5),
    firstByteP95Ms: firstByte.quantile(0.95),
    durationP50Ms: duration.quantile(0.5),
    durationP95Ms: duration.quantile(0.95),
  };
}
