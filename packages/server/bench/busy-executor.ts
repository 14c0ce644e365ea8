/**
 * An executor for a fleet that is always full: placed work runs for a moment and ends, so that the engine decides
 * constantly.
 */
import { draw, nodeId, poolName, siteName } from "@headroom/model";
import type { AttemptId, Effect } from "@headroom/model";
import type { Executor, ExecutorInput, Inventory } from "@headroom/executors";

const ACCELERATORS_PER_NODE = 8;
/** The work takes whole nodes, 64 of them, each for 200 to 400 ms, so about 200 gangs end and start every second. */
const RUN_MIN_MS = 200;
const BUSY_NODES = 64;

export class BusyExecutor implements Executor {
  readonly id = "simulated";
  readonly kind = "simulated";
  readonly capabilities = { checkpointOnRequest: false, resize: false, replaceWorkers: false, logs: false };
  endedCount = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  #listener: (input: ExecutorInput) => void = () => undefined;
  #launched = 0;
  readonly #nodes: number;
  readonly #runMinMs: number;

  /** Minimum run time of placed work in ms; run times are up to twice as long. */
  constructor(nodes: number = BUSY_NODES, runMinMs: number = RUN_MIN_MS) {
    this.#nodes = nodes;
    this.#runMinMs = runMinMs;
  }

  inventory(): Promise<Inventory> {
    const site = { name: siteName("bench"), fabricLevels: [] };
    const pool = {
      name: poolName("bench"),
      site: site.name,
      executor: this.id,
      acceleratorType: "H100",
      priceMicroUsdPerHour: 0,
    } as const;
    const nodes = Array.from({ length: this.#nodes }, (_, index) => ({
      id: nodeId(`node-${index}`),
      pool: pool.name,
      fabric: [],
      acceleratorCount: ACCELERATORS_PER_NODE,
      coresMilli: 128_000,
      memoryMib: 1_048_576,
    }));
    return Promise.resolve({ sites: [site], pools: [pool], nodes });
  }

  attempts(): Promise<never[]> {
    return Promise.resolve([]);
  }

  perform(effect: Effect): void {
    if (effect.kind !== "launchGang") return;
    const { attemptId } = effect;
    setImmediate(() => this.#listener({ kind: "attemptRunning", attemptId }));
    const runMs = this.#runMinMs + (draw(7, ++this.#launched, "run") % this.#runMinMs);
    const timer = setTimeout(() => this.#end(attemptId, timer), runMs);
    this.#timers.add(timer);
  }

  watch(listener: (input: ExecutorInput) => void): void {
    this.#listener = listener;
  }

  async *logs(): AsyncGenerator<never> {
    // This executor keeps no logs.
  }

  usage(): Promise<null> {
    return Promise.resolve(null);
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    return Promise.resolve();
  }

  #end(attemptId: AttemptId, timer: NodeJS.Timeout): void {
    this.#timers.delete(timer);
    this.endedCount++;
    this.#listener({ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] });
  }
}
