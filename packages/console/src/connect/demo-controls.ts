/** Controls of the demo: starts the worker, sets speed and pause. */
import { createWorkerClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import type { DemoPorts, DemoReport, DemoRequest } from "../demo/demo-messages.ts";
import { Clock } from "./clock.ts";

export interface DemoState {
  readonly speed: number;
  readonly isPaused: boolean;
  /** The rate that the simulation reaches if it cannot keep up with the chosen speed. */
  readonly reachedSpeed: number;
  /** The worker failed; the demo has stopped. */
  readonly failure: string | null;
}

export interface DemoControls {
  readonly state: DemoState;
  subscribe(listener: () => void): () => void;
  setSpeed(speed: number): void;
  setPaused(isPaused: boolean): void;
}

export interface DemoConnection {
  readonly client: HeadroomClient;
  readonly clock: Clock;
  readonly controls: DemoControls;
}

class WorkerControls implements DemoControls {
  readonly #port: MessagePort;
  readonly #listeners = new Set<() => void>();
  #state: DemoState;

  constructor(port: MessagePort, first: DemoReport) {
    this.#port = port;
    this.#state = stateOf(first);
  }

  get state(): DemoState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  setSpeed(speed: number): void {
    this.#post({ kind: "setSpeed", speed });
  }

  setPaused(isPaused: boolean): void {
    this.#post({ kind: "setPaused", isPaused });
  }

  report(report: DemoReport): void {
    const next = stateOf(report);
    const now = this.#state;
    const isSame = next.speed === now.speed && next.isPaused === now.isPaused && next.reachedSpeed === now.reachedSpeed;
    if (isSame) return;
    this.#change(next);
  }

  fail(failure: string): void {
    this.#change({ ...this.#state, failure });
  }

  #change(state: DemoState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  #post(request: DemoRequest): void {
    this.#port.postMessage(request);
  }
}

const stateOf = ({ speed, isPaused, reachedSpeed }: DemoReport): DemoState => ({
  speed,
  isPaused,
  reachedSpeed,
  failure: null,
});

/** Starts the demo's worker. Resolves when the worker has simulated the first day. */
export function connectDemo(): Promise<DemoConnection> {
  const worker = new Worker(new URL("../demo/worker.ts", import.meta.url), { type: "module", name: "headroom-demo" });
  const calls = new MessageChannel();
  const control = new MessageChannel();
  const ports: DemoPorts = { calls: calls.port2, control: control.port2 };
  worker.postMessage(ports, [ports.calls, ports.control]);
  calls.port1.start();
  control.port1.start();
  return new Promise((resolve, reject) => {
    let connection: { readonly clock: Clock; readonly controls: WorkerControls } | null = null;
    worker.addEventListener("error", ({ message }) => {
      if (connection === null) reject(new Error(`The demo's worker did not start: ${message}`));
      else connection.controls.fail(message);
    });
    control.port1.addEventListener("message", ({ data }: MessageEvent<DemoReport>) => {
      const reading = { nowMs: data.nowMs, rate: data.isPaused ? 0 : data.reachedSpeed };
      if (connection === null) {
        const clock = new Clock(reading, () => performance.now());
        connection = { clock, controls: new WorkerControls(control.port1, data) };
        resolve({ client: createWorkerClient(calls.port1), ...connection });
      } else {
        connection.clock.set(reading);
        connection.controls.report(data);
      }
    });
  });
}
