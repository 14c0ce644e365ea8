/**
 * The last requests, for `headroom gateway explain`: in memory, bounded, without prompts and answers. Requests without a
 * valid key have a small ring of their own, so that strangers cannot push out the requests of teams.
 */
import type { ExchangeSummary } from "../exchange/runtime.ts";
import { decisionOf } from "./access-log.ts";

/** Each entry takes about 1.5 KB. */
const KNOWN_MAX = 5000;
const STRANGERS_MAX = 500;

export class RequestRing {
  readonly #known = new Ring(KNOWN_MAX);
  readonly #strangers = new Ring(STRANGERS_MAX);

  add(summary: ExchangeSummary, isStranger = false): void {
    (isStranger ? this.#strangers : this.#known).add(summary);
  }

  find(id: string): ExchangeSummary | undefined {
    return this.#known.find(id) ?? this.#strangers.find(id);
  }

  /** The newest requests, newest first. */
  newest(count: number, isWanted: (summary: ExchangeSummary) => boolean): readonly ExchangeSummary[] {
    const found: ExchangeSummary[] = [];
    for (const summary of this.#known.newestFirst()) {
      if (found.length >= count) break;
      if (isWanted(summary)) found.push(summary);
    }
    return found;
  }

  /** How long requests are kept, for an operator who asks for one that is gone. */
  keptText(nowMs: number): string {
    const { size, oldest } = this.#known;
    const kept = `This gateway keeps its last ${KNOWN_MAX} requests in memory`;
    if (oldest === undefined) return `${kept}; it has none since its start.`;
    const seconds = Math.max(0, Math.round((nowMs - oldest.endedAtMs) / 1000));
    return `${kept}; now ${size}, back to ${new Date(oldest.endedAtMs).toISOString()} (${seconds} s ago).`;
  }
}

class Ring {
  readonly #max: number;
  readonly #entries: ExchangeSummary[] = [];
  #next = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.length;
  }

  get oldest(): ExchangeSummary | undefined {
    return this.#entries[this.#entries.length < this.#max ? 0 : this.#next];
  }

  add(summary: ExchangeSummary): void {
    this.#entries[this.#next] = summary;
    this.#next = (this.#next + 1) % this.#max;
  }

  /** Looks at each entry: a table by id took a twentieth of a request's time, and an operator asks rarely. */
  find(id: string): ExchangeSummary | undefined {
    return this.#entries.find(({ record }) => record.id === id);
  }

  *newestFirst(): Generator<ExchangeSummary> {
    for (let back = 1; back <= this.#entries.length; back++) {
      const summary = this.#entries[(this.#next - back + this.#max) % this.#max];
      if (summary !== undefined) yield summary;
    }
  }
}

/** Times are in ms since the start of the request. */
export function explanationOf(summary: ExchangeSummary): object {
  const { record, startedAtMs, firstByteAtMs, endedAtMs, isStream, refusal, attempts, reserved, urgency } = summary;
  const since = (atMs: number): number | undefined =>
    atMs === 0 ? undefined : Math.round((atMs - startedAtMs) * 100) / 100;
  return {
    source: "memory",
    at: new Date(startedAtMs).toISOString(),
    isStream,
    priority: urgency?.priority,
    deadlineMs: urgency?.deadlineMs,
    durationMs: since(endedAtMs),
    firstByteMs: since(firstByteAtMs),
    /** Wait for limits, for its turn, and for a waking pool. */
    waitedMs: since(attempts[0]?.startedAtMs ?? endedAtMs),
    refusal: refusal === undefined ? undefined : { kind: refusal.kind, message: refusal.message },
    reserved: reserved.map(({ definition: { kind, limit }, amount }) => ({ kind, limit, amount })),
    attempts: attempts.map((note) => ({
      kind: note.kind,
      pool: note.pool,
      replica: note.replica,
      startedMs: since(note.startedAtMs),
      headMs: since(note.headAtMs),
      endedMs: since(note.endedAtMs),
      status: note.status === 0 ? undefined : note.status,
      outcome: note.outcome,
      failure: note.failure === "" ? undefined : note.failure,
      decision: decisionOf(note.decision),
    })),
    usage: record,
  };
}
