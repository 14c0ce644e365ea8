/**
 * The capacity of a replica, measured by the latencies and tokens of the endpoint's own requests: the time of a prompt token from the
 * tenth of the requests with the least time to the first token for their prompts, which hardly waited, and the share of decoding steps from the
 * lowest usual time per output token. Both are upper bounds that fall as quieter minutes come.
 */
import type { Traffic, WorkModel } from "../capacity.ts";
import type { LoadReading } from "./load-reading.ts";

/** Bounds grow by this factor in an hour, so that a slower revision or accelerator is noticed. */
const GROWTH_PER_HOUR = 1.1;
const HOUR_MS = 3_600_000;
/** Quantiles of fewer requests say little. */
const REQUESTS_MIN = 20;
/** The largest share of a replica's time that decoding steps are taken for. */
const DECODING_MAX = 0.6;
/** Sequences in progress from which on nearly each step decodes. */
const SEQUENCES_MIN = 1;

export class MeasuredCapacity implements WorkModel {
  #promptTokenMs = Infinity;
  #outputTokenMs = Infinity;
  #atMs: number | null = null;
  readonly #tpotMs: number;

  /** `tpotMs`: target of the time per output token; infinite: there is none. */
  constructor(tpotMs: number) {
    this.#tpotMs = tpotMs;
  }

  get times(): { readonly promptTokenMs: number | null; readonly outputTokenMs: number | null } {
    const known = (time: number): number | null => (time < Infinity ? time : null);
    return { promptTokenMs: known(this.#promptTokenMs), outputTokenMs: known(this.#outputTokenMs) };
  }

  /** Takes over what was measured earlier. */
  restore({ promptTokenMs, outputTokenMs }: MeasuredCapacity["times"]): void {
    this.#promptTokenMs = promptTokenMs ?? Infinity;
    this.#outputTokenMs = outputTokenMs ?? Infinity;
  }

  /** Whether the time of a prompt token is known. */
  get isKnown(): boolean {
    return this.#promptTokenMs < Infinity;
  }

  learn(nowMs: number, { tokens, tpot }: LoadReading): void {
    const elapsedMs = Math.max(0, nowMs - (this.#atMs ?? nowMs));
    this.#atMs = nowMs;
    const growth = GROWTH_PER_HOUR ** (elapsedMs / HOUR_MS);
    this.#promptTokenMs *= growth;
    this.#outputTokenMs *= growth;
    const prefill = tokens?.promptTokenMs ?? null;
    if (prefill !== null && prefill > 0) this.#promptTokenMs = Math.min(this.#promptTokenMs, prefill);
    if (tpot !== null && tpot.requests >= REQUESTS_MIN && tpot.p50Ms > 0)
      this.#outputTokenMs = Math.min(this.#outputTokenMs, tpot.p50Ms);
  }

  promptTokenMs(): number {
    return this.isKnown ? this.#promptTokenMs : 1;
  }

  /** Time of a prompt token on a replica where nearly each step decodes too. */
  get busyTokenMs(): number {
    return this.promptTokenMs() / (1 - this.#decodingShare);
  }

  /** Each interval of the target for the time per token has a step for decoding, which takes the lowest usual time per token. */
  get #decodingShare(): number {
    if (!(this.#outputTokenMs < Infinity && this.#tpotMs < Infinity)) return 0;
    return Math.min(DECODING_MAX, this.#outputTokenMs / this.#tpotMs);
  }

  replicasFilled({ requestsPerS, promptTokensPerS, outputTokens }: Traffic): number {
    const prompts = (promptTokensPerS / 1000) * this.promptTokenMs();
    const step = this.#decodingShare;
    if (step === 0) return prompts;
    const sequences = ((requestsPerS * outputTokens) / 1000) * this.#tpotMs;
    // With less than one sequence for each replica only a part of the steps decodes.
    const busy = prompts / (1 - step);
    return sequences >= SEQUENCES_MIN * busy ? busy : prompts + sequences * step;
  }
}
