/** Writes one JSON line per request. Prompts are left out unless the configuration includes them. */
import { createWriteStream, openSync, type WriteStream } from "node:fs";
import type { Chosen } from "@headroom/routing";
import type { ExchangeSummary, LoggedRequest } from "../exchange/runtime.ts";

/** Maximum number of bytes that wait for a slow disk. At the maximum, lines are counted and dropped. */
const BUFFER_BYTES_MAX = 8 * 1024 * 1024;
const PROMPT_BYTES_MAX = 65_536;
/** Time in ms between attempts to open the file again after a write has failed. */
const RETRY_MS = 1000;

/** The numbers that decided the choice of the replica. Loads are in the unit that the pool's policy compares. */
export function decisionOf(decision: Chosen): object {
  return {
    ground: decision.ground,
    candidates: decision.candidateCount,
    replicas: decision.replicaCount,
    load: rounded(decision.load),
    meanLoad: rounded(decision.meanLoad),
    passedOver: decision.overBoundCount,
    cachedTokens: decision.cachedTokens,
    predictedTtftMs: rounded(decision.predictedTtftMs),
    predictedTpotMs: rounded(decision.predictedTpotMs),
    meetSlo: decision.sloCandidateCount,
  };
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 100) / 100;
}

export class AccessLog {
  readonly #file: string;
  /** The stream to the file. Undefined for standard output. */
  #stream: WriteStream | undefined;
  #openedAtMs = 0;
  readonly #hasPrompts: boolean;
  #pending = "";
  #isScheduled = false;
  droppedCount = 0;

  /** `file` is a path, or `-` for standard output. Throws if the file cannot be opened. */
  constructor(file: string, hasPrompts: boolean) {
    this.#file = file;
    this.#hasPrompts = hasPrompts;
    this.#open();
  }

  /**
   * Opens a new file under the log's name, after the old file was renamed. Throws if it cannot be opened; the old file
   * then stays in use.
   */
  reopen(): void {
    this.#flush();
    this.#open();
  }

  write(request: LoggedRequest, summary: ExchangeSummary): void {
    if ((this.#stream ?? process.stdout).writableLength + this.#pending.length > BUFFER_BYTES_MAX) {
      this.droppedCount++;
      return;
    }
    const { record, startedAtMs, firstByteAtMs, endedAtMs, replicaId, isStream, decision, attempts, refusal, urgency } =
      summary;
    const line = {
      at: new Date(startedAtMs).toISOString(),
      id: record.id,
      clientId: request.head.requestId === "" ? undefined : request.head.requestId.slice(0, 128),
      trace: request.traceparent === "" ? undefined : request.traceparent,
      team: record.team,
      key: record.key,
      model: record.model,
      pool: record.pool,
      replica: replicaId,
      overflow: record.overflowReason,
      attempts: attempts.length,
      decision: decision === undefined ? undefined : decisionOf(decision),
      refusal: refusal === undefined ? undefined : { kind: refusal.kind, message: refusal.message },
      operation: record.operation,
      method: refusal === undefined ? undefined : request.method,
      path: refusal === undefined ? undefined : request.path,
      priority: urgency?.priority,
      deadlineMs: urgency?.deadlineMs,
      isStream,
      outcome: record.outcome,
      status: record.status,
      durationMs: Math.round((endedAtMs - startedAtMs) * 100) / 100,
      firstByteMs: firstByteAtMs === 0 ? undefined : Math.round((firstByteAtMs - startedAtMs) * 100) / 100,
      requestBytes: request.bodyBytes,
      promptTokens: record.promptTokens,
      completionTokens: record.completionTokens,
      cachedTokens: record.cachedTokens,
      nanoUsd: record.nanoUsd,
      prompt: this.#hasPrompts ? request.body.subarray(0, PROMPT_BYTES_MAX).toString("utf8") : undefined,
    };
    this.#pending += `${JSON.stringify(line)}\n`;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  close(): void {
    this.#flush();
    this.#stream?.end();
  }

  #open(): void {
    if (this.#file === "-") return;
    this.#openedAtMs = performance.now();
    const stream = createWriteStream("", { fd: openSync(this.#file, "a", 0o600) });
    stream.on("error", () => this.droppedCount++);
    // The old stream writes its remaining lines before it closes.
    this.#stream?.end();
    this.#stream = stream;
  }

  /** Opens the file again: after a failed write, for example on a full disk, a stream accepts nothing more. */
  #openAgain(): void {
    if (this.#stream?.destroyed !== true || performance.now() - this.#openedAtMs < RETRY_MS) return;
    try {
      this.#open();
    } catch {
      // Until the file can be opened, lines are dropped.
    }
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#pending === "") return;
    this.#openAgain();
    (this.#stream ?? process.stdout).write(this.#pending);
    this.#pending = "";
  }
}
