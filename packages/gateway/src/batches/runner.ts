/**
 * Runs batches. Each line becomes a request of the team and counts against the team's limits like any other. Only a few
 * run at a time.
 */
import { createReadStream, openSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Caller } from "../access/teams.ts";
import { answeredIn } from "./result-file.ts";
import type { Batch, BatchStatus, BatchStore } from "./store.ts";

export interface BatchResult {
  readonly status: number;
  readonly id: string;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
}

export interface BatchParts {
  readonly store: BatchStore;
  readonly concurrency: number;
  now(): number;
  callerOf(team: string): Caller | undefined;
  run(caller: Caller, endpoint: string, body: Buffer): Promise<BatchResult>;
}

interface Line {
  readonly custom_id?: unknown;
  readonly url?: unknown;
  readonly body?: unknown;
}

/**
 * Maximum wait before a request that the team's limits refused is tried again. The tries end at the batch's deadline of
 * a day.
 */
const RETRY_MS_MAX = 30_000;
/** Number of answers between two records of a batch's progress. */
const PROGRESS_EVERY = 20;

/** The team's files have reached their limit of bytes. */
class StorageFullError extends Error {}

function reasonOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof StorageFullError) {
    const message =
      "The team's files take all their storage. Delete some, and send the requests without an answer again.";
    return { code: "storage_full", message };
  }
  if ((error as NodeJS.ErrnoException).code === "ENOENT")
    return { code: "input_file_missing", message: "The input file was deleted." };
  return { code: "internal_error", message: "The files of the batch cannot be read or written." };
}

export class BatchRunner {
  readonly #parts: BatchParts;
  readonly #running = new Set<string>();
  readonly #cancelled = new Set<string>();
  #isStopping = false;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** Continues batches that an earlier process left unfinished. */
  resume(): void {
    for (const team of this.#parts.store.teams()) {
      for (const batch of this.#parts.store.batches(team)) {
        if (batch.status === "in_progress" || batch.status === "cancelling") this.start(team, batch);
      }
    }
  }

