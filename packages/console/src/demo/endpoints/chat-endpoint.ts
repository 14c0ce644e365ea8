/** The demo's endpoint, and the revisions that its author rolls out. */
import { teamName } from "@headroom/model";
import type { WorkloadSpec } from "@headroom/model";

const MINUTE_MS = 60_000;

/** A server with this option has no compiled graphs: a token takes longer, and a rollout with steps finds that out. */
export const SLOW_OPTION = "--enforce-eager";

const run = (options: string): string => `vllm serve $MODEL_DIR --port $PORT --max-num-seqs ${options}`;

export const chatEndpoint: WorkloadSpec = {
  kind: "serve",
  name: "chat",
  team: teamName("product/search"),
  run: run("48"),
  dir: null,
  env: {},
  gang: { workers: 1, accelerators: 1, coresMilli: 8_000, memoryMib: 98_304 },
  acceleratorTypes: ["H100-SXM", "H200-SXM"],
  priority: 20,
  walltimeMs: null,
  retries: { max: 3, backoffMs: 10_000, backoffMaxMs: 300_000 },
  graceTimeoutMs: 30_000,
  checkpointDir: null,
  replicas: { min: 0, max: 6 },
  ready: { path: "/health", timeoutMs: 10 * MINUTE_MS },
  scale: {
    concurrencyMilli: 32_000,
    metrics: [{ name: "requestsQueued", source: "engines", perReplicaMilli: 16_000 }],
    idleToZeroMs: 4 * MINUTE_MS,
    downAfterMs: 2 * MINUTE_MS,
  },
  budget: { microUsd: 240_000_000, period: "day", over: "minimum" },
  rollout: {
    steps: [10, 50, 100],
    everyMs: 4 * MINUTE_MS,
    timeoutMs: 40 * MINUTE_MS,
    abort: { errorRateMilli: 10, ttftMilli: 100, tpotMilli: 100 },
  },
};

/** The command of the n-th revision that the author tries: every other one is slow, and is rolled back. */
export const revisionRun = (count: number): string => {
  const sequences = 48 + 8 * count;
  return run(count % 2 === 0 ? `${sequences} ${SLOW_OPTION}` : String(sequences));
};
