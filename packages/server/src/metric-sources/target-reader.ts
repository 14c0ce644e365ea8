/** One target in the telemetry thread: its state, and its readings as samples of subjects. */
import { hostOf, MappedReading } from "@headroom/metrics";
import type { MappingIndex, MetricTarget } from "@headroom/metrics";
import { acceleratorSubject } from "@headroom/views";
import type { SubjectSample } from "@headroom/views";
import type { AddressReader } from "./read-address.ts";
import { querySamples, queryUrl, rangeSamples, rangeUrl } from "./query-samples.ts";
import type { KnownSubjects, QueryOutcome, QueryRange } from "./query-samples.ts";
import type { ReadSource, TargetState } from "./target-messages.ts";

const ACCEPT = "text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";

/** Intervals of a query without a reading after which the values in between are read from the Prometheus. */
const PAST_INTERVALS_MIN = 3;
/** Readings that try to read a period. Until the last one no newer values are recorded, which would keep earlier ones out of the series. */
const PAST_TRIES = 3;
/** Maximum length in ms of such a period: series are kept for 30 days. */
const PAST_MS_MAX = 30 * 86_400_000;
/** Points of a series over such a period, and values of all series: about 8 MiB of text. */
const PAST_POINTS_MIN = 5;
const PAST_POINTS_MAX = 60;
const PAST_VALUES_MAX = 200_000;
/** Time in ms for which a period that could not be read is stated. */
const PAST_STATED_MS = 86_400_000;

interface Outcome {
  readonly samples: readonly SubjectSample[];
  readonly sampleCount: number;
  readonly valueCount: number;
  readonly problem: string | null;
}

export class TargetReader {
  readonly target: MetricTarget;
  readonly #reading: MappedReading;
  #source: ReadSource;
  #state: Omit<TargetState, "target">;
  #dueAtMs: number;
  #isReading = false;

  /** Time in ms up to which values of a query are known; `null`: nothing is known. */
  #knownUntilMs: number | null;
  /** A period before the last reading of which values of the query are missing; `null`: none. */
  #missing: Pick<QueryRange, "fromMs" | "untilMs"> | null = null;
  /** The newest period whose values could not be read. Later readings give other values, so it is stated on. */
  #pastTries = 0;
  #pastProblem: { readonly untilMs: number; readonly text: string } | null = null;

