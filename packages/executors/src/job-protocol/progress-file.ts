/**
 * Reads the progress file that workers append to, in pieces of limited size. The file has one JSON object on each line;
 * malformed lines are skipped and counted.
 */
import type { Stats } from "node:fs";
import { closeSync, fstatSync, lstatSync, read } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { ARTIFACT_FIELDS_MAX } from "@headroom/model";
import type { AttemptId, Signal } from "@headroom/model";
import { z } from "zod";
import type { ArtifactLine } from "./made-artifacts.ts";
import { RejectedLines, problemOf } from "./rejected-lines.ts";
import { inDirectory, openRegular } from "./untrusted-files.ts";
import { WorkerUtilization } from "./worker-utilization.ts";

/** Maximum length of a line. A line with a few metrics has some hundred bytes. */
const LINE_MAX_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;
/**
 * Maximum number of bytes of one read, so that a workload that writes without end does not keep the control plane busy.
 */
const READ_MAX_BYTES = 1024 * 1024;
/**
 * Number of pieces that the end of an attempt waits for, before it passes over to the last one. A job that reports much
 * writes some KiB a second; a sparse file of many terabytes, or a file that still grows, must not hold up the end.
 */
const LAST_PIECES_MAX = 8;
const METRICS_MAX = 32;
const TEXT_MAX = 1024;
/** Length of the name of a metric or parameter of an artifact. */
const NAME_MAX = 128;
/** Limits of ranks and accelerators: the largest gang, and the largest node. */
const WORKER_MAX = 20_000;
const ACCELERATORS_MAX = 1024;
/** A day. */
const STEP_SECONDS_MAX = 86_400;
/** Parts of a step that a worker states. */
const PARTS_MAX = 8;
const NEWLINE = 10;
const tooLong = `longer than ${LINE_MAX_BYTES} bytes`;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const progressLine = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("progress"),
    step: count,
    totalSteps: count.nullish(),
    metrics: z
      .record(z.string().min(1).max(64), z.number())
      .refine((metrics) => Object.keys(metrics).length <= METRICS_MAX, `at most ${METRICS_MAX} metrics`)
      .optional(),
  }),
  z.object({
    kind: z.literal("step"),
    worker: count.max(WORKER_MAX).optional(),
    step: count,
    seconds: z.number().positive().max(STEP_SECONDS_MAX),
    parts: z
      .record(z.string().regex(/^[A-Za-z][\w-]{0,31}$/), z.number().min(0).max(STEP_SECONDS_MAX))
      .refine((parts) => Object.keys(parts).length <= PARTS_MAX, `at most ${PARTS_MAX} parts`)
      .optional(),
  }),
  z.object({
    kind: z.literal("utilization"),
    worker: count.max(WORKER_MAX).optional(),
    accelerators: z
      .array(
        z.object({
          busy: z.number().min(0).max(1),
          memoryMib: count.optional(),
          capacityMib: count.optional(),
        }),
      )
      .min(1)
      .max(ACCELERATORS_MAX),
  }),
  z.object({
    kind: z.literal("checkpoint"),
    step: count,
    path: z.string().min(1).max(TEXT_MAX),
    metrics: z.record(z.string().max(NAME_MAX), z.number()).refine(withinFields).optional(),
  }),
  z.object({
    kind: z.literal("artifact"),
    name: z.string().min(1).max(TEXT_MAX),
    path: z.string().min(1).max(TEXT_MAX),
    metrics: z.record(z.string().max(NAME_MAX), z.number()).refine(withinFields).optional(),
    parameters: z.record(z.string().max(NAME_MAX), z.string().max(TEXT_MAX)).refine(withinFields).optional(),
  }),
]);

/** Metrics or parameters of one artifact. */
function withinFields(fields: object): boolean {
  return Object.keys(fields).length <= ARTIFACT_FIELDS_MAX;
}

export interface ProgressNews {
  /** The newest progress report in the piece. Earlier ones are out of date. */
  readonly progress: Extract<Signal, { kind: "progressReported" }> | null;
  readonly checkpoints: readonly Extract<Signal, { kind: "checkpointReported" }>[];
  /** Utilization of all workers, with the newest report of each; `null`: there is no new report. */
  readonly utilization: Extract<Signal, { kind: "utilizationReported" }> | null;
  readonly artifacts: readonly ArtifactLine[];
  /** Step times of workers in the piece; `null`: there are none. */
  readonly stepTimes: Extract<Signal, { kind: "stepTimesReported" }> | null;
  /** All malformed lines so far; `null`: there were none since the last call. */
  readonly rejected: Extract<Signal, { kind: "linesRejected" }> | null;
}

