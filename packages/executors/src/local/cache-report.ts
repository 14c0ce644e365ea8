/** Reports the inputs in the cache of this machine to the control plane, so that work is placed where its bytes are. */
import { mibOf } from "@headroom/model";
import type { ExecutorId, NodeId } from "@headroom/model";
import type { NodeCache } from "@headroom/stores";
import type { ExecutorInput } from "../executor.ts";

interface CacheReportSetup {
  readonly executor: ExecutorId;
  /** Nodes of this machine: all of them read from its cache. */
  readonly nodes: () => Promise<readonly NodeId[]>;
  readonly emit: (input: ExecutorInput) => void;
  readonly onProblem: (message: string) => void;
}

class CacheReporter {
  readonly #setup: CacheReportSetup;
  readonly #cache: NodeCache;
  /** One report at a time: a change meanwhile is in the next one. */
  #running = false;
  #isStale = false;

  constructor(cache: NodeCache, setup: CacheReportSetup) {
    this.#cache = cache;
    this.#setup = setup;
  }

  report(): void {
    this.#isStale = true;
    if (this.#running) return;
    this.#running = true;
    void this.#run().finally(() => (this.#running = false));
  }

  async #run(): Promise<void> {
    const { executor, nodes, emit, onProblem } = this.#setup;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const { items } = await this.#cache.report();
        const inputs = items.map(({ uri, digest, bytes }) => ({ uri, digest, mib: mibOf(bytes) }));
        const caches = (await nodes()).map((nodeId) => ({ nodeId, inputs }));
        emit({ kind: "nodeCachesSeen", executor, caches });
      }
    } catch (error) {
      onProblem(`Reading the cache: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Reports the cache whenever its entries change. */
export function reportCache(cache: NodeCache, setup: CacheReportSetup): void {
  const reporter = new CacheReporter(cache, setup);
  cache.onChange = () => reporter.report();
}
