/**
 * Runs batches. Each line becomes a request of the team and counts against the team's limits like any other. Only a few
 * lines run at a time, of all batches together.
 */
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import type { Caller } from "../access/teams.ts";
import { exceedsStructure, type StructureBound } from "../json/scan.ts";
import type { Batch, BatchStatus } from "./entries.ts";
import { answeredIn } from "./result-file.ts";
import type { BatchStore } from "./store.ts";
import { Turns } from "./turns.ts";

export interface BatchResult {
  readonly status: number;
  readonly id: string;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
}

export interface BatchParts {
  readonly store: BatchStore;
  /** Maximum number of lines that run at a time. */
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

/** A batch that this process runs, or will run when there is room. */
interface Job {
  readonly team: string;
  readonly batch: Batch;
  isStarted: boolean;
  /** Ends the waits of lines that will be tried again. */
  readonly over: AbortController;
}

/** A line of a batch, and the files for its answer. */
interface Task {
  readonly line: Line | undefined;
  readonly lineNumber: number;
  readonly output: string;
  readonly errors: string;
}

/**
 * Maximum wait before a request that the team's limits refused is tried again. The tries end at the batch's deadline of
 * a day.
 */
const RETRY_MS_MAX = 30_000;
/** Number of answers between two records of a batch's progress. */
const PROGRESS_EVERY = 20;
/**
 * Maximum number of batches that are in work at a time: each holds its input file open. One team has at most a part of
 * them, because lines that the team's limits refuse can keep a batch for a day.
 */
const BATCHES_MAX = 256;
const TEAM_BATCHES_MAX = 8;
/** Interval in ms at which waiting batches are checked for their deadline. */
const DEADLINE_CHECK_MS = 10_000;

/** The team's files have reached their limit of bytes. */
class StorageFullError extends Error {}
/** A new configuration has no such team. */
class TeamRemovedError extends Error {}

function reasonOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof StorageFullError) {
    const message =
      "The team's files take all their storage. Delete some, and send the requests without an answer again.";
    return { code: "storage_full", message };
  }
  if (error instanceof TeamRemovedError) {
    const message =
      "The gateway's configuration has no keys for the team any more. The answers so far are in the output file.";
    return { code: "team_removed", message };
  }
  if ((error as NodeJS.ErrnoException).code === "ENOENT")
    return { code: "input_file_missing", message: "The input file was deleted." };
  return { code: "internal_error", message: "The files of the batch cannot be read or written." };
}

