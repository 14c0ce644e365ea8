/**
 * Reads the accelerators of all executors on a timer. The newest readings stay in memory, and their history goes to the
 * telemetry store. The readings also give the utilization of running attempts, which is passed on like the attempts'
 * own reports.
 */
import { setImmediate } from "node:timers/promises";
import type { AttemptId } from "@headroom/model";
import type { Executor, NodeReadings as ReadNode } from "@headroom/executors";
import type { NodeReadings } from "@headroom/protocol";
import { AcceleratorReadings, acceleratorSample, measuredAttempts, READINGS_FRESH_MS } from "@headroom/views";
import type { SubjectSample } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "./telemetry.ts";

const READ_EVERY_MS = 15_000;
/** Nodes in one turn of the event loop: about a millisecond with eight accelerators each. */
const NODES_A_TURN = 32;
/** Least time in ms between two measurements of an attempt by exporters. They are read every 15 s by default. */
const MEASURED_EVERY_MS = 10_000;

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
  /** Readings of exporters that wait to be taken, by node. */
  readonly #exported = new Map<string, NodeReadings>();
  #isTaking = false;
  /** When exporters were looked at for an attempt, whether they measured it or not. */
  readonly #lookedAtMs = new Map<AttemptId, number>();
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
        this.#expire();
        this.#turn = null;
      });
  }

  async #sample(): Promise<void> {
    const { executors, telemetry, nowMs } = this.#options;
    const read = await Promise.all(
      [...executors.values()].map(async (executor) => (await executor.readAccelerators?.()) ?? []),
    );
    const atMs = nowMs();
    const nodes = read.flat().map((node) => nodeAt(node, atMs));
    for (const portion of portionsOf(nodes)) {
      if (this.#isClosed) return;
      for (const node of portion) this.#logProblem(node);
      await this.#options.driver.read((engine) => this.readings.record(portion, engine));
      telemetry.recordSubjects(portion.flatMap((node) => samplesOf(node, atMs)));
      await setImmediate();
    }
    const looked = new Set<AttemptId>();
    const isRecent = (id: AttemptId): boolean => {
      const isKnown = looked.has(id);
      looked.add(id);
      return isKnown;
    };
    for (const portion of portionsOf(nodes)) {
      if (this.#isClosed) return;
      await this.#measure(portion, isRecent);
      await setImmediate();
    }
  }

  /** Reports the utilization of the attempts on a few nodes. */
  async #measure(nodes: readonly NodeReadings[], isRecent: (attemptId: AttemptId) => boolean): Promise<void> {
    const { driver, telemetry, nowMs } = this.#options;
    const { readings } = this;
    const atMs = nowMs();
    const names = nodes.map(({ node }) => node);
    const attempts = await driver.read((engine) =>
      measuredAttempts(engine, { readings, nodes: names, nowMs: atMs, isRecent }),
    );
    for (const { attemptId, report } of attempts) {
      telemetry.measured.set(attemptId, atMs + READINGS_FRESH_MS);
      // A reading goes to the telemetry store and never waits in the inbox; the next one replaces it.
      void driver.observe({ kind: "utilizationReported", attemptId, ...report });
    }
  }

  /** Forgets attempts that were not measured for a while. */
  #expire(): void {
    const { telemetry, nowMs } = this.#options;
    const atMs = nowMs();
    for (const [attemptId, untilMs] of telemetry.measured) if (untilMs < atMs) telemetry.measured.delete(attemptId);
    for (const [attemptId, lookedAtMs] of this.#lookedAtMs)
      if (Math.abs(atMs - lookedAtMs) > READINGS_FRESH_MS) this.#lookedAtMs.delete(attemptId);
  }

  /** Takes readings of exporters, for nodes that no tool of the control plane's own reads. Newer readings of a node replace waiting ones. */
  async recordExported(nodes: readonly NodeReadings[]): Promise<void> {
    const { driver, nowMs } = this.#options;
    const atMs = nowMs();
    for (const each of nodes) {
      const { source, atMs: readAtMs } = this.readings.of(each.node);
      if (source === null || source === "exporter" || atMs - (readAtMs ?? 0) > READINGS_FRESH_MS)
        this.#exported.set(each.node, each);
    }
    if (this.#isTaking) return;
    this.#isTaking = true;
    // Exporters of a gang are read one after the other. The gang is measured with the first, not once for each of its nodes.
    const isRecent = (attemptId: AttemptId): boolean => {
      const agoMs = nowMs() - (this.#lookedAtMs.get(attemptId) ?? Number.NEGATIVE_INFINITY);
      if (agoMs >= 0 && agoMs < MEASURED_EVERY_MS) return true;
      this.#lookedAtMs.set(attemptId, nowMs());
      return false;
    };
    try {
      while (this.#exported.size > 0 && !this.#isClosed) {
        const portion: NodeReadings[] = [];
        for (const [node, read] of this.#exported) {
          if (portion.length === NODES_A_TURN) break;
          this.#exported.delete(node);
          portion.push(read);
        }
        await driver.read((engine) => this.readings.record(portion, engine));
        await this.#measure(portion, isRecent);
        await setImmediate();
      }
    } catch (error) {
      // The driver refuses reads while it closes.
      if (!this.#isClosed) this.#options.log.warn(`readings of exporters were not taken: ${messageOf(error)}`);
    } finally {
      this.#isTaking = false;
    }
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

function* portionsOf(nodes: readonly NodeReadings[]): Generator<readonly NodeReadings[]> {
  for (let from = 0; from < nodes.length; from += NODES_A_TURN) yield nodes.slice(from, from + NODES_A_TURN);
}

const samplesOf = ({ node, accelerators }: NodeReadings, atMs: number): SubjectSample[] =>
  accelerators.map(({ index, fault: _fault, ...values }) => acceleratorSample(node, index, atMs, values));

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