  /** `knownUntilMs`: time up to which an earlier process has recorded values; `null`: there was none. */
  constructor(
    target: MetricTarget,
    source: ReadSource,
    {
      index,
      nowMs,
      knownUntilMs,
    }: { readonly index: MappingIndex; readonly nowMs: number; readonly knownUntilMs: number | null },
  ) {
    this.target = target;
    this.#knownUntilMs = knownUntilMs;
    this.#source = source;
    this.#reading = new MappedReading(index);
    this.#dueAtMs = nowMs;
    this.#state = {
      state: "waiting",
      sinceMs: nowMs,
      readAtMs: null,
      durationMs: null,
      sampleCount: 0,
      valueCount: 0,
      problem: null,
    };
  }

  set source(source: ReadSource) {
    this.#source = source;
  }

  get state(): TargetState {
    const problems = [this.#state.problem, this.#pastProblem?.text ?? null].filter((each) => each !== null);
    return { target: this.target, ...this.#state, problem: problems.length === 0 ? null : problems.join("; ") };
  }

  /** Values of the last reading of a replica, for the endpoint. */
  newest: Readonly<Record<string, number>> | null = null;

  /** Values of the last answer of a query about endpoints, by id; NaN: none, or several. */
  endpointValues: ReadonlyMap<string, number> | null = null;

  get isSilent(): boolean {
    return this.#state.state === "silent";
  }

  /** Also if the next reading lies further ahead than an interval, because the clock was set back. */
  isDue(nowMs: number): boolean {
    return !this.#isReading && (nowMs >= this.#dueAtMs || this.#dueAtMs - nowMs > this.everyMs);
  }

  get everyMs(): number {
    return this.#source.declaration.every * 1_000;
  }

  /** Spreads the first readings over the interval, so that targets are not read all at once. */
  postpone(byMs: number): void {
    this.#dueAtMs += byMs;
  }

  /** Reads the target once, and is not due before it is released. Never rejects: a failure is a state. */
  async read(addresses: AddressReader, known: KnownSubjects, clock: () => number): Promise<Outcome["samples"]> {
    const beganMs = clock();
    this.#isReading = true;
    this.#dueAtMs = Math.max(Math.min(this.#dueAtMs, beganMs) + this.everyMs, beganMs);
    try {
      const outcome = await this.#outcome(addresses, known, clock);
      const { sampleCount, valueCount, problem } = outcome;
      this.#noteMissing(beganMs);
      const durationMs = clock() - beganMs;
      this.#enter("up", clock(), { readAtMs: clock(), durationMs, sampleCount, valueCount, problem });
      return outcome.samples;
    } catch (error) {
      this.#reading.discard();
      this.newest = null;
      this.endpointValues = null;
      const problem = (error instanceof Error ? error.message : String(error)).slice(0, 500);
      this.#enter("silent", clock(), { durationMs: clock() - beganMs, sampleCount: 0, valueCount: 0, problem });
      return [];
    }
  }

  /** Lets the next reading begin: what this one gave is recorded. */
  release(): void {
    this.#isReading = false;
  }

  /**
   * Values of the period in which the query was not read before its last reading: the Prometheus has kept them. Empty: there was no such
   * period. `null`: the query failed, and the next reading tries the whole period again, up to its own begin. Never rejects: the last failure is
   * the problem of the target.
   */
  async readPast(
    addresses: AddressReader,
    known: KnownSubjects,
    clock: () => number,
  ): Promise<Outcome["samples"] | null> {
    const { query, url } = this.target;
    const [missing, { token, declaration }] = [this.#missing, this.#source];
    if (query === null || missing === null) return [];
    this.#missing = null;
    const points = Math.max(
      PAST_POINTS_MIN,
      Math.min(PAST_POINTS_MAX, Math.floor(PAST_VALUES_MAX / this.#state.sampleCount)),
    );
    const stepS = Math.max(declaration.every, Math.ceil((missing.untilMs - missing.fromMs) / 1_000 / points));
    const timeoutMs = ("timeout" in declaration ? declaration.timeout : 10) * 1_000;
    try {
      const address = rangeUrl(url, query.query, { ...missing, stepS });
      const text = await addresses.read({ url: address, token, timeoutMs, accept: "application/json" });
      const samples = rangeSamples(text, query, { known, range: missing });
      this.#pastTries = 0;
      return samples;
    } catch (error) {
      this.#pastTries++;
      if (this.#pastTries < PAST_TRIES) {
        this.#knownUntilMs = missing.fromMs;
        return null;
      }
      // No further try: a Prometheus that fails each time would delay each reading. An absence that begins now is read.
      this.#pastTries = 0;
      this.#knownUntilMs = clock();
      const period = `${new Date(missing.fromMs).toISOString()} to ${new Date(missing.untilMs).toISOString()}`;
      const reason = error instanceof Error ? error.message : String(error);
      const text = `values from ${period} are unknown: ${reason}`.slice(0, 500);
      this.#pastProblem = { untilMs: missing.untilMs, text };
      return [];
    }
  }

  #noteMissing(beganMs: number): void {
    const fromMs = Math.max(this.#knownUntilMs ?? beganMs, beganMs - PAST_MS_MAX);
    if (this.target.query !== null && beganMs - fromMs > PAST_INTERVALS_MIN * this.everyMs)
      this.#missing = { fromMs, untilMs: beganMs };
    this.#knownUntilMs = beganMs;
    if (this.#pastProblem !== null && beganMs - this.#pastProblem.untilMs > PAST_STATED_MS) this.#pastProblem = null;
  }

  #enter(state: "up" | "silent", nowMs: number, rest: Partial<TargetState>): void {
    const sinceMs = this.#state.state === state ? this.#state.sinceMs : nowMs;
    this.#state = { ...this.#state, ...rest, state, sinceMs };
  }

  async #outcome(addresses: AddressReader, known: KnownSubjects, clock: () => number): Promise<Outcome> {
    const { query } = this.target;
    const { token, declaration } = this.#source;
    const timeoutMs = ("timeout" in declaration ? declaration.timeout : 10) * 1_000;
    if (query === null) {
      const text = await addresses.read({ url: this.target.url, token, timeoutMs, accept: ACCEPT });
      return this.#fromText(text, clock());
    }
    const url = queryUrl(this.target.url, query.query);
    const text = await addresses.read({ url, token, timeoutMs, accept: "application/json" });
    const outcome = querySamples(text, query, known);
    const { samples, seriesCount, problem } = outcome;
    const atMs = clock();
    this.endpointValues = query.subject === "endpoint" ? endpointValues(outcome) : null;
    return {
      samples: samples.map(({ subject, value }) => ({ subject, atMs, values: { [query.value]: value } })),
      sampleCount: seriesCount,
      valueCount: samples.length,
      problem: seriesCount === 0 ? "the query has an empty result" : problem,
    };
  }

  #fromText(text: string, atMs: number): Outcome {
    this.newest = null;
    const { sampleCount, rejectedCount, firstRejected } = this.#reading.readText(text);
    if (sampleCount === 0 && rejectedCount > 0) throw new Error(`no text of Prometheus: ${firstRejected ?? ""}`);
    let valueCount = 0;
    const samples: SubjectSample[] = [];
    for (const { subject, values } of this.#reading.take(atMs)) {
      const name = this.#subjectOf(subject);
      if (name === null) continue;
      if (subject.kind === "replica") this.newest = values;
      valueCount += Object.keys(values).length;
      samples.push({ subject: name, atMs, values });
    }
    return {
      samples,
      sampleCount,
      valueCount,
      problem: rejectedCount === 0 ? null : `${rejectedCount} lines cannot be read, the first: ${firstRejected ?? ""}`,
    };
  }

  /** The target decides which node or endpoint its readings are about, never its text. */
  #subjectOf({ kind, index }: { readonly kind: string; readonly index: string }): string | null {
    const { node, endpoint, replica, url } = this.target;
    if (kind === "replica") return endpoint === null ? null : `replica:${endpoint}/${replica ?? hostOf(url)}`;
    if (node === null) return null;
    return kind === "node" ? `node:${node}` : acceleratorSubject(node, Number(index));
  }
}

const ENDPOINT = "endpoint:";

function endpointValues({ samples, doubtful }: QueryOutcome): ReadonlyMap<string, number> {
  const values = new Map(samples.map(({ subject, value }) => [subject.slice(ENDPOINT.length), value]));
  for (const subject of doubtful) values.set(subject.slice(ENDPOINT.length), Number.NaN);
  return values;
}
