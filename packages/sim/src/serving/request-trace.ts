/** One request of a traffic trace. */
export interface ServingRequest {
  /** Arrival in ms after the first request of the trace. */
  readonly arrivalMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /**
   * Ids of the prompt's prefix pages; an id stands for its page and all pages before it. Empty if the trace has none.
   */
  readonly pages: readonly number[];
  /** Number of prompt tokens found in a cache when the request was recorded. */
  readonly cachedTokens: number;
  /** Model or adapter that must be loaded for the request; empty: none. */
  readonly adapter: string;
  /** Latency objectives of its own; without them the variant's count. */
  readonly slo?: ServingSlo;
}

/** Latency objectives of a request. */
export interface ServingSlo {
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/** Requests in order of arrival. */
export interface RequestTrace {
  readonly requests: readonly ServingRequest[];
  /** Number of tokens of one prefix page; 0 if no request has pages. */
  readonly pageTokens: number;
}

/** Bounds of one request: a thousand years of arrivals, and lengths that no model takes. */
export const requestBounds = { tokens: 100_000_000, pages: 1_000_000, arrivalMs: 31_536_000_000_000 } as const;

export const plainRequest: Omit<ServingRequest, "arrivalMs" | "promptTokens" | "outputTokens"> = {
  pages: [],
  cachedTokens: 0,
  adapter: "",
};

/** Requests in the order of arrival. The first one arrives at 0. */
export function traceOf(requests: readonly ServingRequest[], pageTokens: number): RequestTrace {
  const sorted = requests.toSorted((a, b) => a.arrivalMs - b.arrivalMs);
  const begin = sorted[0]?.arrivalMs ?? 0;
  return { requests: sorted.map((one) => ({ ...one, arrivalMs: one.arrivalMs - begin })), pageTokens };
}

/**
 * The same traffic with a multiple of the arrival rate: the gaps between arrivals shrink, the lengths of requests stay.
 */
export function sped(trace: RequestTrace, factor: number): RequestTrace {
  return { ...trace, requests: trace.requests.map((one) => ({ ...one, arrivalMs: one.arrivalMs / factor })) };
}
