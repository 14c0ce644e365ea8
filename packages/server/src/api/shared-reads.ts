/**
 * Reads whose cost grows with the fleet or the queue. Callers that wait for the same answer share one computation, the
 * computations take turns, and together they use about a third of the event loop, however many callers there are. An
 * answer is computed after its request has arrived, so a client always sees its own writes.
 */
import { clockOf } from "@headroom/engine";
import { refuse } from "@headroom/protocol";
import type { OperationName } from "@headroom/protocol";
import { setTimeout as pause } from "node:timers/promises";
import type { Driver } from "../driver/driver.ts";

/**
 * Operations whose answer is shared. It must not depend on the caller. `kept`: the answer depends only on the query and
 * the engine's state, and is reused until a round changes the state. `joined`: the answer also contains figures from
 * outside the engine, such as telemetry.
 */
export const sharedOperations: Partial<Readonly<Record<OperationName, "kept" | "joined">>> = {
  acceleratorReadings: "joined",
  endpoints: "joined",
  fleet: "kept",
  listNodes: "kept",
  listWorkloads: "joined",
  queue: "kept",
  status: "joined",
  teams: "kept",
  waste: "joined",
};

/** Maximum number of different answers that wait for their computation. */
const WAITING_MAX = 256;
/** Maximum number of kept answers, and of their bytes. */
const KEPT_MAX = 64;
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
/** Computations up to this time in ms are followed by no pause. */
const FREE_MS = 2;
/** Length of a pause relative to the computation before it, and its maximum in ms. */
const PAUSE_PER_WORK = 2;
const PAUSE_MS_MAX = 50;

interface KeptAnswer {
  readonly version: string;
  readonly bytes: Buffer;
}

interface Job {
  readonly key: string;
  readonly use: "kept" | "joined";
  readonly compute: () => Promise<string>;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: unknown) => void;
}

export class SharedReads {
  readonly #driver: Pick<Driver, "read">;
  /** Answers whose computation has not begun, by key. */
  readonly #waiting = new Map<string, Promise<Buffer>>();
  readonly #jobs: Job[] = [];
  /** Kept answers, the oldest first. */
  readonly #kept = new Map<string, KeptAnswer>();
  #keptBytes = 0;
  #isRunning = false;

  constructor(driver: Pick<Driver, "read">) {
    this.#driver = driver;
  }

  /** The answer as bytes. `key` names the operation with everything that the answer depends on besides the state. */
  async answer(key: string, use: "kept" | "joined", compute: () => Promise<string>): Promise<Buffer> {
    const known = use === "kept" ? await this.#keptAnswer(key) : null;
    if (known !== null) return known;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    if (this.#waiting.size >= WAITING_MAX)
      throw refuse("overloaded", `${WAITING_MAX} expensive reads are waiting already; try again in a moment.`);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.#waiting.set(key, promise);
    this.#jobs.push({ key, use, compute, resolve, reject });
    if (!this.#isRunning) void this.#runAll();
    return promise;
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) {
      const spentMs = await this.#run(job);
      if (spentMs > FREE_MS) await pause(Math.min(PAUSE_MS_MAX, spentMs * PAUSE_PER_WORK));
    }
    this.#isRunning = false;
  }

  /** Returns the time in ms that the computation took. */
  async #run({ key, use, compute, resolve, reject }: Job): Promise<number> {
    let beganMs = performance.now();
    try {
      // The read waits for the batch in flight, so the computation after it does not wait.
      const version = await this.#driver.read(versionOf);
      // Callers that come from now on could have written something that this answer does not contain.
      this.#waiting.delete(key);
      beganMs = performance.now();
      const bytes = Buffer.from(await compute());
      if (use === "kept") this.#keep(key, { version, bytes });
      resolve(bytes);
    } catch (error) {
      this.#waiting.delete(key);
      reject(error);
    }
    return performance.now() - beganMs;
  }

  async #keptAnswer(key: string): Promise<Buffer | null> {
    if (!this.#kept.has(key)) return null;
    const version = await this.#driver.read(versionOf);
    const kept = this.#kept.get(key);
    return kept?.version === version ? kept.bytes : null;
  }

  #keep(key: string, kept: KeptAnswer): void {
    this.#drop(key);
    this.#kept.set(key, kept);
    this.#keptBytes += kept.bytes.byteLength;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX && this.#keptBytes <= KEPT_BYTES_MAX) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#keptBytes -= this.#kept.get(key)?.bytes.byteLength ?? 0;
    this.#kept.delete(key);
  }
}

/** Answers from one version of the state are equal: the sequence counts events, the clock moves with each round. */
const versionOf = (engine: Parameters<Parameters<Driver["read"]>[0]>[0]): string =>
  `${engine.state.sequence} ${clockOf(engine)}`;