export class BatchRunner {
  readonly #parts: BatchParts;
  readonly #jobs = new Map<string, Job>();
  readonly #turns: Turns;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: BatchParts) {
    this.#parts = parts;
    this.#turns = new Turns(parts.concurrency);
  }

  /** Continues batches that an earlier process left unfinished, the oldest first. */
  async resume(): Promise<void> {
    const { store } = this.#parts;
    for (const team of await store.teams()) {
      const batches = await store.batches(team);
      for (const batch of batches.toReversed()) {
        if (batch.status === "in_progress" || batch.status === "cancelling") this.start(team, batch);
      }
    }
  }

  start(team: string, batch: Batch): void {
    if (this.#jobs.has(batch.id)) return;
    this.#jobs.set(batch.id, { team, batch, isStarted: false, over: new AbortController() });
    this.#timer ??= setInterval(() => this.#startJobs(), DEADLINE_CHECK_MS).unref();
    this.#startJobs();
  }

  /** Ends a batch. Requests in progress are completed. Returns the batch with its new status. */
  async cancel(team: string, stored: Batch): Promise<Batch> {
    const job = this.#jobs.get(stored.id);
    const batch = job?.batch ?? stored;
    if (batch.status !== "in_progress") return batch;
    batch.status = "cancelling";
    job?.over.abort();
    batch.cancelling_at = Math.floor(this.#parts.now() / 1000);
    await this.#parts.store.saveBatch(team, batch);
    this.#startJobs();
    return batch;
  }

  stop(): void {
    this.#isStopping = true;
    for (const { over } of this.#jobs.values()) over.abort();
    clearInterval(this.#timer);
  }

  /** Starts the waiting batches for which there is room, and those that only have to be ended. */
  #startJobs(): void {
    if (this.#isStopping) return;
    const counts = new Map<string, number>();
    let count = 0;
    for (const { team, isStarted } of this.#jobs.values()) {
      if (!isStarted) continue;
      count++;
      counts.set(team, (counts.get(team) ?? 0) + 1);
    }
    for (const job of this.#jobs.values()) {
      if (job.isStarted) continue;
      const ofTeam = counts.get(job.team) ?? 0;
      const hasRoom = count < BATCHES_MAX && ofTeam < TEAM_BATCHES_MAX;
      if (!hasRoom && !this.#isOver(job.batch)) continue;
      job.isStarted = true;
      count++;
      counts.set(job.team, ofTeam + 1);
      void this.#run(job);
    }
  }

  async #run({ team, batch }: Job): Promise<void> {
    try {
      await this.#work(team, batch);
    } catch (error) {
      await this.#fail(team, batch, error);
    }
    this.#jobs.delete(batch.id);
    this.#startJobs();
  }

  async #fail(team: string, batch: Batch, error: unknown): Promise<void> {
    batch.errors = { object: "list", data: [{ ...reasonOf(error), line: null }] };
    try {
      await this.#finish(team, batch, "failed");
    } catch {
      // Writing to the disk failed. The batch continues when the gateway starts again.
    }
  }

  async #work(team: string, batch: Batch): Promise<void> {
    const { store, concurrency } = this.#parts;
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
    const input = await open(store.contentPath(team, batch.input_file_id), "r");
    for await (const text of createInterface({ input: input.createReadStream() })) {
      if (failure !== undefined || this.#isStopping) break;
      lineNumber++;
      if (text.trim() === "") continue;
      batch.request_counts.total++;
      const line = parsedLine(text);
      if (typeof line?.custom_id === "string" && done.has(line.custom_id)) continue;
      if (batch.status === "cancelling") continue;
      // Lines that wait for a limit count too, so that they do not fill the memory.
      while (active.size >= concurrency) await Promise.race(active);
      const task: Promise<void> = this.#answer(team, batch, { line, lineNumber, output, errors })
        .catch((error: unknown) => {
          failure ??= error instanceof Error ? error : new Error(String(error));
        })
        .then(() => void active.delete(task));
      active.add(task);
    }
    await Promise.all(active);
    if (failure !== undefined) throw failure;
    if (!this.#isStopping) await this.#finish(team, batch, this.#endStatus(batch));
  }

  #isExpired(batch: Batch): boolean {
    return this.#parts.now() / 1000 > batch.expires_at;
  }

  #isOver(batch: Batch): boolean {
    return this.#isStopping || batch.status === "cancelling" || this.#isExpired(batch);
  }

  async #answer(team: string, batch: Batch, task: Task): Promise<void> {
    const { line, lineNumber, output, errors } = task;
    const customId = typeof line?.custom_id === "string" ? line.custom_id : "";
    const rowId = `${batch.id}-${lineNumber}`;
    if (line === undefined || customId === "" || line.url !== batch.endpoint || typeof line.body !== "object") {
      const message = `Line ${lineNumber} needs custom_id, url ${batch.endpoint} and body.`;
      await this.#recordError(team, batch, { errors, rowId, customId, code: "invalid_request", message });
      return;
    }
    const body = Buffer.from(JSON.stringify({ ...line.body, stream: false }));
    for (let waitMs = 500; !this.#isOver(batch); waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
      const result = await this.#turns.run(() => this.#send(team, batch, body));
      if (result === undefined) break;
      if (result.status === 429 || result.status === 503) {
        await this.#wait(batch, Math.min(RETRY_MS_MAX, result.retryAfterMs ?? waitMs));
        continue;
      }
      const isGood = result.status < 400;
      const row = {
        id: result.id,
        custom_id: customId,
        response: { status_code: result.status, request_id: result.id, body: bodyOf(result.body) },
        error: null,
      };
      await this.#record(team, isGood ? output : errors, row);
      if (isGood) batch.request_counts.completed++;
      else batch.request_counts.failed++;
      await this.#saveProgress(team, batch);
      return;
    }
    if (this.#isStopping || batch.status === "cancelling") return;
    const message = "This request could not be executed before the completion window expired.";
    await this.#recordError(team, batch, { errors, rowId, customId, code: "batch_expired", message });
  }

  /** Resolves after the time, or as soon as the batch is cancelled or the runner stops. */
  async #wait(batch: Batch, ms: number): Promise<void> {
    const signal = this.#jobs.get(batch.id)?.over.signal;
    await setTimeout(ms, undefined, { signal }).catch(() => undefined);
  }

  /** Sends the request of a line. Undefined if the batch has ended meanwhile. */
  async #send(team: string, batch: Batch, body: Buffer): Promise<BatchResult | undefined> {
    if (this.#isOver(batch)) return undefined;
    const caller = this.#parts.callerOf(team);
    if (caller === undefined) throw new TeamRemovedError();
    const { data_rules: rules = [] } = batch;
    const marked = rules.length === 0 ? caller : { ...caller, dataRules: [...caller.dataRules, ...rules] };
    return this.#parts.run(marked, batch.endpoint, body);
  }

  async #recordError(
    team: string,
    batch: Batch,
    row: { errors: string; rowId: string; customId: string; code: string; message: string },
  ): Promise<void> {
    const { errors, rowId, customId, code, message } = row;
    await this.#record(team, errors, { id: rowId, custom_id: customId, response: null, error: { code, message } });
    batch.request_counts.failed++;
  }

  async #record(team: string, file: string, row: object): Promise<void> {
    if (!(await this.#parts.store.append(team, file, `${JSON.stringify(row)}\n`))) throw new StorageFullError();
  }

  async #saveProgress(team: string, batch: Batch): Promise<void> {
    const { completed, failed } = batch.request_counts;
    if ((completed + failed) % PROGRESS_EVERY === 0) await this.#parts.store.saveBatch(team, batch);
  }

  /** Publishes the answers so far as files, even for a failed batch, because the team pays for them. */
  async #finish(team: string, batch: Batch, status: EndStatus): Promise<void> {
    const { store, now } = this.#parts;
    const nowMs = now();
    const { output, errors } = this.#resultFiles(team, batch);
    const published = async (file: string, name: string): Promise<string | null> =>
      (await store.publish(team, file, { filename: `${batch.id}_${name}.jsonl`, nowMs }))?.id ?? null;
    batch.output_file_id ??= await published(output, "output");
    batch.error_file_id ??= await published(errors, "error");
    batch.status = status;
    batch[`${status}_at`] = Math.floor(nowMs / 1000);
    await store.saveBatch(team, batch);
    await store.drop(team, output);
    await store.drop(team, errors);
  }

  #endStatus(batch: Batch): EndStatus {
    if (batch.status === "cancelling") return "cancelled";
    return this.#isExpired(batch) ? "expired" : "completed";
  }

  #resultFiles(team: string, { id }: Batch): { readonly output: string; readonly errors: string } {
    const file = this.#parts.store.contentPath(team, id);
    return { output: `${file}.output`, errors: `${file}.errors` };
  }
}

type EndStatus = Extract<BatchStatus, "completed" | "failed" | "expired" | "cancelled">;

/** The answer as JSON. A replica's answer that is not JSON is kept as a text. */
function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A line is built value by value: with a million fields that would take seconds. */
const LINE: StructureBound = { valueCountMax: 50_000, depthMax: 100 };

function parsedLine(text: string): Line | undefined {
  if (exceedsStructure(Buffer.from(text), LINE)) return undefined;
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null ? line : undefined;
  } catch {
    return undefined;
  }
}