/** Reports collected from one piece of the file. */
interface Gathered {
  progress: ProgressNews["progress"];
  hasUtilization: boolean;
  readonly checkpoints: Extract<Signal, { kind: "checkpointReported" }>[];
  readonly artifacts: ArtifactLine[];
  readonly stepTimes: Extract<Signal, { kind: "stepTimesReported" }>["times"][number][];
}

interface Identity {
  readonly attemptId: AttemptId;
  /** Directory that relative checkpoint paths start from. */
  readonly checkpointDir: string;
  /** Directory that other relative paths start from. */
  readonly workingDir: string;
  /** Number of workers that share the file. */
  readonly workerCount: number;
}

const readAt = promisify(read);

export class ProgressFile {
  readonly #file: string;
  /** The directory of the attempt's job, and the trusted directory that it is in. */
  readonly #jobName: string;
  readonly #workRoot: string;
  readonly #attemptId: AttemptId;
  readonly #checkpointDir: string;
  readonly #workingDir: string;
  #offset = 0;
  /** Bytes that were read after the last newline. */
  #unfinished: Buffer = Buffer.alloc(0);
  /** True while reading a line that is too long. It is ignored up to its end. */
  #skipping = false;
  readonly #rejected: RejectedLines;
  readonly #utilization = new WorkerUtilization();

  constructor(file: string, identity: Identity) {
    this.#file = file;
    this.#jobName = path.basename(path.dirname(file));
    this.#workRoot = path.dirname(path.dirname(file));
    this.#attemptId = identity.attemptId;
    this.#checkpointDir = identity.checkpointDir;
    this.#workingDir = identity.workingDir;
    this.#rejected = new RejectedLines(identity.workerCount);
  }

  get skippedCount(): number {
    return this.#rejected.count;
  }

  /**
   * Costs one system call, so that a thousand attempts without new reports can be polled every second. The answer is only
   * a hint: the name may have led to another file. `read` decides what is read.
   */
  hasGrown(): boolean {
    const stat = this.#stat();
    return stat !== null && stat.size !== this.#offset;
  }

