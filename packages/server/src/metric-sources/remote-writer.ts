/**
 * Writes the control plane's metrics and series to a Prometheus, in the telemetry thread. Requests wait in a bounded queue and are
 * sent one after the other, so that samples stay in order. https://prometheus.io/docs/specs/prw/remote_write_spec/
 */
import { readExposition, writeRequest } from "@headroom/metrics";
import type { Labels, WrittenSeries } from "@headroom/metrics";
import type { SubjectSample } from "@headroom/views";
import { shortText } from "./short-text.ts";

/** The default of Prometheus for one request. */
const SAMPLES_PER_REQUEST = 2_000;
/** Requests that wait: about 1,000,000 samples, or 60 MB. Beyond it the oldest are dropped and counted. */
const QUEUE_MAX = 500;
/** Label of what `/metrics` has, so that a Prometheus that also scrapes it does not count twice. */
const TEXT_JOB = "headroom-remote";
/** Series whose newest time is kept. */
const SERIES_MAX = 1_000_000;
const SEND_TIMEOUT_MS = 30_000;
const PAUSE_LEAST_MS = 1_000;
const PAUSE_MOST_MS = 60_000;
const SHOWN_CHARS_MAX = 300;
/** Time in ms for the last requests when the control plane stops. */
const CLOSE_MS = 2_000;

export interface RemoteWriteTarget {
  readonly url: string;
  /** Bearer token; `null`: none. */
  readonly token: string | null;
}

export interface RemoteWriteState {
  readonly url: string;
  readonly sentCount: number;
  readonly droppedCount: number;
  readonly queuedCount: number;
  readonly sentAtMs: number | null;
  readonly problem: string | null;
}

interface WriteBatch {
  readonly body: Uint8Array;
  readonly sampleCount: number;
}

export class RemoteWriter {
  readonly #target: RemoteWriteTarget;
  readonly #nowMs: () => number;
  readonly #queue: WriteBatch[] = [];
  #waiting: WrittenSeries[] = [];
  /** Newest time of each series of a subject, because a receiver refuses requests with samples out of order. */
  readonly #newest = new Map<string, number>();
  readonly #closing = new AbortController();
  #isSending = false;
  #pauseMs = 0;
  #resumeAtMs = 0;
  #state = { sentCount: 0, droppedCount: 0, sentAtMs: null as number | null, problem: null as string | null };

  constructor(target: RemoteWriteTarget, nowMs: () => number) {
    this.#target = target;
    this.#nowMs = nowMs;
  }

  get state(): RemoteWriteState {
    const queued = this.#queue.reduce((sum, { sampleCount }) => sum + sampleCount, this.#waiting.length);
    return { url: this.#target.url, ...this.#state, queuedCount: queued };
  }

  /** Adds the text of `/metrics`. */
  addText(text: string, atMs: number, instance: string): void {
    readExposition<string>(text, {
      wanted: (metric) => metric,
      sample: (metric, labels, value) => {
        this.#add({ __name__: metric, job: TEXT_JOB, instance, ...labels }, value, atMs);
      },
    });
  }

  /** Adds samples of subjects, each as `headroom_series_NAME{kind, subject}`. */
  addSubjects(samples: readonly SubjectSample[]): void {
    for (const { subject, atMs, values } of samples) {
      const at = subject.indexOf(":");
      const kind = at === -1 ? subject : subject.slice(0, at);
      const id = at === -1 ? "" : subject.slice(at + 1);
      for (const name in values) {
        if (!this.#isNew(`${subject} ${name}`, atMs)) continue;
        const metric = `headroom_series_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
        this.#add({ __name__: metric, job: "headroom", kind, subject: id }, values[name] ?? 0, atMs);
      }
    }
  }

  /** Sends what waits. Called often; it does nothing while a request is on its way or a pause lasts. */
  async flush(): Promise<void> {
    this.#close();
    const pauseMs = this.#resumeAtMs - this.#nowMs();
    // A pause that is longer than the longest one began before the clock was set back.
    if (this.#isSending || (pauseMs > 0 && pauseMs <= PAUSE_MOST_MS)) return;
    this.#isSending = true;
    try {
      for (let batch = this.#queue[0]; batch !== undefined; batch = this.#queue[0]) {
        const problem = await this.#send(batch.body);
        if (problem === null) {
          this.#pauseMs = 0;
          this.#state = {
            ...this.#state,
            sentCount: this.#state.sentCount + batch.sampleCount,
            sentAtMs: this.#nowMs(),
            problem: null,
          };
        } else if (problem.isFinal) this.#drop(batch, problem.text);
        else {
          this.#pauseMs = Math.min(PAUSE_MOST_MS, Math.max(PAUSE_LEAST_MS, this.#pauseMs * 2));
          this.#resumeAtMs = this.#nowMs() + this.#pauseMs;
          this.#state = { ...this.#state, problem: problem.text };
          return;
        }
        // A full queue may have dropped the batch meanwhile.
        if (this.#queue[0] === batch) this.#queue.shift();
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Gives up what is not sent soon, so that a slow receiver does not delay the end of the control plane. */
  close(): void {
    setTimeout(() => this.#closing.abort(), CLOSE_MS).unref();
  }

  /** False: another source gave a later sample of the value already. */
  #isNew(key: string, atMs: number): boolean {
    const newest = this.#newest.get(key);
    if (newest !== undefined && newest >= atMs) return false;
    if (newest !== undefined || this.#newest.size < SERIES_MAX) this.#newest.set(key, atMs);
    return true;
  }

  #add(labels: Labels, value: number, atMs: number): void {
    this.#waiting.push({ labels, samples: [{ value, atMs }] });
    if (this.#waiting.length >= SAMPLES_PER_REQUEST) this.#close();
  }

  #close(): void {
    if (this.#waiting.length === 0) return;
    this.#queue.push({ body: writeRequest(this.#waiting), sampleCount: this.#waiting.length });
    this.#waiting = [];
    while (this.#queue.length > QUEUE_MAX) {
      const [oldest] = this.#queue.splice(0, 1);
      if (oldest !== undefined) this.#drop(oldest, this.#state.problem ?? "the receiver is too slow");
    }
  }

  #drop({ sampleCount }: WriteBatch, problem: string): void {
    this.#state = { ...this.#state, droppedCount: this.#state.droppedCount + sampleCount, problem };
  }

  /** `isFinal`: the same request would be refused again, as the specification says of answers with 4xx but 429. */
  async #send(body: Uint8Array): Promise<{ readonly text: string; readonly isFinal: boolean } | null> {
    const { url, token } = this.#target;
    try {
      const response = await fetch(url, {
        method: "POST",
        redirect: "error",
        headers: {
          "content-type": "application/x-protobuf",
          "content-encoding": "snappy",
          "x-prometheus-remote-write-version": "0.1.0",
          "user-agent": "headroom",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: new Uint8Array(body),
        signal: AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), this.#closing.signal]),
      });
      const text = (await shortText(response, SHOWN_CHARS_MAX)).trim();
      if (response.ok) return null;
      const isFinal = response.status >= 400 && response.status < 500 && response.status !== 429;
      return { text: `HTTP ${response.status}: ${text}`, isFinal };
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { text: cause instanceof Error ? cause.message : String(cause), isFinal: false };
    }
  }
}
