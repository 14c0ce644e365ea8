/** Reads what workers append to their progress file: one JSON object a line, in bounded pieces, forgiving of broken lines. */
import type { Stats } from "node:fs";
import { constants, statSync } from "node:fs";
import { open } from "node:fs/promises";
import type { AttemptId, Signal } from "@headroom/engine";
import { z } from "zod";
import { WorkerUtilization } from "./worker-utilization.ts";

/** A line with a few metrics has some hundred bytes. */
const LINE_MAX_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** What is read at one time, so that a workload which writes without end does not keep the control plane. */
const READ_MAX_BYTES = 1024 * 1024;
const METRICS_MAX = 32;
const TEXT_MAX = 1024;
/** As wide as a gang may be, and as many as a node may have. */
const WORKER_MAX = 20_000;
const ACCELERATORS_MAX = 1024;
const NEWLINE = 10;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const progressLine = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("progress"),
    step: count,
    totalSteps: count.nullish(),
    metrics: z
      .record(z.string().min(1).max(64), z.number())
      .refine((metrics) => Object.keys(metrics).length <= METRICS_MAX)
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
  z.object({ kind: z.literal("checkpoint"), step: count, path: z.string().min(1).max(TEXT_MAX) }),
  z.object({
    kind: z.literal("artifact"),
    name: z.string().min(1).max(TEXT_MAX),
    path: z.string().min(1).max(TEXT_MAX),
  }),
]);

export interface ProgressNews {
  /** The last one of what was read; those before it are out of date. */
  readonly progress: Extract<Signal, { kind: "progressReported" }> | null;
  readonly checkpoints: readonly Extract<Signal, { kind: "checkpointReported" }>[];
  /** Of all workers together, each as it last reported; `null`: none reported anew. */
  readonly utilization: Extract<Signal, { kind: "utilizationReported" }> | null;
  readonly artifacts: readonly Extract<Signal, { kind: "artifactReported" }>[];
}

interface Identity {
  readonly attemptId: AttemptId;
  /** Relative paths of checkpoints are below it. */
  readonly checkpointDir: string;
  /** Relative paths of other things are below it. */
  readonly workingDir: string;
}

export class ProgressFile {
  readonly #file: string;
  readonly #attemptId: AttemptId;
  readonly #checkpointDir: string;
  readonly #workingDir: string;
  #offset = 0;
  /** The end of the file up to `#offset`, after its last newline. */
  #unfinished: Buffer = Buffer.alloc(0);
  /** Within a line that is too long: ignore up to its end. */
  #skipping = false;
  skippedCount = 0;
  readonly #utilization = new WorkerUtilization();

  constructor(file: string, identity: Identity) {
    this.#file = file;
    this.#attemptId = identity.attemptId;
    this.#checkpointDir = identity.checkpointDir;
    this.#workingDir = identity.workingDir;
  }

  /** Costs one call to the system, so that a thousand quiet attempts can be asked every second. */
  hasGrown(): boolean {
    const stat = this.#stat();
    return stat !== null && stat.size !== this.#offset;
  }

  /**
   * For a file that an earlier life of the control plane has read: what counts is at its end, so the rest is passed over.
   * The first line after the jump is cut in most cases and not counted as broken.
   */
  skipToRecent(): void {
    const size = this.#stat()?.size ?? 0;
    if (size <= READ_MAX_BYTES) return;
    this.#offset = size - READ_MAX_BYTES;
    this.#skipping = true;
  }

  /** The next piece; nothing new in it when the file has not grown. A last line without its newline waits for it. */
  async read(): Promise<ProgressNews> {
    const lines: Buffer[] = [];
    try {
      // Opening a FIFO that the workload made would wait for a writer; this does not.
      const handle = await open(this.#file, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const stat = await handle.stat();
        if (!stat.isFile()) return this.#parse([]);
        const { size } = stat;
        if (size < this.#offset) this.#restart();
        const block = Buffer.alloc(BLOCK_BYTES);
        for (let total = 0; total < READ_MAX_BYTES;) {
          const { bytesRead } = await handle.read(block, 0, BLOCK_BYTES, this.#offset);
          if (bytesRead === 0) break;
          this.#offset += bytesRead;
          total += bytesRead;
          this.#split(block.subarray(0, bytesRead), lines);
        }
      } finally {
        await handle.close();
      }
    } catch {
      // The workers made it unreadable or removed it: then there is nothing to report.
    }
    return this.#parse(lines);
  }

  /** `null`: there is no such file, or it is none that can be read like one. */
  #stat(): Stats | null {
    try {
      const stat = statSync(this.#file, { throwIfNoEntry: false });
      return stat?.isFile() === true ? stat : null;
    } catch {
      // A parent directory was replaced.
      return null;
    }
  }

  #restart(): void {
    this.#offset = 0;
    this.#unfinished = Buffer.alloc(0);
    this.#skipping = false;
  }

  #split(block: Buffer, lines: Buffer[]): void {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      const rest = block.subarray(start, end);
      if (!this.#skipping) lines.push(Buffer.concat([this.#unfinished, rest]));
      this.#unfinished = Buffer.alloc(0);
      this.#skipping = false;
      start = end + 1;
    }
    if (this.#skipping) return;
    this.#unfinished = Buffer.concat([this.#unfinished, block.subarray(start)]);
    if (this.#unfinished.length > LINE_MAX_BYTES) {
      this.#unfinished = Buffer.alloc(0);
      this.#skipping = true;
      this.skippedCount += 1;
    }
  }

  #parse(lines: readonly Buffer[]): ProgressNews {
    let progress: ProgressNews["progress"] = null;
    let hasUtilization = false;
    const checkpoints: Extract<Signal, { kind: "checkpointReported" }>[] = [];
    const artifacts: Extract<Signal, { kind: "artifactReported" }>[] = [];
    const attemptId = this.#attemptId;
    for (const line of lines) {
      if (line.length === 0) continue;
      const parsed = progressLine.safeParse(line.length > LINE_MAX_BYTES ? null : jsonOf(line.toString("utf8")));
      if (!parsed.success) {
        this.skippedCount += 1;
      } else if (parsed.data.kind === "progress") {
        const { step, totalSteps, metrics } = parsed.data;
        progress = {
          kind: "progressReported",
          attemptId,
          step,
          totalSteps: totalSteps ?? null,
          metrics: metrics ?? {},
        };
      } else if (parsed.data.kind === "utilization") {
        this.#utilization.take(parsed.data.worker ?? 0, parsed.data.accelerators);
        hasUtilization = true;
      } else if (parsed.data.kind === "artifact") {
        const { name, path } = parsed.data;
        artifacts.push({ kind: "artifactReported", attemptId, name, path: resolveIn(this.#workingDir, path) });
      } else {
        const { step, path } = parsed.data;
        checkpoints.push({ kind: "checkpointReported", attemptId, step, path: resolveIn(this.#checkpointDir, path) });
      }
    }
    const report = this.#utilization.report();
    const utilization = hasUtilization ? ({ kind: "utilizationReported", attemptId, ...report } as const) : null;
    return { progress, checkpoints, utilization, artifacts };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The checkpoint directory may be a URL (`s3://…`), so this is no path arithmetic. */
function resolveIn(checkpointDir: string, checkpoint: string): string {
  if (checkpoint.startsWith("/") || /^[a-z][a-z0-9+.-]*:\/\//i.test(checkpoint)) return checkpoint;
  return `${checkpointDir.replace(/\/+$/, "")}/${checkpoint.replace(/^(\.\/)+/, "")}`;
}
