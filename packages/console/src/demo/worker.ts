/** The demo's worker: advances simulated time in proportion to real time and answers the client's calls in between. */
import { serveWorkerClient } from "@headroom/protocol";
import { createDemoClient } from "./demo-client.ts";
import { estimatesInWorker } from "./demo-estimates.ts";
import { DEMO_SPEED_DEFAULT, type DemoPorts, type DemoReport, type DemoRequest } from "./demo-messages.ts";
import { DemoWorld } from "./demo-world.ts";

const SEED = 10;
/** A Monday; the demo opens on Tuesday afternoon, with work in all phases. */
const START_AT_MS = Date.UTC(2026, 0, 5);
const FIRST_SHOWN_MS = 39 * 3_600_000;
/** The endpoint is in its second wave of requests, with a rollout in progress, when the demo opens. */
const DEPLOYED_MS = FIRST_SHOWN_MS - 59 * 60_000;

const TICK_MS = 50;
/** Time in ms for which a tick may simulate, so that calls are answered in between. */
const BUDGET_MS = 30;
const REPORT_EVERY_MS = 250;

class Pace {
  readonly #world: DemoWorld;
  speed: number = DEMO_SPEED_DEFAULT;
  isPaused = false;
  #reachedSpeed: number = DEMO_SPEED_DEFAULT;
  #lastMs = performance.now();

  constructor(world: DemoWorld) {
    this.#world = world;
  }

  tick(): void {
    const startMs = performance.now();
    const elapsedMs = Math.min(startMs - this.#lastMs, 4 * TICK_MS);
    this.#lastMs = startMs;
    if (this.isPaused || elapsedMs <= 0) return;
    const beforeMs = this.#world.nowMs;
    const targetMs = Math.floor(beforeMs + elapsedMs * this.speed);
    this.#world.advance(targetMs, () => performance.now() - startMs > BUDGET_MS);
    this.#world.log.announce();
    const isThere = this.#world.nowMs >= targetMs;
    this.#reachedSpeed = isThere ? this.speed : Math.round((this.#world.nowMs - beforeMs) / elapsedMs);
  }

  report(): DemoReport {
    const { speed, isPaused } = this;
    return { nowMs: this.#world.nowMs, speed, isPaused, reachedSpeed: this.#reachedSpeed };
  }
}

function start({ calls, control }: DemoPorts): void {
  const world = new DemoWorld({ seed: SEED, startAtMs: START_AT_MS });
  const advanceTo = (atMs: number): void => {
    while (world.nowMs < START_AT_MS + atMs) world.advance(START_AT_MS + atMs, () => false);
  };
  advanceTo(DEPLOYED_MS);
  world.deployEndpoint();
  advanceTo(FIRST_SHOWN_MS);
  world.planRepair();
  world.planGrowth();
  world.registerArtifacts();
  world.propose();
  const pace = new Pace(world);
  serveWorkerClient(calls, createDemoClient(world, START_AT_MS, estimatesInWorker(world)));
  calls.start();
  control.addEventListener("message", ({ data }: MessageEvent<DemoRequest>) => {
    if (data.kind === "setSpeed") pace.speed = data.speed;
    else pace.isPaused = data.isPaused;
    control.postMessage(pace.report());
  });
  control.start();
  setInterval(() => pace.tick(), TICK_MS);
  setInterval(() => control.postMessage(pace.report()), REPORT_EVERY_MS);
  control.postMessage(pace.report());
}

addEventListener("message", ({ data }: MessageEvent<DemoPorts>) => start(data), { once: true });
