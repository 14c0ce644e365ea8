/**
 * Telemetry of attempts: the newest reports in memory, everything else rolled up in a store on a separate thread.
 * Failures never stop the control plane: an unusable store is created again, an ended thread is started again, and both
 * are logged.
 */
import type { Attempt, AttemptId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { ThreadCalls } from "@headroom/platform";
import { refuse } from "@headroom/protocol";
import type { ProblemError } from "@headroom/protocol";
import type { AcceleratorHistory, AttemptMetrics, Page, SubjectSeries } from "@headroom/protocol";
import { NewestReports } from "@headroom/views";
import type { NewestReport, SubjectSample, TelemetrySample } from "@headroom/views";
import type { NodeReadings } from "@headroom/protocol";
import type { RemoteWriteState, RemoteWriteTarget } from "../metric-sources/remote-writer.ts";
import type { FollowedValue, TargetCounts, TargetPlan, TargetState } from "../metric-sources/target-messages.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { TelemetrySink } from "../driver/signal-gate.ts";
import type { MeasuredUntil } from "./accelerator-sampler.ts";
import type {
  AttemptSample,
  MetricsRequest,
  PeerComparison,
  ReadingsRequest,
  SeriesRequest,
  TelemetryAnswer,
  TelemetryRequest,
  TelemetryRules,
  TelemetryThreadData,
} from "./telemetry-messages.ts";

/** The age limit is the same as for ended attempts' files. 1 GiB holds the series of about 60,000 attempts. */
export const telemetryDefaults: TelemetryRules = { keptMs: 30 * 86_400_000, bytesMax: 1024 ** 3 };

/** Interval in ms at which gathered reports are sent to the thread, in one message for a thousand of them. */
const SEND_EVERY_MS = 200;
const FLUSH_EVERY_MS = 1_000;
/**
 * Maximum number of reports that wait for the thread: 20 s of reports from 10,000 attempts that report every two
 * seconds.
 */
const WAITING_MAX = 100_000;
/** Maximum number of reports in one message: copying them takes a few milliseconds of the event loop. */
const SENT_AT_ONCE = 2_000;
const RESTARTS_MAX = 10;
/** Heap of the thread in MiB. The largest body of OTLP takes less than 400. */
const HEAP_MIB_MAX = 2_048;
const NEWEST_AT_ONCE = 500;
/** Time in ms for which a comparison of peers is the answer: means of an hour change little in it. */
const PEERS_EVERY_MS = 2_000;
/** Maximum number of remote writes that wait for the thread. Prometheus sends again what was refused for overload. */
const WRITES_MAX = 64;

export interface TelemetryOptions {
  readonly file: string;
  readonly rules: TelemetryRules;
  /** True: a journal exists, so a store should exist too, and a missing store is logged. */
  readonly isExpected: boolean;
  readonly log: DriverLog;
  nowMs(): number;
}

export interface SourceStates {
  readonly targets: readonly TargetState[];
  /** `null`: nothing is written anywhere. */
  readonly remoteWrite: RemoteWriteState | null;
}

type StoreThread = ThreadCalls<TelemetryRequest, TelemetryAnswer>;

export class Telemetry implements TelemetrySink {
  readonly newest = new NewestReports();
  /** Attempts whose own utilization reports are ignored, because the readings of their accelerators count instead. */
  readonly measured: MeasuredUntil = new Map();
  readonly #options: TelemetryOptions;
  #thread: StoreThread | null;
  #waiting: AttemptSample[] = [];
  #isSending = false;
  #isClosed = false;
  #restartCount = 0;
  #droppedCount = 0;
  #writeCount = 0;
  #bytes = 0;
  readonly #sender: NodeJS.Timeout;
  readonly #flusher: NodeJS.Timeout;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#thread = this.#start();
    this.#sender = setInterval(() => void this.#send(), SEND_EVERY_MS);
    this.#flusher = setInterval(() => void this.#flush(false), FLUSH_EVERY_MS);
    this.#sender.unref();
    this.#flusher.unref();
  }

  /** Called with readings of accelerators by exporters. */
  onReadings: (readings: readonly NodeReadings[]) => void = () => undefined;
  /** Called with values of metric sources that endpoints follow. */
  onFollowed: (values: readonly FollowedValue[]) => void = () => undefined;
  #plan: TargetPlan | null = null;
  #exported: RemoteWriteTarget | null = null;
  #peers: { readonly atMs: number; readonly answer: Promise<TelemetryAnswer | null> } | null = null;

  /** Replaces the targets of metric sources that the thread reads. */
  setTargets(plan: TargetPlan): void {
    this.#plan = plan;
    void this.#call({ kind: "targets", plan });
  }

  /** Writes metrics and series to this receiver from now on. */
  setExport(target: RemoteWriteTarget): void {
    this.#exported = target;
    void this.#call({ kind: "export", target });
  }

  exportText(text: string, atMs: number, instance: string): void {
    void this.#call({ kind: "exportText", text, atMs, instance });
  }

  /** Takes the body of a remote write or of OTLP. Throws `overloaded` if the thread cannot take it now. */
  async write(
    request: TelemetryRequest & { readonly kind: "write" | "writeOtlp" },
  ): Promise<NonNullable<TelemetryAnswer["write"]>> {
    if (this.#writeCount >= WRITES_MAX) throw refuse("overloaded", "Too many writes wait; try again in a moment.");
    this.#writeCount++;
    const answer = await this.#call(request);
    this.#writeCount--;
    if (answer?.write === undefined) throw restarting();
    return answer.write;
  }

  /** States of the targets and of the receiver. Throws `overloaded` if the thread cannot be asked now. */
  async targetStates(): Promise<SourceStates> {
    const answer = await this.#call({ kind: "targetStates" });
    if (answer?.targets === undefined) throw restarting();
    return { targets: answer.targets, remoteWrite: answer.remoteWrite ?? null };
  }

  /** Numbers of targets by source and state. Throws `overloaded` if the thread cannot be asked now. */
  async targetCounts(): Promise<TargetCounts> {
    const answer = await this.#call({ kind: "targetCounts" });
    if (answer?.targetCounts === undefined) throw restarting();
    return answer.targetCounts;
  }

  /** Compares nodes and accelerators with their sets, by node. Throws `overloaded` if the thread cannot be asked now. */
  async comparePeers(sets: ReadonlyMap<string, string>): Promise<PeerComparison> {
    const nowMs = this.#options.nowMs();
    // Any number of readers cost one comparison.
    if (this.#peers === null || Math.abs(nowMs - this.#peers.atMs) > PEERS_EVERY_MS)
      this.#peers = { atMs: nowMs, answer: this.#call({ kind: "peers", sets, nowMs }) };
    const answer = await this.#peers.answer;
    if (answer?.peers !== undefined) return answer.peers;
    this.#peers = null;
    throw restarting();
  }

  /** Number of reports that were not stored because too many waited or the thread had ended. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  /** Size of the stored data in bytes at the last flush. */
  get bytes(): number {
    return this.#bytes;
  }

  record({ id, workloadId }: Attempt, sample: TelemetrySample, state: ReadonlyState): NewestReport {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push([id, workloadId, sample]);
    else this.#droppedCount++;
    return this.newest.record(id, sample, state);
  }

  isMeasured(id: AttemptId): boolean {
    return (this.measured.get(id) ?? 0) >= this.#options.nowMs();
  }

  /** Sends samples to the store at once. They arrive together, a few times a minute. */
  recordSubjects(samples: readonly SubjectSample[]): void {
    for (let from = 0; from < samples.length; from += SENT_AT_ONCE)
      void this.#call({ kind: "addSubjects", samples: samples.slice(from, from + SENT_AT_ONCE) });
  }

  /** Throws `overloaded` if the store cannot be read now. */
  async series(request: SeriesRequest): Promise<SubjectSeries> {
    const answer = await this.#call({ kind: "series", request });
    if (answer?.series === undefined) throw restarting();
    return answer.series;
  }

  /** Throws `overloaded` if the store cannot be read now. */
  async readings(request: ReadingsRequest): Promise<readonly AcceleratorHistory[]> {
    const answer = await this.#call({ kind: "readings", request });
    if (answer?.history === undefined) throw restarting();
    return answer.history;
  }

  /** Restores the newest reports of running attempts from before the restart. */
  async restore(ids: readonly AttemptId[]): Promise<void> {
    for (let from = 0; from < ids.length; from += NEWEST_AT_ONCE) {
      const attemptIds = ids.slice(from, from + NEWEST_AT_ONCE);
      const answer = await this.#call({ kind: "newest", attemptIds });
      for (const [id, newest] of answer?.newest ?? []) this.newest.restore(id, newest);
    }
  }

  /** Throws `overloaded` if the store cannot be read now. */
  async read(request: MetricsRequest): Promise<Page<AttemptMetrics>> {
    await this.#send();
    const answer = await this.#call({ kind: "read", request });
    if (answer?.page === undefined) throw restarting();
    return answer.page;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    clearInterval(this.#sender);
    clearInterval(this.#flusher);
    while (this.#waiting.length > 0 && this.#thread !== null) await this.#send();
    await this.#flush(true);
    this.#isClosed = true;
    await this.#call({ kind: "close" });
    await this.#thread?.ended();
  }

  /** Sends one message at a time. Reports for a slow disk wait here, where their number is limited. */
  async #send(): Promise<void> {
    if (this.#isSending || this.#waiting.length === 0) return;
    this.#isSending = true;
    const samples = this.#waiting.splice(0, SENT_AT_ONCE);
    const answer = await this.#call({ kind: "add", samples });
    if (answer === null) this.#droppedCount += samples.length;
    this.#isSending = false;
  }

  async #flush(all: boolean): Promise<void> {
    const answer = await this.#call({ kind: "flush", nowMs: this.#options.nowMs(), all });
    if (answer === null) return;
    this.#bytes = answer.bytes;
    if (answer.followed !== undefined && answer.followed.length > 0) this.onFollowed(answer.followed);
    if (answer.readings !== undefined && answer.readings.length > 0) this.onReadings(answer.readings);
  }

  /** Calls the thread; `null`: the thread has ended. */
  async #call(request: TelemetryRequest): Promise<TelemetryAnswer | null> {
    const thread = this.#thread;
    if (thread === null) return null;
    try {
      const answer = await thread.call(request);
      for (const problem of answer.problems) this.#options.log.warn(problem);
      return answer;
    } catch (error) {
      if (this.#thread === thread) this.#replace(error);
      return null;
    }
  }

  #replace(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const isLast = this.#isClosed || ++this.#restartCount > RESTARTS_MAX;
    this.#thread = isLast ? null : this.#start();
    if (this.#plan !== null) this.setTargets(this.#plan);
    if (this.#exported !== null) this.setExport(this.#exported);
    if (this.#isClosed) return;
    const then = isLast ? "reports are no longer stored until the next start" : "it is started again";
    this.#options.log.warn(`the telemetry store ended (${reason}); ${then}`);
  }

  #start(): StoreThread {
    const { file, rules, isExpected } = this.#options;
    const data: TelemetryThreadData = { file, rules, isExpected };
    const thread = new URL("./telemetry-thread.ts", import.meta.url);
    return new ThreadCalls<TelemetryRequest, TelemetryAnswer>(thread, data, HEAP_MIB_MAX);
  }
}

const restarting = (): ProblemError =>
  refuse("overloaded", "The telemetry store is being started again; try again in a moment.");