  start(team: string, batch: Batch): void {
    if (this.#running.has(batch.id)) return;
    this.#running.add(batch.id);
    void this.#work(team, batch)
      .catch((error: unknown) => this.#fail(team, batch, error))
      .finally(() => this.#running.delete(batch.id));
  }

  #fail(team: string, batch: Batch, error: unknown): void {
    batch.errors = { object: "list", data: [{ ...reasonOf(error), line: null }] };
    try {
      this.#finish(team, batch, "failed");
    } catch {
      // Writing to the disk failed. The batch continues when the gateway starts again.
    }
  }

  cancel(team: string, batch: Batch): Batch {
    if (batch.status !== "in_progress") return batch;
    batch.status = "cancelling";
    this.#parts.store.saveBatch(team, batch);
    this.#cancelled.add(batch.id);
    return batch;
  }

  stop(): void {
    this.#isStopping = true;
  }

  async #work(team: string, batch: Batch): Promise<void> {
    const { store } = this.#parts;
    const { output, errors } = this.#resultFiles(team, batch);
    const completed = await answeredIn(output);
    const failed = await answeredIn(errors);
    const done = new Set([...completed, ...failed]);
    batch.request_counts = { total: 0, completed: completed.length, failed: failed.length };
    const active = new Set<Promise<void>>();
    let lineNumber = 0;
    let failure: Error | undefined;
    // The file is opened here: if a stream could not open it, the error would be an event that `createInterface` does
    // not handle.
    const fd = openSync(store.contentPath(team, batch.input_file_id), "r");
    for await (const text of createInterface({ input: createReadStream("", { fd }) })) {
      if (failure !== undefined) break;
      lineNumber++;
      if (text.trim() === "") continue;
      batch.request_counts.total++;
      const line = parsedLine(text);
      if (typeof line?.custom_id === "string" && done.has(line.custom_id)) continue;
      if (this.#isOver(batch)) continue;
      while (active.size >= this.#parts.concurrency) await Promise.race(active);
      const task: Promise<void> = this.#answer(team, batch, { line, lineNumber, output, errors })
        .catch((error: unknown) => {
          failure ??= error instanceof Error ? error : new Error(String(error));
        })
        .then(() => void active.delete(task));
      active.add(task);
    }
    await Promise.all(active);
    if (failure !== undefined) throw failure;
    if (!this.#isStopping) this.#finish(team, batch, this.#endStatus(batch));
  }

  #isOver(batch: Batch): boolean {
    return (
      this.#isStopping ||
      this.#cancelled.has(batch.id) ||
      batch.status === "cancelling" ||
      this.#parts.now() / 1000 > batch.expires_at
    );
  }

  async #answer(
    team: string,
    batch: Batch,
    {
      line,
      lineNumber,
      output,
      errors,
    }: { line: Line | undefined; lineNumber: number; output: string; errors: string },
  ): Promise<void> {
    const customId = typeof line?.custom_id === "string" ? line.custom_id : "";
    if (line === undefined || customId === "" || line.url !== batch.endpoint || typeof line.body !== "object") {
      const message = `Line ${lineNumber} needs custom_id, url ${batch.endpoint} and body.`;
      const row = { id: `${batch.id}-${lineNumber}`, custom_id: customId, response: null };
      this.#record(team, errors, { ...row, error: { code: "invalid_request", message } });
      batch.request_counts.failed++;
      return;
    }
    const body = Buffer.from(JSON.stringify({ ...line.body, stream: false }));
    for (let waitMs = 500; !this.#isOver(batch); waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
      const caller = this.#parts.callerOf(team);
      if (caller === undefined) return;
      const result = await this.#parts.run(caller, batch.endpoint, body);
      if (result.status === 429 || result.status === 503) {
        await new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS_MAX, result.retryAfterMs ?? waitMs)));
        continue;
      }
      const isGood = result.status < 400;
      const row = {
        id: result.id,
        custom_id: customId,
        response: { status_code: result.status, request_id: result.id, body: bodyOf(result.body) },
        error: null,
      };
      this.#record(team, isGood ? output : errors, row);
      if (isGood) batch.request_counts.completed++;
      else batch.request_counts.failed++;
      this.#saveProgress(team, batch);
      return;
    }
  }

  #record(team: string, file: string, row: object): void {
    if (!this.#parts.store.append(team, file, `${JSON.stringify(row)}\n`)) throw new StorageFullError();
  }

  #saveProgress(team: string, batch: Batch): void {
    const { completed, failed } = batch.request_counts;
    if ((completed + failed) % PROGRESS_EVERY !== 0) return;
    if (this.#cancelled.has(batch.id)) batch.status = "cancelling";
    this.#parts.store.saveBatch(team, batch);
  }

  /** Publishes the answers so far as files, even for a failed batch, because the team pays for them. */
  #finish(team: string, batch: Batch, status: BatchStatus): void {
    const { store, now } = this.#parts;
    const nowMs = now();
    const { output, errors } = this.#resultFiles(team, batch);
    const published = (file: string, name: string): string | null =>
      store.publish(team, file, { filename: `${batch.id}_${name}.jsonl`, nowMs })?.id ?? null;
    batch.output_file_id ??= published(output, "output");
    batch.error_file_id ??= published(errors, "error");
    batch.status = status;
    batch.completed_at = Math.floor(nowMs / 1000);
    this.#cancelled.delete(batch.id);
    store.saveBatch(team, batch);
    store.drop(team, output);
    store.drop(team, errors);
  }

  #endStatus(batch: Batch): BatchStatus {
    if (this.#cancelled.has(batch.id) || batch.status === "cancelling") return "cancelled";
    return this.#parts.now() / 1000 > batch.expires_at ? "expired" : "completed";
  }

  #resultFiles(team: string, { id }: Batch): { readonly output: string; readonly errors: string } {
    const file = this.#parts.store.contentPath(team, id);
    return { output: `${file}.output`, errors: `${file}.errors` };
  }
}

/** The answer as JSON. A replica's answer that is not JSON is kept as a text. */
function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function parsedLine(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? line : undefined;
  } catch {
    return undefined;
  }
}
