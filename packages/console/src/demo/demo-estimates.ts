/**
 * Start estimates of the demo, in a separate worker beside that of the simulation, because estimates for the whole
 * queue take seconds.
 */
import type { StartEstimate } from "@headroom/sim";
import type { EstimatedStart } from "@headroom/views";
import type { DemoWorld } from "./demo-world.ts";
import type { EstimateAnswer, EstimateRequest } from "./estimate-worker.ts";

/** Estimates of all waiting work, for the present of the simulated world or shortly before. */
export type DemoEstimates = () => Promise<readonly EstimatedStart[]>;

interface Underway {
  readonly id: number;
  readonly starts: Promise<readonly EstimatedStart[]>;
}

/**
 * Runs one estimate at a time. Callers that ask while one runs get its result. The worker is loaded for the first
 * estimate.
 */
export function estimatesInWorker(world: DemoWorld): DemoEstimates {
  let started: Worker | null = null;
  let underway: Underway | null = null;
  let count = 0;
  return () => {
    underway ??= begin();
    return underway.starts;
  };

  function begin(): Underway {
    const { nowMs, engine } = world;
    const worker = (started ??= new Worker(new URL("./estimate-worker.ts", import.meta.url), { type: "module" }));
    const id = ++count;
    const { promise, resolve, reject } = Promise.withResolvers<readonly StartEstimate[]>();
    const told = new AbortController();
    const { signal } = told;
    worker.addEventListener("error", ({ message }) => reject(new Error(message)), { signal });
    worker.addEventListener(
      "message",
      ({ data }: MessageEvent<EstimateAnswer>) => {
        if (data.id === id) resolve(data.starts);
      },
      { signal },
    );
    const bytes = engine.snapshot();
    const request: EstimateRequest = { id, bytes, nowMs };
    worker.postMessage(request, [bytes.buffer as ArrayBuffer]);
    const starts = promise
      .then((found) => found.map((each): EstimatedStart => ({ ...each, atMs: nowMs })))
      .finally(() => {
        told.abort();
        underway = null;
      });
    return { id, starts };
  }
}
