/** Executors in the demo: the simulated ones of its pools. They cannot be declared or removed. */
import type { Engine } from "@headroom/engine";
import { refuse } from "@headroom/protocol";
import type { Executor, HeadroomClient } from "@headroom/protocol";
import { executorUse } from "@headroom/views";

const noExecutors = () => refuse("notSupported", "The demo simulates its nodes, so it has no executors to declare.");

export const executorClient = (
  engine: Engine,
): Pick<
  HeadroomClient,
  "executors" | "declareExecutor" | "abandonExecutor" | "removeExecutor" | "importedHistory" | "importHistory"
> => ({
  executors: async () => ({
    items: [...executorUse(engine)].map(([name, use]): Executor => ({
      name,
      type: "simulated",
      mode: "run",
      isDeclared: false,
      phase: "reachable",
      settings: {},
      ...use,
      pools: [...use.pools],
    })),
  }),
  declareExecutor: () => Promise.reject(noExecutors()),
  abandonExecutor: () => Promise.reject(noExecutors()),
  removeExecutor: () => Promise.reject(noExecutors()),
  importedHistory: () => Promise.reject(noExecutors()),
  importHistory: () => Promise.reject(noExecutors()),
});