  /**
   * Used for a file that was read before a restart: the current state is at its end, so the rest is skipped. The first
   * line after the skipped part is usually incomplete and does not count as malformed.
   */
  skipToRecent(): void {
    const size = this.#stat()?.size ?? 0;
    if (size - this.#offset <= READ_MAX_BYTES) return;
    this.#unfinished = Buffer.alloc(0);
    this.#offset = size - READ_MAX_BYTES;
    this.#skipping = true;
  }

  /** The rest of the file in pieces, at most `LAST_PIECES_MAX` of them and then its end. */
  async *readRest(): AsyncGenerator<ProgressNews> {
    for (let pieces = 0; pieces <= LAST_PIECES_MAX && this.hasGrown(); pieces++) {
      if (pieces === LAST_PIECES_MAX) this.skipToRecent();
      const before = this.#offset;
      yield await this.read();
      if (this.#offset === before) return;
    }
  }

  /** The next piece; empty if the file has not grown. An unfinished last line is kept for the next read. */
  async read(): Promise<ProgressNews> {
    const gathered: Gathered = {
      progress: null,
      hasUtilization: false,
      checkpoints: [],
      artifacts: [],
      stepTimes: [],
    };
    try {
      await inDirectory(this.#workRoot, [this.#jobName], (directory) => this.#readFrom(directory, gathered));
    } catch {
      // The workers have removed the file, made it unreadable or put something else there, so there is nothing to report.
    }
    return this.#news(gathered);
  }

  async #readFrom(directory: number, gathered: Gathered): Promise<void> {
    const file = openRegular(directory, path.basename(this.#file));
    try {
      if (fstatSync(file).size < this.#offset) this.#restart();
      const block = Buffer.alloc(BLOCK_BYTES);
      for (let total = 0; total < READ_MAX_BYTES;) {
        const { bytesRead } = await readAt(file, block, 0, BLOCK_BYTES, this.#offset);
        if (bytesRead === 0) break;
        this.#offset += bytesRead;
        total += bytesRead;
        this.#split(block.subarray(0, bytesRead), gathered);
      }
    } finally {
      closeSync(file);
    }
  }

  /** The file; `null`: it does not exist or is not a regular file. */
  #stat(): Stats | null {
    try {
      const stat = lstatSync(this.#file, { throwIfNoEntry: false });
      return stat?.isFile() === true ? stat : null;
    } catch {
      // A parent directory was replaced in the meantime.
      return null;
    }
  }

  #restart(): void {
    this.#offset = 0;
    this.#unfinished = Buffer.alloc(0);
    this.#skipping = false;
  }

  #split(block: Buffer, into: Gathered): void {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      const rest = block.subarray(start, end);
      if (!this.#skipping)
        this.#parse(this.#unfinished.length === 0 ? rest : Buffer.concat([this.#unfinished, rest]), into);
      this.#unfinished = Buffer.alloc(0);
      this.#skipping = false;
      start = end + 1;
    }
    if (this.#skipping) return;
    this.#unfinished = Buffer.concat([this.#unfinished, block.subarray(start)]);
    if (this.#unfinished.length > LINE_MAX_BYTES) {
      this.#rejected.add(tooLong, this.#unfinished);
      this.#unfinished = Buffer.alloc(0);
      this.#skipping = true;
    }
  }

  #parse(line: Buffer, into: Gathered): void {
    if (line.length === 0) return;
    if (line.length > LINE_MAX_BYTES) return this.#rejected.add(tooLong, line);
    if (this.#rejected.passesOver(line)) return this.#rejected.addUnread();
    const text = line.toString("utf8");
    const value = jsonOf(text);
    const parsed = progressLine.safeParse(value);
    if (!parsed.success) return this.#rejected.add(problemOf(text, value, parsed.error), line, value);
    const attemptId = this.#attemptId;
    if (parsed.data.kind === "progress") {
      const { step, totalSteps, metrics } = parsed.data;
      into.progress = {
        kind: "progressReported",
        attemptId,
        step,
        totalSteps: totalSteps ?? null,
        metrics: metrics ?? {},
      };
    } else if (parsed.data.kind === "step") {
      const { step, worker = 0, seconds, parts } = parsed.data;
      into.stepTimes.push(parts === undefined ? [step, worker, seconds] : [step, worker, seconds, parts]);
    } else if (parsed.data.kind === "utilization") {
      this.#utilization.take(parsed.data.worker ?? 0, parsed.data.accelerators);
      into.hasUtilization = true;
    } else if (parsed.data.kind === "artifact") {
      const { name, path, metrics, parameters } = parsed.data;
      into.artifacts.push({
        name,
        path: resolveIn(this.#workingDir, path),
        ...(metrics === undefined ? {} : { metrics }),
        ...(parameters === undefined ? {} : { parameters }),
      });
    } else {
      const { step, path, metrics } = parsed.data;
      into.checkpoints.push({
        kind: "checkpointReported",
        attemptId,
        step,
        path: resolveIn(this.#checkpointDir, path),
        ...(metrics === undefined ? {} : { metrics }),
      });
    }
  }

  #news({ progress, hasUtilization, checkpoints, artifacts, stepTimes }: Gathered): ProgressNews {
    const attemptId = this.#attemptId;
    const utilization = hasUtilization
      ? ({ kind: "utilizationReported", attemptId, ...this.#utilization.report() } as const)
      : null;
    const rejected = this.#rejected.news();
    return {
      progress,
      checkpoints,
      utilization,
      artifacts,
      stepTimes: stepTimes.length === 0 ? null : { kind: "stepTimesReported", attemptId, times: stepTimes },
      rejected: rejected === null ? null : { kind: "linesRejected", attemptId, ...rejected },
    };
  }
}

/** The value of a JSON text; `undefined`: the text is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The checkpoint directory can be a URL (`s3://…`), so functions for paths cannot be used. A result, such as a metric that a pipeline
 * compares, is a data URL (`data:,0.93`).
 */
function resolveIn(checkpointDir: string, checkpoint: string): string {
  if (checkpoint.startsWith("/") || /^(?:[a-z][a-z0-9+.-]*:\/\/|data:,)/i.test(checkpoint)) return checkpoint;
  return `${checkpointDir.replace(/\/+$/, "")}/${checkpoint.replace(/^(\.\/)+/, "")}`;
}
