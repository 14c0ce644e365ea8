/**
 * Reads the accelerators of all executors on a timer. The newest readings stay in memory, and their history goes to the
 * telemetry store. The readings also give the utilization of running attempts, which is passed on like the attempts'
 * own reports.
 */
import type { AttemptId } from "@headroom/model";
import type { Executor, NodeReadings as ReadNode } from "@headroom/executors";
import type { NodeReadings } from "@headroom/protocol";
import { AcceleratorReadings, acceleratorSample, measuredAttempts, READINGS_FRESH_MS } from "@headroom/views";
import type { MeasuredAttempt, SubjectSample } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "./telemetry.ts";

const READ_EVERY_MS = 15_000;

export interface AcceleratorSamplerOptions {
  readonly driver: Pick<Driver, "read" | "observe">;
  readonly telemetry: Pick<Telemetry, "recordSubjects" | "measured">;
  readonly executors: ReadonlyMap<string, Executor>;
  readonly log: DriverLog;
  /** Interval in ms between readings, for tests; default 15 s. */
  readonly everyMs?: number | undefined;
  nowMs(): number;
}

export class AcceleratorSampler {
  readonly readings = new AcceleratorReadings();
  readonly #options: AcceleratorSamplerOptions;
  readonly #timer: NodeJS.Timeout;
  /** The last logged problem of each node, so that a problem is logged once. */
  readonly #logged = new Map<string, string>();
  #turn: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: AcceleratorSamplerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#begin(), options.everyMs ?? READ_EVERY_MS);
    this.#timer.unref();
    this.#begin();
  }

  /** Waits for the reading in progress; a vendor's tool is ended after its time limit. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#turn;
  }

  /** Starts a reading unless one is in progress: a slow tool delays only the next reading. */
  #begin(): void {
    if (this.#turn !== null || this.#isClosed) return;
    this.#turn = this.#sample()
      .catch((error: unknown) => this.#options.log.warn(`accelerators were not read: ${messageOf(error)}`))
      .finally(() => {
        this.#turn = null;
      });
  }

  async #sample(): Promise<void> {
    const { driver, executors, telemetry, nowMs } = this.#options;
    const read = await Promise.all(
      [...executors.values()].map(async (executor) => (await executor.readAccelerators?.()) ?? []),
    );
    const atMs = nowMs();
    const nodes = read.flat().map((node) => nodeAt(node, atMs));
    if (this.#isClosed || nodes.length === 0) return;
    for (const node of nodes) this.#logProblem(node);
    const attempts = await driver.read((engine) => {
      this.readings.record(nodes, engine);
      return measuredAttempts(engine, this.readings, atMs);
    });
    telemetry.recordSubjects(nodes.flatMap((node) => samplesOf(node, atMs)));
    this.#observe(attempts, atMs, telemetry);
  }

  #observe(attempts: readonly MeasuredAttempt[], atMs: number, { measured }: Pick<Telemetry, "measured">): void {
    for (const { attemptId, report } of attempts) {
      measured.set(attemptId, atMs + READINGS_FRESH_MS);
      // A reading goes to the telemetry store and never waits in the inbox; the next one replaces it.
      void this.#options.driver.observe({ kind: "utilizationReported", attemptId, ...report });
    }
    for (const [attemptId, untilMs] of measured) if (untilMs < atMs) measured.delete(attemptId);
  }

  /** Takes readings of exporters, for nodes that no tool of the control plane's own reads. */
  async recordExported(nodes: readonly NodeReadings[]): Promise<void> {
    const { driver, telemetry, nowMs } = this.#options;
    const atMs = nowMs();
    const exported = nodes.filter(({ node }) => {
      const { source, atMs: readAtMs } = this.readings.of(node);
      return source === null || source === "exporter" || atMs - (readAtMs ?? 0) > READINGS_FRESH_MS;
    });
    if (this.#isClosed || exported.length === 0) return;
    const attempts = await driver.read((engine) => {
      this.readings.record(exported, engine);
      return measuredAttempts(engine, this.readings, atMs);
    });
    this.#observe(attempts, atMs, telemetry);
  }

  #logProblem({ node, problem }: NodeReadings): void {
    const before = this.#logged.get(node);
    if (problem === null) this.#logged.delete(node);
    else if (before !== problem) {
      this.#logged.set(node, problem);
      this.#options.log.warn(`the accelerators of ${node} were not read: ${problem}`);
    }
  }
}

/**
 * Attempts whose utilization is measured on their accelerators, each with the time until which the measurement is
 * valid.
 */
export type MeasuredUntil = Map<AttemptId, number>;

const nodeAt = ({ node, source, accelerators, problem }: ReadNode, atMs: number): NodeReadings => ({
  node,
  source,
  atMs,
  problem,
  accelerators: [...accelerators],
});

const samplesOf = ({ node, accelerators }: NodeReadings, atMs: number): SubjectSample[] =>
  accelerators.map(({ index, fault: _fault, ...values }) => acceleratorSample(node, index, atMs, values));

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
