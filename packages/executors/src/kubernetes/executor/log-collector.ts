/**
 * Copies the log of one pod into the log files of the attempt while the pod runs, because Kubernetes removes it with the pod. The kubelet
 * does not tell standard output and error apart, so both are the stream `stdout`.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { LogLimits } from "../../job-protocol/attempt-records.ts";
import { isMissing } from "../../job-protocol/attempt-files.ts";
import { LogWriter } from "../../job-protocol/log-writer.ts";
import { pause } from "../api/pause.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { LogLine, LogPlace } from "./log-lines.ts";
import { LOG_START, LogLines, sinceTimeOf } from "./log-lines.ts";

export interface CollectorSetup {
  readonly api: Pick<PodApi, "logs">;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Directory of the worker's log files. */
  readonly workerDir: string;
  readonly limits: LogLimits;
  /** Data rule because of which the lines stay in the cluster; reports come all the same. `null`: the lines are kept. */
  readonly rule: string | null;
  /** File for progress reports among the lines of the log. `null`: reports have a file of their own. */
  readonly progressFile: string | null;
}

/** The place in the log of the kubelet, and the bytes that were written until there. */
interface Cursor extends LogPlace {
  readonly bytes: number;
}

const CURSOR_FILE = "kubernetes-log.json";
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 5_000;
/** Time in ms after the end of a pod within which the rest of its log must come. */
const REST_TIMEOUT_MS = 15_000;
/** Lines within this time have the time of the first one. */
const TIME_STEP_MS = 5;
/** A report as the job protocol has it. Without a shared directory, workers write reports into the log. */
const REPORT = /^\{\s*"kind"\s*:\s*"(?:progress|step|utilization|checkpoint|artifact)"/;

/** The rule because of which the log of work stays in its cluster; `null`: it may be kept here. `logRules`: of the settings. */
export const logRuleOf = (rule: string | undefined, logRules: readonly string[]): string | null =>
  rule === undefined || logRules.includes(rule) ? null : rule;

export class LogCollector {
  readonly #setup: CollectorSetup;
  readonly #closed = new AbortController();
  readonly #writer: LogWriter;
  #cursor: Cursor;
  /** Bytes of the log that are in the files already, although the cursor does not say so. */
  #surplus: number;
  readonly #over = new AbortController();
  readonly #running: Promise<void>;

  constructor(setup: CollectorSetup) {
    this.#setup = setup;
    this.#writer = new LogWriter(setup.workerDir, "stdout", setup.limits);
    this.#cursor = readCursor(setup.workerDir);
    this.#surplus = Math.max(0, this.#writer.nextByte - this.#cursor.bytes);
    this.#noteRule();
    this.#running = this.#run();
  }

  /** Resolves when the rest of the log is written, or does not come in time. Call it when the pod has ended. */
  async drain(): Promise<void> {
    this.#over.abort();
    const timer = setTimeout(() => this.#closed.abort(), REST_TIMEOUT_MS);
    await this.#running;
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  /** Written once, in the place of the lines. */
  #noteRule(): void {
    const { rule, namespace, pod } = this.#setup;
    if (rule === null || this.#writer.nextByte > 0) return;
    const text = `The log stays in its cluster, because the data of the work has the rule ${rule}: kubectl logs -n ${namespace} ${pod}. To keep it here, add the rule to logRules of the executor.\n`;
    this.#writer.write(Buffer.from(text), Date.now());
    this.#surplus = 0;
    this.#cursor = { ...this.#cursor, bytes: this.#writer.nextByte };
  }

  async #run(): Promise<void> {
    let retryMs = RETRY_FIRST_MS;
    try {
      for (;;) {
        // A log that ends before its pod is over was cut off, or rotated away under its reader.
        const isLast = this.#over.signal.aborted;
        const { time, lines } = this.#cursor;
        const isWhole = await this.#follow().catch(() => false);
        if (this.#closed.signal.aborted || (isWhole && isLast)) return;
        const wake = isLast ? this.#closed.signal : AbortSignal.any([this.#closed.signal, this.#over.signal]);
        await pause(retryMs, wake);
        // A kubelet that cannot read a log answers with a message of its own, and ends.
        const hasGrown = time !== this.#cursor.time || lines !== this.#cursor.lines;
        retryMs = isWhole && hasGrown ? RETRY_FIRST_MS : Math.min(retryMs * 2, RETRY_MAX_MS);
      }
    } finally {
      this.#writer.close();
    }
  }

  /** Returns whether the log came to its end. */
  async #follow(): Promise<boolean> {
    const { api, namespace, pod, container } = this.#setup;
    const lines = new LogLines(this.#cursor);
    const query = { container, sinceTime: sinceTimeOf(this.#cursor) };
    const response = await api.logs(namespace, pod, query, this.#closed.signal);
    for await (const piece of response as AsyncIterable<Buffer>) this.#write(lines.push(piece), lines.place);
    if (!response.complete) return false;
    this.#write(lines.end(), lines.place);
    return true;
  }

  #write(lines: readonly LogLine[], place: LogPlace): void {
    let run: Buffer[] = [];
    let runAtMs: number | null = null;
    const flush = (): void => {
      if (run.length > 0) this.#append(Buffer.concat(run), runAtMs ?? Date.now());
      run = [];
      runAtMs = null;
    };
    for (const { text, atMs } of lines) {
      if (this.#isReport(text) || this.#setup.rule !== null) continue;
      if (atMs !== null && runAtMs !== null && Math.abs(atMs - runAtMs) >= TIME_STEP_MS) flush();
      run.push(text);
      runAtMs ??= atMs;
    }
    flush();
    if (lines.length === 0) return;
    this.#cursor = { ...place, bytes: this.#writer.nextByte };
    writeCursor(this.#setup.workerDir, this.#cursor);
  }

  #append(text: Buffer, atMs: number): void {
    const skipped = Math.min(this.#surplus, text.length);
    this.#surplus -= skipped;
    if (skipped < text.length) this.#writer.write(text.subarray(skipped), atMs);
  }

  #isReport(text: Buffer): boolean {
    const { progressFile } = this.#setup;
    if (progressFile === null || text[0] !== BRACE || !REPORT.test(text.toString("utf8", 0, 64))) return false;
    appendFileSync(progressFile, text);
    return true;
  }
}

const BRACE = 0x7b;

function readCursor(directory: string): Cursor {
  try {
    const { time, lines, bytes } = JSON.parse(
      readFileSync(path.join(directory, CURSOR_FILE), "utf8"),
    ) as Partial<Cursor>;
    if (typeof time === "string" && typeof lines === "number" && typeof bytes === "number")
      return { time, lines, bytes };
  } catch (error) {
    if (!isMissing(error) && !(error instanceof SyntaxError)) throw error;
  }
  return { ...LOG_START, bytes: 0 };
}

function writeCursor(directory: string, cursor: Cursor): void {
  const file = path.join(directory, CURSOR_FILE);
  try {
    writeFileSync(`${file}.new`, JSON.stringify(cursor), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // A full disk costs a repeated line after a restart, but does not disturb the copy.
  }
}
